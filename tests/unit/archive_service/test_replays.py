"""What becomes of replays whose files or listeners are not as they should be."""

from __future__ import annotations

import struct

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.counter_types import ArchiveCounterType

REPLAYS = ArchiveCounterType.REPLAY_SESSIONS
FRAME = 1056


def recorded(rig, count: int = 100, **start: object) -> int:
    """A stopped recording of a thousand bytes a message; its stop position."""
    rig.start(1)
    publication = rig.publish(1, *(bytes([i]) * 1000 for i in range(count)))
    position: int = publication.position
    publication.close()
    rig.wait(lambda: not rig.archive._conductor.recordings.sessions, "the end of the recording")
    return position


def replay(rig, *, position: int = 0, length: int = -1, stream_id: int = 50, **fields) -> int:
    """Ask for a replay; the correlation id."""
    return rig.post(
        ap.ReplayRequest,
        recording_id=0,
        position=position,
        length=length,
        replay_stream_id=stream_id,
        replay_channel="aeron:ipc",
        **fields,
    )


def error_of(rig, correlation_id: int) -> ap.ControlResponse:
    return rig.wait(
        lambda: [a for a in rig.answers(correlation_id) if a.code == ap.ControlResponseCode.ERROR],
        "the error",
    )[0]


def test_the_ok_comes_before_the_listener_and_an_error_after_the_timeout(rig) -> None:
    recorded(rig, 3)
    correlation_id = replay(rig)
    answer = rig.answer_to(correlation_id)
    assert answer.code == ap.ControlResponseCode.OK
    assert rig.counter(REPLAYS) == 1
    rig.pass_time(4800)
    assert len(rig.answers(correlation_id)) == 1
    error = error_of(rig, correlation_id)
    assert error.relevant_id == 0
    assert error.error_message.startswith(
        "no connection established for replayChannel=aeron:ipc?mtu=1408|term-length=64k|"
    )
    assert error.error_message.endswith(
        f"|linger=5s, replayStreamId=50, recordingId=0,"
        f" replaySessionId={answer.relevant_id}, segmentFile=0-0.rec"
    )
    assert rig.counter(REPLAYS) == 0


def test_replays_are_limited(make_rig) -> None:
    rig = make_rig(max_concurrent_replays=1)
    rig.connect()
    recorded(rig, 3)
    rig.answer_to(replay(rig))
    error = rig.answer_to(replay(rig))
    assert (error.relevant_id, error.error_message) == (7, "max concurrent replays reached 1")


def test_a_replay_counts_from_its_request_on(make_rig) -> None:
    rig = make_rig(max_concurrent_replays=2)
    rig.connect()
    recorded(rig, 3)
    requests = [replay(rig) for _ in range(6)]
    answers = [rig.answer_to(request) for request in requests]
    assert [answer.code.name for answer in answers] == ["OK"] * 2 + ["ERROR"] * 4
    assert {answer.relevant_id for answer in answers[2:]} == {7}


def test_stopping_all_replays_ends_those_that_begin(rig) -> None:
    recorded(rig, 3)
    begun = replay(rig)
    stop = rig.post(ap.StopAllReplaysRequest, recording_id=0)
    assert rig.answer_to(begun).error_message.startswith("replay aborted, recordingId=0,")
    assert rig.answer_to(stop).code == ap.ControlResponseCode.OK
    assert rig.counter(REPLAYS) == 0


def test_a_short_io_length_is_refused_below_the_mtu(rig) -> None:
    recorded(rig, 3)
    error = rig.answer_to(replay(rig, file_io_max_length=64))
    assert (error.relevant_id, error.error_message) == (0, "fileIoMaxLength=64 < mtuLength=1408")


def test_a_missing_segment_is_waited_for_and_then_told(rig) -> None:
    recorded(rig, 3)
    rig.disk.remove("/archive/0-0.rec")
    correlation_id = replay(rig)
    rig.pass_time(4500)
    assert rig.answers(correlation_id) == []
    error = error_of(rig, correlation_id)
    assert error.error_message.startswith("recording segment file not created, recordingId=0,")


def test_a_missing_later_segment_ends_the_replay_there(rig) -> None:
    recorded(rig, 100)
    rig.disk.remove("/archive/0-65536.rec")
    subscription = rig.aeron.add_subscription("aeron:ipc", 50)
    correlation_id = replay(rig)
    received = []
    rig.wait(
        lambda: received.extend(subscription.poll_messages(100)) or len(received) == 62,
        "the first segment's messages",
    )
    error = error_of(rig, correlation_id)
    assert error.error_message.startswith("recording segment not found, recordingId=0,")


def test_zeros_in_a_recording_end_the_replay_with_their_position(rig) -> None:
    recorded(rig, 10)
    data = bytearray(rig.disk.read_bytes("/archive/0-0.rec"))
    data[5 * FRAME : 5 * FRAME + 4] = bytes(4)
    rig.disk.write_bytes("/archive/0-0.rec", bytes(data))
    subscription = rig.aeron.add_subscription("aeron:ipc", 50)
    error = error_of(rig, replay(rig))
    assert (
        f"unexpected end of recording at position={5 * FRAME} (segmentFilePosition=0,"
        f" segmentOffset=0, termOffset=0, frameOffset={5 * FRAME})"
    ) in error.error_message
    subscription.close()


def test_a_hostile_frame_length_ends_the_replay(rig) -> None:
    recorded(rig, 10)
    for length in (0x7FFFFFFF, -5, 31, 70_000):
        data = bytearray(rig.disk.read_bytes("/archive/0-0.rec"))
        struct.pack_into("<i", data, 2 * FRAME, length)
        rig.disk.write_bytes("/archive/0-0.rec", bytes(data))
        subscription = rig.aeron.add_subscription("aeron:ipc", 50)
        assert "unexpected end of recording" in error_of(rig, replay(rig)).error_message
        subscription.close()
        rig.wait(lambda: rig.counter(REPLAYS) == 0, "the replay's end")


def test_a_checksum_that_does_not_match_is_told(make_rig) -> None:
    rig = make_rig(record_checksum="CRC-32", replay_checksum="CRC-32")
    rig.connect()
    recorded(rig, 10)
    subscription = rig.aeron.add_subscription("aeron:ipc", 50)
    replay(rig)
    received = []
    rig.wait(
        lambda: received.extend(subscription.poll_messages(100)) or len(received) == 10,
        "the sound recording",
    )
    session_ids = {m.session_id for m in received}
    assert len(session_ids) == 1
    data = bytearray(rig.disk.read_bytes("/archive/0-0.rec"))
    data[3 * FRAME + 40] ^= 1
    rig.disk.write_bytes("/archive/0-0.rec", bytes(data))
    text = error_of(rig, replay(rig)).error_message
    assert text.startswith(f"CRC checksum mismatch at position={3 * FRAME} (segmentFilePosition=0")
    assert "recorded checksum=" in text
    assert ", computed checksum=" in text


def test_an_empty_recording_to_its_stop_is_an_error_and_a_replay(rig) -> None:
    recorded(rig, 0)
    correlation_id = replay(rig, position=-1, length=-2)
    subscription = rig.aeron.add_subscription("aeron:ipc", 50)
    answers = rig.wait(
        lambda: (a := rig.answers(correlation_id)) and len(a) == 2 and a, "both answers"
    )
    assert (answers[0].relevant_id, answers[0].error_message) == (
        15,
        "When replaying and stopping the replay length must be non-zero, recordingId=0",
    )
    assert answers[1].code == ap.ControlResponseCode.OK
    rig.wait(lambda: rig.counter(REPLAYS) == 0, "the replay's end")
    subscription.close()


def test_a_listener_that_leaves_ends_the_replay(rig) -> None:
    recorded(rig, 100)
    subscription = rig.aeron.add_subscription("aeron:ipc", 50)
    rig.answer_to(replay(rig))
    rig.wait(lambda: subscription.is_connected, "the replay")
    subscription.close()
    rig.wait(lambda: rig.counter(REPLAYS) == 0, "the replay's end")


def test_every_byte_is_replayed_through_small_reads(rig) -> None:
    recorded(rig, 200)
    subscription = rig.aeron.add_subscription("aeron:ipc", 50)
    replay(rig, file_io_max_length=4096)
    received = []
    rig.wait(
        lambda: received.extend(subscription.poll_messages(100)) or len(received) == 200,
        "all messages",
    )
    assert [m.data for m in received] == [bytes([i]) * 1000 for i in range(200)]
    subscription.close()


def test_what_is_read_and_not_sent_leaves_clean_memory_behind(rig) -> None:
    """Reads end inside frames here; only zeros may follow what was sent."""
    recorded(rig, 50)
    subscription = rig.aeron.add_subscription("aeron:ipc", 50)
    replay(rig, file_io_max_length=1408)
    received = []
    checked = set()
    for _ in range(400):
        rig.turn()
        rig.aeron.do_work()
        received += subscription.poll_messages(1)
        for session in rig.archive._conductor.replays.sessions.values():
            publication = session.publication
            path = f"/aeron/publications/{publication.registration_id}.logbuffer"
            term = rig.disk.read_bytes(path)[:65536]
            assert not any(term[publication.position :]), publication.position
            checked.add(publication.position)
        if len(received) == 50:
            break
    assert [m.data for m in received] == [bytes([i]) * 1000 for i in range(50)]
    assert len(checked) > 40
    subscription.close()


def test_two_replays_of_a_recording_do_not_disturb_each_other(rig) -> None:
    recorded(rig, 120)
    subscriptions = [rig.aeron.add_subscription("aeron:ipc", stream) for stream in (50, 51)]
    replay(rig, stream_id=50)
    replay(rig, stream_id=51, position=FRAME * 10)
    received: list[list[bytes]] = [[], []]
    rig.wait(
        lambda: (
            [
                messages.extend(m.data for m in subscription.poll_messages(7))
                for messages, subscription in zip(received, subscriptions, strict=True)
            ]
            and (len(received[0]), len(received[1])) == (120, 110)
        ),
        "both replays",
    )
    everything = [bytes([i]) * 1000 for i in range(120)]
    assert received == [everything, everything[10:]]


def test_running_replays_tell_where_they_are(rig) -> None:
    recorded(rig, 100)
    replays = rig.archive._conductor.replays
    first = rig.answer_to(replay(rig, position=65536)).relevant_id
    subscription = rig.aeron.add_subscription("aeron:ipc", 51)
    second = rig.answer_to(replay(rig, stream_id=51)).relevant_id
    rig.wait(lambda: subscription.is_connected, "the second replay")
    waiting, running = replays.replays_of(0)
    assert (waiting.replay_session_id, waiting.state, waiting.segment_base) == (
        first,
        "INIT",
        65536,
    )
    assert waiting.channel.startswith("aeron:ipc?mtu=1408|term-length=64k|")
    assert (running.replay_session_id, running.state, running.segment_base) == (
        second,
        "REPLAY",
        0,
    )
    assert (running.recording_id, running.stream_id) == (0, 51)
    assert running.session_id & 0xFFFFFFFF == second & 0xFFFFFFFF
    assert replays.replays_of(1) == []
    subscription.close()
    rig.wait(lambda: len(replays.replays_of(0)) == 1, "the second replay's end")
    assert replays.replays_of(0)[0].replay_session_id == first


def test_a_slow_listener_gets_all_of_a_recording_that_has_ended_meanwhile(rig) -> None:
    """Though another counter has taken the place of the recording's position by then."""
    messages = [bytes([i]) * 1000 for i in range(200)]
    rig.start(1)
    publication = rig.publish(1, *messages[:100])
    subscription = rig.aeron.add_subscription("aeron:ipc", 50)
    rig.answer_to(replay(rig))
    for message in messages[100:]:
        rig.wait(lambda m=message: publication.offer(m) > 0, "room for a message")
    sessions = rig.archive._conductor.recordings.sessions
    counter_id = sessions[0].counter.counter_id
    publication.close()
    rig.wait(lambda: not sessions, "the end of the recording")
    rig.pass_time(1100)
    others = [rig.aeron.add_counter(5000, "another's") for _ in range(5)]
    assert counter_id in [other.counter_id for other in others]
    rig.wait(lambda: subscription.is_connected, "the replay")
    received: list[bytes] = []
    rig.wait(
        lambda: (
            received.extend(m.data for m in subscription.poll_messages(7))
            or not subscription.is_connected
        ),
        "the end of the replay",
    )
    assert len(received) == 200
    assert received == messages
