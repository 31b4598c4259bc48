"""What cannot be joined says so, by type and reason, on either archive."""

from __future__ import annotations

import pytest
from peer.streams import Receipt, free_port
from waits import wait_until

from aerolog.archive.client import (
    FROM_START,
    AeronArchive,
    AsyncAeronArchive,
    AsyncReplayMerge,
    JoinTrouble,
    ReplayMerge,
)
from aerolog.transport.client import Aeron
from aerolog.transport.errors import (
    AeronTimeoutError,
    ConfigurationError,
    JoinErrorReason,
    PersistentSubscriptionError,
    ReplayMergeError,
)

pytestmark = [pytest.mark.interop, pytest.mark.error_log("controlSessionId=", at_times=True)]
HOST = "127.0.0.1"
HISTORY = 3000
SEGMENT = 256 * 1024
IPC = "aeron:ipc?term-length=64k"
MANUAL = "aeron:udp?control-mode=manual"


@pytest.fixture
def line(plain_line):
    """A recorded history over IPC, which a publisher goes on with."""
    line = plain_line
    line.channel, line.recorded_channel = IPC, "aeron:ipc"
    line.publish()
    line.feeder.feed(HISTORY)
    line.wait_recorded()
    return line


def fails(follower) -> PersistentSubscriptionError:
    """What a follower fails of; every poll says so."""
    with pytest.raises(PersistentSubscriptionError) as caught:
        follower.until(lambda: False, "failure")
    assert follower.stream.has_failed
    assert follower.stream.failure is caught.value
    with pytest.raises(PersistentSubscriptionError):
        follower.stream.poll_messages()
    last = follower.stream.take_events()[-1]
    assert last == JoinTrouble(caught.value, is_fatal=True)
    return caught.value


def test_an_unknown_recording(line, follow) -> None:
    error = fails(follow(line, local=True, recording_id=1_000_000))
    assert error.reason is JoinErrorReason.RECORDING_NOT_FOUND


def test_a_recording_of_another_stream(line, follow) -> None:
    error = fails(follow(line, local=True, live_stream_id=line.stream_id + 100_000))
    assert error.reason is JoinErrorReason.STREAM_ID_MISMATCH


def test_a_start_that_is_purged(line, follow) -> None:
    line.archive.purge_segments(line.recording_id, SEGMENT)
    error = fails(follow(line, 0, local=True))
    assert error.reason is JoinErrorReason.INVALID_START_POSITION
    follower = follow(line, FROM_START, local=True)
    follower.receipt.next_number = None  # wherever a message begins in the segment
    follower.until_live()
    follower.until_received(line.feeder.feed(100))


@pytest.mark.parametrize("stopped", [False, True], ids=["active", "stopped"])
def test_a_start_that_is_not_reached_yet(line, follow, stopped) -> None:
    position = line.publication.position
    if stopped:
        line.publication.close()
        wait_until(lambda: line.archive.stop_position(line.recording_id) == position, "the stop")
    error = fails(follow(line, position + 4096, local=True))
    assert error.reason is JoinErrorReason.INVALID_START_POSITION


@pytest.mark.error_log("replayPosition=")
def test_a_start_inside_of_a_frame(line, follow) -> None:
    begins = {m.position for m in line.archive.read(line.recording_id)}
    inside = next(p for p in range(32, line.publication.position, 32) if p not in begins)
    error = fails(follow(line, inside, local=True))
    assert error.reason is JoinErrorReason.INVALID_START_POSITION


@pytest.mark.parametrize("change", ["initial term id", "term length"])
def test_a_live_stream_that_is_another_one(line, follow, change) -> None:
    """The recorded stream has ended; what is published there now is none of its business."""
    line.feeder.finish()
    line.feeder.end()
    position, initial = line.publication.position, line.publication.initial_term_id
    line.publication.close()
    wait_until(lambda: line.archive.stop_position(line.recording_id) == position, "the stop")
    other = {
        "initial term id": f"{IPC}|init-term-id={initial + 5}|term-id={initial + 5}|term-offset=0",
        "term length": f"aeron:ipc?term-length=128k|init-term-id={initial}"
        f"|term-id={initial}|term-offset=0",
    }[change]
    line.publication = line.aeron.add_exclusive_publication(other, line.stream_id)
    follower = follow(line, local=True, message_timeout=2.0)
    error = fails(follower)
    assert error.reason is JoinErrorReason.LIVE_STREAM_MISMATCH
    assert follower.receipt.count == HISTORY  # what is recorded came before


def test_what_was_never_recorded(line, follow) -> None:
    follower = follow(line, local=True, message_timeout=2.0)
    follower.until_live()
    line.archive.stop_recording_by_identity(line.recording_id)
    stop = line.publication.position
    wait_until(lambda: line.archive.stop_position(line.recording_id) == stop, "the stop")
    follower.until_received(line.feeder.feed(100))
    late = follow(line, local=True, message_timeout=2.0)
    error = fails(late)
    assert error.reason is JoinErrorReason.NOT_RECORDED
    assert late.receipt.count == HISTORY
    line.publication.close()  # it was live, and is further than the recording
    error = fails(follower)
    assert error.reason is JoinErrorReason.INVALID_START_POSITION


@pytest.mark.error_log("port out of range")
def test_a_channel_that_the_driver_refuses(line, follow) -> None:
    error = fails(follow(line, request_channel=f"aeron:udp?endpoint={HOST}:99999"))
    assert error.reason is JoinErrorReason.GENERIC
    assert "99999" in str(error)


# -- merges ------------------------------------------------------------------------------------


@pytest.fixture
def udp_line(plain_line):
    line = plain_line
    line.publish()
    line.connect_live()
    line.feeder.feed(HISTORY)
    line.wait_recorded()
    return line


@pytest.fixture
def merge(udp_line):
    """``merge(**changes)`` begins a merge on the driver elsewhere."""
    line = udp_line
    aeron = Aeron(line.elsewhere.aeron_dir)
    archive = AeronArchive(aeron, request_channel=line.control, response_channel=line.responses)

    def make(*, channel: str = MANUAL, stream_id: int = line.stream_id, **changes) -> ReplayMerge:
        arguments = {
            "replay_channel": "aeron:udp",
            "replay_destination": f"aeron:udp?endpoint={HOST}:0",
            "live_destination": line.live_channel,
            "recording_id": line.recording_id,
            "start_position": 0,
            "progress_timeout": 10.0,
            **changes,
        }
        return ReplayMerge(aeron.add_subscription(channel, stream_id), archive, **arguments)

    yield make
    archive.close()
    aeron.close()


def reason_of(merge: ReplayMerge) -> JoinErrorReason:
    """What a merge fails of, polled until it does."""

    def turn() -> bool:
        merge.poll_messages()
        return False

    with pytest.raises(ReplayMergeError) as caught:
        wait_until(turn, "failure", 30)
    assert merge.has_failed
    merge.close()
    return caught.value.reason


def test_a_merge_of_an_unknown_recording(merge) -> None:
    assert reason_of(merge(recording_id=1_000_000)) is JoinErrorReason.RECORDING_NOT_FOUND


def test_a_merge_of_a_recording_of_another_stream(merge, udp_line) -> None:
    other = merge(stream_id=udp_line.stream_id + 100_000)
    assert reason_of(other) is JoinErrorReason.STREAM_ID_MISMATCH


def test_a_merge_from_a_start_that_is_purged(merge, udp_line) -> None:
    udp_line.archive.purge_segments(udp_line.recording_id, SEGMENT)
    assert reason_of(merge()) is JoinErrorReason.INVALID_START_POSITION


def test_a_merge_with_a_replay_of_another_session(merge) -> None:
    other = merge(replay_channel="aeron:udp?session-id=5")
    assert reason_of(other) is JoinErrorReason.SESSION_ID_MISMATCH


def test_a_merge_with_a_live_stream_of_another_session(merge, udp_line) -> None:
    """Somebody else publishes to where the live stream should come from."""
    line, port = udp_line, free_port()
    stranger = line.aeron.add_exclusive_publication(
        f"aeron:udp?endpoint={HOST}:{port}|term-length=64k", line.stream_id
    )
    joining = merge(live_destination=f"aeron:udp?endpoint={HOST}:{port}")
    assert reason_of(joining) is JoinErrorReason.SESSION_ID_MISMATCH
    stranger.close()


def test_a_merge_whose_live_stream_does_not_come(merge) -> None:
    joining = merge(
        live_destination=f"aeron:udp?endpoint={HOST}:{free_port()}", progress_timeout=5.0
    )
    receipt = Receipt(joining)

    def turn() -> bool:
        receipt.poll()
        return False

    with pytest.raises(AeronTimeoutError, match="ReplayMerge no progress: state="):
        wait_until(turn, "the timeout", 30)
    assert receipt.count == HISTORY
    assert joining.has_failed


@pytest.mark.parametrize(
    "changes",
    [
        {"channel": "aeron:ipc"},
        {"channel": "aeron:udp?endpoint=127.0.0.1:0"},
        {"replay_channel": "aeron:ipc"},
        {"live_destination": "aeron:ipc"},
        {"replay_destination": "aeron:udp?control=127.0.0.1:5000"},
    ],
    ids=str,
)
def test_channels_that_can_never_be_merged(merge, changes) -> None:
    with pytest.raises(ConfigurationError):
        merge(**changes)


async def test_a_merge_in_an_event_loop(udp_line) -> None:
    line = udp_line
    with Aeron(line.elsewhere.aeron_dir) as aeron:
        async with await AsyncAeronArchive.connect(
            aeron, request_channel=line.control, response_channel=line.responses
        ) as archive:
            merge = AsyncReplayMerge(
                aeron.add_subscription(MANUAL, line.stream_id),
                archive,
                recording_id=line.recording_id,
                start_position=0,
                replay_channel="aeron:udp",
                replay_destination=f"aeron:udp?endpoint={HOST}:0",
                live_destination=line.live_channel,
                progress_timeout=20.0,
            )
            async with merge:
                from peer.streams import number_of

                number = 0
                async for message in merge:
                    assert number_of(message.data) == number
                    number += 1
                    if number == HISTORY:
                        last = line.feeder.feed(500)
                    if number == HISTORY + 500:
                        assert last == number - 1
                        break
