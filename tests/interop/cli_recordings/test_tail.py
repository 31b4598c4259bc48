"""A recording, then its live stream, on our archive and on the reference's."""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING, Any

import pytest
from peer.streams import free_port
from waits import wait_until

from aerolog.archive.client import SourceLocation
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.counters.counter_types import CounterType

from .conftest import CHANNEL, Recordist

if TYPE_CHECKING:
    from .conftest import Run

pytestmark = pytest.mark.interop

SUBSCRIBER_POSITION_TYPE_ID = CounterType.SUBSCRIBER_POSITION
REPLAY_SESSIONS_TYPE_ID = ArchiveCounterType.REPLAY_SESSIONS
SESSION_AND_STREAM = struct.Struct("<ii")


def numbers(lines: str) -> list[int]:
    """The numbers of messages printed as text."""
    return [int(line) for line in lines.splitlines()]


def test_a_stopped_recording_is_printed_to_its_end(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    recording_id = recordist.record(stream_id, 300)

    assert numbers(run(any_archive, "tail", recording_id).text()) == list(range(300))
    assert numbers(run(any_archive, "tail", recording_id, "--count", 7).text()) == list(range(7))
    part = run(any_archive, "tail", recording_id, "--from", 290 * 1024).text()
    assert numbers(part) == list(range(290, 300))
    nothing = run(any_archive, "tail", recording_id, "--from", "live")
    assert nothing.text() == ""
    assert f"recording {recording_id} is not live" in nothing.err


def test_the_newest_recording_of_a_channel_and_stream_is_found(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    recordist.record(stream_id, 3)
    newest = recordist.record(stream_id, 5)

    rows = run(any_archive, "tail", "aeron:ipc", stream_id, "--json").json_lines()
    none = run(any_archive, "tail", "aeron:udp?endpoint=localhost:1", stream_id)

    assert [int(row["payload"]) for row in rows] == list(range(5))
    assert {row["recording_id"] for row in rows} == {newest}
    assert none.code == 1
    assert "no recording of aeron:udp?endpoint=localhost:1" in none.err


@pytest.mark.parametrize("by_channel", [False, True])
def test_a_live_recording_is_replayed_joined_and_ends(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int, by_channel: bool
) -> None:
    with recordist.archive.add_recorded_exclusive_publication(CHANNEL, stream_id) as publication:
        recordist.send(publication, 0, 200)
        recording_id = recordist.find(stream_id, [])
        go_on = threading.Thread(target=send_when_joined, args=(publication, recordist))
        go_on.start()
        what = ["aeron:ipc", stream_id] if by_channel else [recording_id]

        ran = run(any_archive, "tail", *what)

        go_on.join()
    assert numbers(ran.text()) == list(range(1200))
    assert ran.err == ""
    assert recordist.archive.stop_position(recording_id) == 1200 * 1024


@pytest.mark.parametrize("location", ["LOCAL", "REMOTE"])
def test_a_live_recording_over_udp_is_joined(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int, location: str
) -> None:
    endpoint = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k"
    recordist.archive.start_recording(endpoint, stream_id, SourceLocation[location])
    channel = f"{endpoint}|ssc=true" if location == "LOCAL" else endpoint
    with recordist.aeron.add_exclusive_publication(channel, stream_id) as publication:
        recordist.send(publication, 0, 200)
        recording_id = recordist.find(stream_id, [])
        go_on = threading.Thread(target=send_when_joined, args=(publication, recordist))
        go_on.start()

        ran = run(any_archive, "tail", recording_id)

        go_on.join()
    assert numbers(ran.text()) == list(range(1200))
    assert ran.err == ""


def send_when_joined(publication: Any, recordist: Recordist) -> None:
    """Goes on when somebody besides the archive listens, and ends."""
    wait_until(lambda: listeners(recordist, publication) >= 2, "the tail to join live")
    recordist.send(publication, 200, 1000)
    publication.close()


def listeners(recordist: Recordist, publication: Any) -> int:
    """How many subscriptions follow a publication."""
    session_and_stream = SESSION_AND_STREAM.pack(publication.session_id, publication.stream_id)
    return sum(
        counter.type_id == SUBSCRIBER_POSITION_TYPE_ID
        and bytes(counter.key)[8:16] == session_and_stream
        for counter in recordist.aeron.counters.infos()
    )


def test_only_what_is_live_is_printed_when_asked_for(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    with recordist.archive.add_recorded_exclusive_publication(CHANNEL, stream_id) as publication:
        recordist.send(publication, 0, 200)
        recording_id = recordist.find(stream_id, [])
        go_on = threading.Thread(target=send_when_joined, args=(publication, recordist))
        go_on.start()

        ran = run(any_archive, "tail", recording_id, "--from", "live")

        go_on.join()
    seen = numbers(ran.text())
    assert seen == list(range(200, 1200))


def test_a_count_ends_a_live_tail(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    with recordist.archive.add_recorded_exclusive_publication(CHANNEL, stream_id) as publication:
        recordist.send(publication, 0, 50)
        recording_id = recordist.find(stream_id, [])

        ran = run(any_archive, "tail", recording_id, "--from", 10 * 1024, "--count", 40)

    assert numbers(ran.text()) == list(range(10, 50))


def test_a_position_outside_a_live_recording_is_an_error(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    with recordist.archive.add_recorded_exclusive_publication(CHANNEL, stream_id) as publication:
        recordist.send(publication, 0, 5)
        recording_id = recordist.find(stream_id, [])

        ran = run(any_archive, "tail", recording_id, "--from", 1 << 30)

    assert ran.code == 1
    assert "osition" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("make", ["ours", "reference"])
def test_a_stream_that_is_live_elsewhere_comes_from_its_recording(
    run: Run, start_server: Any, our_driver: Any, stream_id: int, make: str
) -> None:
    control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    server = start_server(
        make,
        "archiving-driver",
        properties={
            "aeron.archive.control.channel": control,
            "aeron.archive.control.channel.enabled": "true",
        },
    )
    recordist = Recordist(server)
    with recordist.archive.add_recorded_exclusive_publication(CHANNEL, stream_id) as publication:
        recordist.send(publication, 0, 200)
        recording_id = recordist.find(stream_id, [])

        def go_on() -> None:
            # The archive alone listens: somebody elsewhere replays, and is not heard of here.
            wait_until(lambda: replays(recordist) == 1, "a replay")
            recordist.send(publication, 200, 1000)
            publication.close()

        going_on = threading.Thread(target=go_on)
        going_on.start()

        ran = run(
            our_driver, "tail", recording_id, "--control-channel", control,
            "--response-channel", "aeron:udp?endpoint=127.0.0.1:0", "--archive-timeout", "3s",
        )  # fmt: skip

        going_on.join()
    recordist.close()
    assert numbers(ran.text()) == list(range(1200))


def replays(recordist: Recordist) -> int:
    """How many replays the archive has."""
    (count,) = [
        int(counter.value)
        for counter in recordist.aeron.counters.infos()
        if counter.type_id == REPLAY_SESSIONS_TYPE_ID
    ]
    return count
