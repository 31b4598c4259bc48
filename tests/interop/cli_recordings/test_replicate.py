"""Replicating by command: each make of source into each make of destination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from peer.lifetimes import server_starter, stop_all
from peer.streams import free_port
from waits import wait_until

from .conftest import CHANNEL, Recordist

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .conftest import Run

pytestmark = pytest.mark.interop

MESSAGES = 300
LATER = 50


@dataclass
class Site:
    """An archive that listens on the network, and somebody who records in it."""

    server: Any
    control: str
    recordist: Recordist


@pytest.fixture(scope="module")
def sites(
    reference: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, str], Site]]:
    """``sites("reference", "source")``: archives that live as long as the module."""
    del reference
    servers: list[Any] = []
    folders: list[Any] = []
    start = server_starter(servers, folders, tmp_path_factory.mktemp("archives"))
    known: dict[tuple[str, str], Site] = {}

    def get(make: str, role: str) -> Site:
        if (make, role) not in known:
            control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
            properties = {
                "aeron.archive.control.channel": control,
                "aeron.archive.control.channel.enabled": "true",
                "aeron.archive.control.response.channel": "aeron:udp?endpoint=127.0.0.1:0",
                "aeron.archive.replication.channel": "aeron:udp?endpoint=127.0.0.1:0",
            }
            server = start(make, "archiving-driver", properties=properties)
            known[make, role] = Site(server, control, Recordist(server))
        return known[make, role]

    yield get
    for site in known.values():
        site.recordist.close()
    stop_all(servers, folders)


@pytest.fixture(params=["reference-to-reference", "reference-to-ours", "ours-to-reference"])
def pair(request: pytest.FixtureRequest, sites: Callable[[str, str], Site]) -> tuple[Site, Site]:
    """Source and destination."""
    source, _, destination = request.param.partition("-to-")
    return sites(source, "source"), sites(destination, "destination")


def test_a_stopped_recording_is_replicated_and_later_brought_up_to_date(
    run: Run, pair: tuple[Site, Site], stream_id: int
) -> None:
    source, destination = pair
    source_id = source.recordist.record(stream_id, MESSAGES)
    replicate = ["recordings", "replicate", source_id, source.control]

    lines = run(destination.server, *replicate, "--json").json_lines()

    assert [line["event"] for line in lines] == [
        "started", "replicate", "extend", "sync", "replicate_end", "stop", "ended",
    ]  # fmt: skip
    end = lines[-1]
    assert (end["position"], end["start_position"], end["synced"]) == (MESSAGES * 1024, 0, True)
    copy = end["recording_id"]
    assert destination.recordist.numbers(copy) == list(range(MESSAGES))

    again = run(destination.server, *replicate, "--into", copy).text()
    assert again == (f"recording {copy}: replicated completely, at position {MESSAGES * 1024}\n")


def test_a_part_of_a_recording_is_replicated(
    run: Run, pair: tuple[Site, Site], stream_id: int
) -> None:
    source, destination = pair
    source_id = source.recordist.record(stream_id, MESSAGES)

    text = run(
        destination.server, "recordings", "replicate", source_id, source.control,
        "--stop-position", 100 * 1024, "--session-id", 4711, "--file-io-max-length", "8k",
    ).text()  # fmt: skip

    copy = int(text.removeprefix("recording ").partition(":")[0])
    assert text == f"recording {copy}: replicated, at position {100 * 1024}\n"
    assert destination.recordist.numbers(copy) == list(range(100))


def test_a_detached_replication_goes_on_without_the_command(
    run: Run, pair: tuple[Site, Site], stream_id: int
) -> None:
    source, destination = pair
    source_id = source.recordist.record(stream_id, MESSAGES)

    printed = run(
        destination.server, "recordings", "replicate", source_id, source.control, "--detach"
    ).text()

    assert int(printed) >= 0
    archive = destination.recordist.archive
    copy = destination.recordist.find(stream_id, [])
    wait_until(lambda: archive.stop_position(copy) == MESSAGES * 1024, "the replication to end")
    over = run(destination.server, "recordings", "stop-replication", int(printed))
    assert over.code == 1
    assert f"unknown replication id {int(printed)}" in over.err


def test_a_detached_replication_of_a_live_recording_is_stopped_by_its_id(
    run: Run, pair: tuple[Site, Site], stream_id: int
) -> None:
    source, destination = pair
    with source.recordist.archive.add_recorded_exclusive_publication(
        CHANNEL, stream_id
    ) as publication:
        source.recordist.send(publication, 0, 10)
        source_id = source.recordist.find(stream_id, [])
        started = run(
            destination.server, "recordings", "replicate", source_id, source.control, "--detach",
            "--json",
        ).json()  # fmt: skip
        copy = destination.recordist.find(stream_id, [])
        archive = destination.recordist.archive
        wait_until(lambda: archive.recording_position(copy) == 10 * 1024, "the copy to catch up")

        stopped = run(
            destination.server, "recordings", "stop-replication", started["replication_id"],
            "--json",
        ).json()  # fmt: skip

        assert stopped == {"replication_id": started["replication_id"]}
        wait_until(lambda: archive.stop_position(copy) == 10 * 1024, "the copy to stop")
        assert source.recordist.archive.recording_position(source_id) == 10 * 1024


def test_what_goes_wrong_is_said(run: Run, pair: tuple[Site, Site], stream_id: int) -> None:
    source, destination = pair
    replicate = ["recordings", "replicate"]

    unknown = run(destination.server, *replicate, 987654, source.control)
    into = run(destination.server, *replicate, 0, source.control, "--into", 987654)

    assert (unknown.code, into.code) == (1, 1)
    assert "unknown src recording id 987654" in unknown.err
    assert "unknown destination recording id 987654" in into.err
    assert unknown.out == into.out == ""


def test_a_live_stream_is_joined_and_recorded_on(
    run: Run, pair: tuple[Site, Site], stream_id: int
) -> None:
    source, destination = pair
    live = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    channel = (
        f"aeron:udp?control=127.0.0.1:{free_port()}|control-mode=manual|fc=min|ssc=true"
        f"|term-length=64k"
    )
    with source.recordist.archive.add_recorded_exclusive_publication(
        channel, stream_id
    ) as publication:
        source.recordist.send(publication, 0, 100)
        source_id = source.recordist.find(stream_id, [])
        publication.add_destination(live)

        lines = run(
            destination.server, "recordings", "replicate", source_id, source.control,
            "--live", live, "--json",
        ).json_lines()  # fmt: skip

        assert [line["event"] for line in lines] == [
            "started", "replicate", "extend", "merge", "replicate_end", "ended",
        ]  # fmt: skip
        assert lines[-1]["merged"]
        copy = lines[-1]["recording_id"]
        end = source.recordist.send(publication, 100, 100)
        archive = destination.recordist.archive
        wait_until(lambda: archive.recording_position(copy) == end, "what came live")
    wait_until(lambda: archive.stop_position(copy) == end, "the end")
    assert destination.recordist.numbers(copy) == list(range(200))
