"""The same requests to archives of both makes: the same events in the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from peer.streams import free_port
from waits import wait_until

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron
from aerolog.transport.errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.interop
CHANNEL = "aeron:ipc?term-length=64k"
STREAM = 1001
FRAME = 1024
COUNT = 400
# How often these stand there is a matter of time.
OFTEN = {"CMD_IN_KEEP_ALIVE"}
BEGUN = "AWAIT_IMAGE -> REPLICATE"


def refused(call: Callable[[], object]) -> None:
    with pytest.raises(ArchiveError):
        call()


def record(aeron: Aeron, archive: AeronArchive, channel: str, count: int, stop: int) -> None:
    """Publish what is recorded, until the archive has it."""
    publication = aeron.add_exclusive_publication(channel, STREAM)
    publication.wait_connected(30)
    for _ in range(count):
        publication.send(b"x" * (FRAME - 32), timeout=30)

    def recorded() -> bool:
        counter = archive.recording_position_counter(0)
        return counter is not None and counter.value >= stop

    wait_until(recorded, "the stream to be recorded")
    publication.close()


def sent_once(lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without answers sent again: that to a connect is, every 200 ms until it is heard."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for line in lines:
        if line[0] != "CMD_OUT_RESPONSE" or line not in seen:
            kept.append(line)
        seen.add(line)
    return kept


def work(server: Any) -> None:
    """Requests of every kind but replications."""
    with Aeron.connect(server.aeron_dir) as aeron, AeronArchive(aeron) as archive:
        archive.start_recording(CHANNEL, STREAM)
        record(aeron, archive, CHANNEL, COUNT, COUNT * FRAME)
        server.wait("RECORDING_SIGNAL", "signal=STOP")
        archive.stop_recording(CHANNEL, STREAM)
        list(archive.list_recordings(0, 10))
        list(archive.list_recordings_for_uri(0, 10, "ipc", STREAM))
        archive.list_recording(99)
        archive.list_recording_subscriptions()
        archive.find_last_matching_recording(0, "ipc", STREAM, 5)
        archive.start_position(0)
        archive.stop_position(0)
        archive.recording_position(0)
        refused(lambda: archive.start_position(77))
        refused(lambda: archive.start_replay(99, "aeron:ipc", 2003))
        with aeron.add_subscription("aeron:ipc", 2002) as subscription:
            archive.start_replay(0, "aeron:ipc", 2002, position=0, length=10 * FRAME)
            for _ in range(10):
                wait_until(lambda: subscription.poll(lambda *_: None, 1), "the replay")
            server.wait("REPLAY_SESSION_STATE_CHANGE", "INACTIVE -> DONE")
        archive.stop_replay(1234)
        archive.stop_all_replays(0)
        archive.truncate_recording(0, 300 * FRAME)
        server.wait("RECORDING_SIGNAL", "signal=DELETE")
        archive.extend_recording(0, CHANNEL, STREAM)
        described = archive.list_recording(0)
        start = described.initial_term_id + 300 * FRAME // 65536
        again = (
            f"aeron:ipc?term-length=65536|init-term-id={described.initial_term_id}"
            f"|term-id={start}|term-offset={300 * FRAME % 65536}"
        )
        record(aeron, archive, again, 10, 310 * FRAME)
        server.wait("RECORDING_SIGNAL", "signal=STOP", count=2)
        archive.stop_recording(CHANNEL, STREAM)
        archive.stop_recording_subscription(archive.start_recording("aeron:ipc", 3, auto_stop=True))
        refused(lambda: archive.stop_recording_subscription(1))
        archive.detach_segments(0, 131072)
        archive.attach_segments(0)
        archive.detach_segments(0, 131072)
        archive.delete_detached_segments(0)
        archive.purge_segments(0, 262144)
        refused(lambda: archive.migrate_segments(0, 0))
        refused(lambda: archive.stop_replication(1))
        archive.purge_recording(0)
        server.wait("RECORDING_SIGNAL", "signal=DELETE", count=4)
    server.wait("CONTROL_SESSION_STATE_CHANGE", "ACTIVE -> DONE")


def test_events_are_the_same(log_events: Callable[..., Any], tally: Callable[[Any], Any]) -> None:
    found = {}
    for make in ("reference", "ours"):
        server = log_events(make, "archiving-driver", {"aeron.event.archive.log": "all"})
        work(server)
        assert server.process.stop() == 0
        found[make] = tally(sent_once([line for line in server.lines() if line[0] not in OFTEN]))

    assert found["ours"].total() > 80
    assert found["ours"] - found["reference"] == {}
    assert found["reference"] - found["ours"] == {}


def replicate(server: Any, port: int) -> None:
    """A finished recording is copied into the archive that has it."""
    with Aeron.connect(server.aeron_dir) as aeron, AeronArchive(aeron) as archive:
        archive.start_recording(CHANNEL, STREAM)
        record(aeron, archive, CHANNEL, 100, 100 * FRAME)
        server.wait("RECORDING_SIGNAL", "signal=STOP")
        archive.stop_recording(CHANNEL, STREAM)
        archive.replicate(
            0,
            "aeron:ipc",
            10,
            replication_channel=f"aeron:udp?endpoint=localhost:{port}",
        )
        server.wait("RECORDING_SIGNAL", "signal=STOP", count=2)
        server.wait("CONTROL_SESSION_STATE_CHANGE", "ACTIVE -> DONE")
    server.wait("CONTROL_SESSION_STATE_CHANGE", "ACTIVE -> DONE", count=2)


def test_replications_are_logged_alike(
    log_events: Callable[..., Any], tally: Callable[[Any], Any]
) -> None:
    found = {}
    port = free_port()
    for make in ("reference", "ours"):
        server = log_events(
            make,
            "archiving-driver",
            {"aeron.event.archive.log": "34,41,CMD_IN_REPLICATE2,RECORDING_SIGNAL,35"},
        )
        replicate(server, port)
        assert server.process.stop() == 0
        # Whether the copy has begun to grow by then is a matter of time.
        assert any(BEGUN in text for _, text in server.lines())
        found[make] = tally(sent_once([line for line in server.lines() if BEGUN not in line[1]]))

    assert found["ours"].total() > 15
    differing = (found["ours"] - found["reference"], found["reference"] - found["ours"])
    assert differing == ({}, {})


def test_driver_and_archive_of_one_process_share_a_file(log_events: Callable[..., Any]) -> None:
    server = log_events(
        "ours",
        "archiving-driver",
        {"aeron.event.log": "admin", "aeron.event.archive.log": "all"},
    )
    with Aeron.connect(server.aeron_dir) as aeron, AeronArchive(aeron) as archive:
        archive.start_recording(CHANNEL, STREAM)
    server.wait("CONTROL_SESSION_STATE_CHANGE", "ACTIVE -> DONE")
    assert server.process.stop() == 0

    text = server.path.read_text()
    assert text.count("log started") == 1
    times = [float(line[1:].partition("]")[0]) for line in text.splitlines()]
    assert len(times) > 20
    assert " DRIVER: " in text
    assert " ARCHIVE: " in text
