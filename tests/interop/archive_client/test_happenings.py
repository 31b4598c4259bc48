"""Signals, events and errors that come unasked, in both forms of our client."""

import asyncio
import threading

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.client import (
    AsyncRecordingEvents,
    RecordingEvents,
    RecordingSignal,
    SourceLocation,
)
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.errors import ArchiveError, ReentrantCallError

from .conftest import CHANNEL, FRAME, WAIT_S, connect, each, settle, until

pytestmark = pytest.mark.interop
START, STOP = RecordingSignal.START, RecordingSignal.STOP
CONTROL_SESSION_COUNTER = ArchiveCounterType.CONTROL_SESSION


async def test_each_consumer_gets_the_signals_that_it_wants(bench):
    client = bench.archive.client
    every, stops = [], []
    with client.add_signal_handler(every.append):
        handler = client.add_signal_handler(stops.append, kinds=[STOP])
        first = await bench.stopped(2)
        handler.close()
        second = await bench.stopped(3)
    third = await bench.stopped(4)
    ids = [one.recording_id for one in (first, second, third)]
    assert [(one.recording_id, one.signal) for one in every] == [
        (ids[0], START),
        (ids[0], STOP),
        (ids[1], START),
        (ids[1], STOP),
    ]
    assert [(one.recording_id, one.position) for one in stops] == [(ids[0], 2 * FRAME)]


async def test_signals_that_one_does_not_want_stay_for_others(bench):
    recording_id, publication, position = await bench.live(2)
    client = bench.archive.client
    correlation_id = client.last_correlation_id  # of the request that started it
    publication.close()
    await until(lambda: client.poll() < 0 or client.stats.signals == 2, "START and STOP")
    assert client.poll_signals(recording_id=recording_id + 1) == []
    assert client.poll_signals(correlation_id=correlation_id + 1) == []
    assert client.poll_signals(kinds=[START, RecordingSignal.EXTEND]) == []
    (stop,) = client.poll_signals(
        recording_id=recording_id, correlation_id=correlation_id, kinds=STOP
    )
    assert (stop.signal, stop.position) == (STOP, position)
    assert client.poll_signals() == []


async def test_signals_of_a_recording_come_as_a_series(bench):
    recording_id, publication, position = await bench.live(5)
    publication.close()
    await bench.archive.stop_recording(CHANNEL, bench.stream_id)
    got = []
    async for signal in each(bench.archive.client.signals(WAIT_S, recording_id=recording_id)):
        got.append((signal.signal, signal.position))
        if signal.signal == STOP:
            break
    assert got == [(STOP, position)]
    quiet = [one async for one in each(bench.archive.client.signals(0.05))]
    assert quiet == []


async def test_tasks_wait_for_signals_of_their_own_recordings(any_archive, our_client, stream_id):
    archive = (await connect("awaited", our_client(any_archive.aeron_dir))).client

    async def record(number: int) -> int:
        channel = f"{CHANNEL}|session-id={7100 + number}"
        await archive.start_recording(channel, stream_id + number)
        with archive.aeron.add_exclusive_publication(channel, stream_id + number) as publication:
            await until(lambda: publication.is_connected, "the archive to subscribe")
            for _ in range(number):
                publication.send(bytes(FRAME - 32), timeout=WAIT_S)

        async def listed() -> list[int]:
            found = archive.recordings(stream_id=stream_id + number)
            return [recording.recording_id async for recording in found]

        # The driver connects the publication before the archive has begun to record it.
        (recording_id,) = await until(listed, "the recording")
        async for signal in archive.signals(WAIT_S, recording_id=recording_id, kinds=STOP):
            return signal.position
        raise AssertionError(f"no STOP signal of recording {recording_id}")

    got = await asyncio.wait_for(asyncio.gather(*(record(n) for n in range(1, 6))), 2 * WAIT_S)
    assert got == [n * FRAME for n in range(1, 6)]
    await archive.close()


async def test_a_handler_may_not_call_its_client(form, any_archive, our_client, stream_id):
    errors = []
    archive = await connect(form, our_client(any_archive.aeron_dir), on_error=errors.append)
    archive.client.add_signal_handler(lambda _: archive.client.poll())
    archive.client.add_signal_handler(lambda _: archive.client.poll_for_error(), kinds=STOP)
    await archive.start_recording(CHANNEL, stream_id)
    with archive.client.aeron.add_publication(CHANNEL, stream_id) as publication:
        publication.wait_connected(WAIT_S)
        await archive.signal(START)
    await archive.signal(STOP)
    assert len(errors) == 3
    assert {type(error) for error in errors} == {ReentrantCallError}
    assert {str(error) for error in errors} == {"reentrant calls not permitted during callbacks"}
    await settle(archive.client.close())


def test_a_series_of_one_thread_lets_others_ask(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    got = []

    def follow() -> None:
        for signal in archive.signals(WAIT_S):
            got.append(signal.signal)
            if signal.signal == STOP:
                break

    waiting = threading.Thread(target=follow, daemon=True)
    waiting.start()
    archive.start_recording(CHANNEL, stream_id, SourceLocation.REMOTE)
    with archive.aeron.add_publication(CHANNEL, stream_id) as publication:
        publication.wait_connected(WAIT_S)
        while not list(archive.recordings(stream_id=stream_id)):
            assert waiting.is_alive()
        archive.stop_recording(CHANNEL, stream_id)
    waiting.join(2 * WAIT_S)
    assert not waiting.is_alive()
    assert got == [START, STOP]


@pytest.mark.error_log("recording segment not found")
async def test_errors_of_a_replay_that_was_granted_are_found(bench):
    recording = await bench.stopped(300)
    second = recording.segment_file_length
    (bench.server.archive_dir / f"{recording.recording_id}-{second}.rec").unlink()
    client = bench.archive.client
    with await bench.archive.replay(recording.recording_id) as replay:
        list(replay.messages(timeout=WAIT_S, until_eos=True))
        text = await until(client.poll_for_error, "the archive's error")
    assert "segment" in text
    assert client.poll_for_error() is None
    with await bench.archive.replay(recording.recording_id) as replay:
        list(replay.messages(timeout=WAIT_S, until_eos=True))
        with pytest.raises(ArchiveError, match="segment"):
            await until(client.check_for_error, "the archive's error")


async def events_of(form, aeron):
    if form == "waiting":
        return RecordingEvents(aeron)
    return await AsyncRecordingEvents.connect(aeron)


async def test_recording_events_tell_what_is_recorded(form, bench):
    events = await events_of(form, bench.aeron)
    events.subscription.wait_connected(WAIT_S)
    # A subscriber is given first what nobody had read before; events without room are lost.
    while events.subscription.poll_messages():
        pass
    recording = await bench.stopped(5)
    of_it = {"recording_id": recording.recording_id}
    got = []
    async for event in each(events.events(WAIT_S, **of_it)):
        got.append(event)
        if isinstance(event, ap.RecordingStopped):
            break
    started, *progress, stopped = got
    assert isinstance(started, ap.RecordingStarted)
    assert (started.start_position, started.channel) == (0, CHANNEL)
    assert (started.stream_id, started.session_id) == (bench.stream_id, recording.session_id)
    assert stopped.stop_position == recording.stop_position
    positions = [event.position for event in progress]
    assert positions == sorted(positions)
    assert positions[-1] <= recording.stop_position
    seen = []
    assert events.poll_into(seen.append) == len(seen)
    await settle(events.close())
    assert [event async for event in each(events.events(WAIT_S))] == []


async def test_what_is_no_event_is_reported_and_passed_over(
    form, our_driver, our_client, stream_id
):
    aeron, errors = our_client(our_driver.aeron_dir), []
    options = {"stream_id": stream_id, "on_error": errors.append}
    if form == "waiting":
        events = RecordingEvents(aeron, **options)
    else:
        events = await AsyncRecordingEvents.connect(aeron, **options)
    with aeron.add_publication("aeron:ipc", stream_id) as publication:
        publication.wait_connected(WAIT_S)
        publication.send(b"\x08\x00\x65\x00\x63\x00\x01\x00" + bytes(8))  # of schema 99
        publication.send(ap.KeepAliveRequest(control_session_id=1, correlation_id=2).encode())
        publication.send(
            ap.RecordingProgress(recording_id=1, start_position=0, position=64).encode()
        )
        async for event in each(events.events(WAIT_S)):
            assert event == ap.RecordingProgress(recording_id=1, start_position=0, position=64)
            break
    assert [str(error) for error in errors] == ["expected schemaId=101, actual=99"]
    await settle(events.close())


async def test_the_archive_shows_a_client_s_name(form, any_archive, our_client):
    aeron = our_client(any_archive.aeron_dir)
    archive = await connect(form, aeron, name="reporting-7")
    (label,) = [
        info.label
        for info in aeron.counters.infos()
        if info.type_id == CONTROL_SESSION_COUNTER and "reporting-7" in info.label
    ]
    assert "name=reporting-7 version=" in label
    await settle(archive.client.close())


async def test_requests_are_counted_and_timed(bench):
    stats = bench.archive.client.stats
    assert (stats.requests, stats.answers, stats.sessions) == (0, 0, 1)
    for _ in range(10):
        await bench.archive.query_archive_id()
    with pytest.raises(ArchiveError):
        await bench.archive.start_position(99_999)
    assert (stats.requests, stats.answers, stats.refused, stats.timeouts) == (11, 11, 1, 0)
    assert 0 < stats.round_trip_min_ns <= stats.round_trip_mean_ns <= stats.round_trip_max_ns
    assert stats.round_trip_total_ns >= stats.round_trip_last_ns > 0
