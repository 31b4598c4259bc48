"""Our archive client's operations, on our archive and on the reference's."""

import time

import pytest

from aerolog.archive.client import (
    RecordingEvents,
    RecordingSignal,
    SourceLocation,
    find_by_recording,
    find_by_session,
)
from aerolog.transport.errors import (
    AeronTimeoutError,
    ArchiveError,
    ArchiveErrorCode,
    ResourceClosedError,
)

pytestmark = pytest.mark.interop
CHANNEL = "aeron:ipc?term-length=64k"
COUNT = 500
FRAME = 160  # header, payload, alignment; the first 409 of a term stand one after the other
UNKNOWN = 99_999


def payload(index: int) -> bytes:
    return b"%06d:" % index + bytes((index + i) & 0xFF for i in range(90))


def send_all(publication, first: int = 0, count: int = COUNT) -> int:
    publication.wait_connected(30.0)
    for index in range(first, first + count):
        position = publication.send(payload(index), timeout=30.0)
    return position


def only_recording(archive, stream_id: int):
    """The stream's one recording, which the archive makes once it has seen the publication."""
    deadline = time.monotonic() + 30
    while not (found := list(archive.recordings(stream_id=stream_id))):
        assert time.monotonic() < deadline, f"no recording of stream {stream_id}"
    (recording,) = found
    return recording


def record(archive, stream_id: int, count: int = COUNT):
    """A stopped recording of `count` messages: its descriptor."""
    archive.start_recording(CHANNEL, stream_id)
    with archive.aeron.add_publication(CHANNEL, stream_id) as publication:
        position = send_all(publication, count=count)
        recording_id = only_recording(archive, stream_id).recording_id
        archive.recording_position_counter(recording_id).wait(position, timeout=30.0)
        archive.stop_recording(CHANNEL, stream_id)
        await_signal(archive, recording_id, RecordingSignal.STOP)
    return archive.list_recording(recording_id)


def await_start(archive):
    for signal in archive.signals(timeout=30.0):
        if signal.signal == RecordingSignal.START:
            return signal
    raise AssertionError("no START signal")


def await_signal(archive, recording_id: int, wanted: RecordingSignal):
    for signal in archive.signals(timeout=30.0):
        if signal.recording_id == recording_id and signal.signal == wanted:
            return signal
    raise AssertionError(f"no {wanted.name} signal of recording {recording_id}")


def test_connecting_gives_a_session_and_the_archive_s_id(any_archive, our_archive_client):
    first = our_archive_client(any_archive.aeron_dir, name="first")
    second = our_archive_client(any_archive.aeron_dir)
    assert first.control_session_id != second.control_session_id
    assert first.archive_id == second.archive_id == first.query_archive_id()
    assert not first.closed


def test_a_recording_is_started_listed_and_stopped(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    subscription_id = archive.start_recording(CHANNEL, stream_id)
    publication = archive.aeron.add_publication(CHANNEL, stream_id)
    position = send_all(publication)
    live = only_recording(archive, stream_id)
    assert live.is_active
    assert (live.start_position, live.session_id) == (0, publication.session_id)
    assert (live.original_channel, live.source_identity) == (CHANNEL, "aeron:ipc")
    assert live.term_buffer_length == 65536
    assert archive.stop_position(live.recording_id) is None
    (subscribed,) = archive.list_recording_subscriptions(stream_id=stream_id)
    assert subscribed.subscription_id == subscription_id
    archive.recording_position_counter(live.recording_id).wait(position, timeout=30.0)
    assert archive.recording_position(live.recording_id) == position
    assert archive.max_recorded_position(live.recording_id) == position

    archive.stop_recording_subscription(subscription_id)
    stop = await_signal(archive, live.recording_id, RecordingSignal.STOP)
    assert (stop.position, stop.subscription_id) == (position, subscription_id)
    assert archive.stop_position(live.recording_id) == position
    assert archive.recording_position(live.recording_id) is None
    assert archive.start_position(live.recording_id) == 0
    assert archive.list_recording_subscriptions(stream_id=stream_id) == []
    stopped = archive.list_recording(live.recording_id)
    assert stopped.stop_position == position
    assert stopped.stop_timestamp >= stopped.start_timestamp


@pytest.mark.parametrize("location", [SourceLocation.LOCAL, SourceLocation.REMOTE])
@pytest.mark.parametrize("auto_stop", [None, False, True])
def test_every_form_of_start_records(
    any_archive, our_archive_client, stream_id, location, auto_stop
):
    archive = our_archive_client(any_archive.aeron_dir)
    archive.start_recording(CHANNEL, stream_id, location, auto_stop=auto_stop)
    with archive.aeron.add_publication(CHANNEL, stream_id) as publication:
        position = send_all(publication, count=20)
    recording = only_recording(archive, stream_id)
    stop = await_signal(archive, recording.recording_id, RecordingSignal.STOP)
    assert stop.position == position
    deadline = time.monotonic() + 30
    while auto_stop and archive.list_recording_subscriptions(stream_id=stream_id):
        assert time.monotonic() < deadline, "the subscription is not let go"
    assert archive.try_stop_recording(CHANNEL, stream_id) is (not auto_stop)


def test_every_form_of_stop_stops(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    stops = [
        lambda _: archive.stop_recording(CHANNEL, stream_id),
        lambda _: archive.try_stop_recording(CHANNEL, stream_id),
        archive.stop_recording_subscription,
        archive.try_stop_recording_subscription,
    ]
    for stop in stops:
        stop(archive.start_recording(CHANNEL, stream_id))
        assert archive.list_recording_subscriptions(stream_id=stream_id) == []
    assert archive.try_stop_recording(CHANNEL, stream_id) is False
    assert archive.try_stop_recording_subscription(UNKNOWN) is False
    with pytest.raises(ArchiveError) as refused:
        archive.stop_recording(CHANNEL, stream_id)
    assert refused.value.code == ArchiveErrorCode.UNKNOWN_SUBSCRIPTION


def test_a_recording_is_stopped_by_its_id(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    archive.start_recording(CHANNEL, stream_id)
    publication = archive.aeron.add_publication(CHANNEL, stream_id)
    send_all(publication, count=5)
    recording_id = only_recording(archive, stream_id).recording_id
    assert archive.stop_recording_by_identity(recording_id) is True
    await_signal(archive, recording_id, RecordingSignal.STOP)
    assert archive.stop_recording_by_identity(recording_id) is False
    with pytest.raises(ArchiveError) as refused:
        archive.stop_recording_by_identity(UNKNOWN)
    assert refused.value.code == ArchiveErrorCode.UNKNOWN_RECORDING


@pytest.mark.parametrize("kind", ["publication", "exclusive_publication"])
def test_a_recorded_publication_is_recorded_alone(any_archive, our_archive_client, stream_id, kind):
    archive = our_archive_client(any_archive.aeron_dir)
    other = archive.aeron.add_exclusive_publication(CHANNEL, stream_id)
    publication = getattr(archive, f"add_recorded_{kind}")(CHANNEL, stream_id)
    position = send_all(publication, count=10)
    recording = only_recording(archive, stream_id)
    assert recording.session_id == publication.session_id != other.session_id
    archive.recording_position_counter(recording.recording_id).wait(position, timeout=30.0)
    archive.stop_recording_of(publication)
    assert await_signal(archive, recording.recording_id, RecordingSignal.STOP).position == position


def test_a_stopped_recording_replays_every_byte(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    recording = record(archive, stream_id, count=3000)
    assert recording.stop_position > 2 * recording.segment_file_length
    got = list(archive.read(recording.recording_id))
    assert [m.data for m in got] == [payload(i) for i in range(3000)]
    assert got[-1].position == recording.stop_position


def test_a_replay_begins_and_ends_where_it_is_told(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    recording = record(archive, stream_id)
    got = list(archive.read(recording.recording_id, 100 * FRAME, 150 * FRAME))
    assert [m.data for m in got] == [payload(i) for i in range(100, 150)]
    assert got[-1].position == 150 * FRAME


def test_reading_nothing_gives_nothing(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    recording = record(archive, stream_id, count=10)
    assert list(archive.read(recording.recording_id, recording.stop_position)) == []


def test_a_read_that_is_cut_short_says_so(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    recording = record(archive, stream_id, count=3000)
    messages = archive.read(recording.recording_id, timeout=5.0)
    first = next(messages)
    archive.stop_all_replays(recording.recording_id)
    with pytest.raises(AeronTimeoutError, match=f"before {recording.stop_position}"):
        list(messages)
    assert first.data == payload(0)


@pytest.mark.error_log("recording segment not found")
def test_a_read_of_a_damaged_recording_names_the_damage(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    recording = record(archive, stream_id, count=3000)
    second = recording.segment_file_length
    (any_archive.archive_dir / f"{recording.recording_id}-{second}.rec").unlink()
    with pytest.raises(ArchiveError, match="segment"):
        list(archive.read(recording.recording_id))


def test_a_live_recording_replays_and_follows(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    archive.start_recording(CHANNEL, stream_id)
    publication = archive.aeron.add_exclusive_publication(CHANNEL, stream_id)
    position = send_all(publication, count=100)
    recording_id = only_recording(archive, stream_id).recording_id
    archive.recording_position_counter(recording_id).wait(position, timeout=30.0)
    with archive.replay(recording_id, stream_id=stream_id + 50_000) as replay:
        messages = replay.messages(timeout=30.0)
        first = [next(messages).data for _ in range(100)]
        send_all(publication, first=100, count=100)
        second = [next(messages).data for _ in range(100)]
    assert first + second == [payload(i) for i in range(200)]


def test_a_replay_is_stopped(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    archive.start_recording(CHANNEL, stream_id)
    publication = archive.aeron.add_exclusive_publication(CHANNEL, stream_id)
    position = send_all(publication, count=10)
    recording_id = only_recording(archive, stream_id).recording_id
    archive.recording_position_counter(recording_id).wait(position, timeout=30.0)
    stops = (archive.stop_replay, lambda _: archive.stop_all_replays(recording_id))
    for stop, replay_stream_id in zip(stops, (stream_id + 50_000, stream_id + 60_000), strict=True):
        subscription = archive.aeron.add_subscription(CHANNEL, replay_stream_id)
        replay_session_id = archive.start_replay(recording_id, CHANNEL, replay_stream_id)
        (image,) = subscription.wait_connected(30.0).images
        assert image.session_id & 0xFFFFFFFF == replay_session_id & 0xFFFFFFFF
        stop(replay_session_id)
        assert len(list(subscription.messages(timeout=30.0, until_eos=True))) <= 10
        assert image.closed or image.is_end_of_stream
        subscription.close()
    archive.stop_replay(UNKNOWN)


def test_a_bounded_replay_stays_behind_its_counter(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    recording = record(archive, stream_id)
    with archive.aeron.add_counter(1001, "limit of a replay") as limit:
        limit.value = 20 * FRAME
        replay = archive.replay(recording.recording_id, limit_counter_id=limit.counter_id)
        messages = replay.messages(timeout=30.0)
        got = [next(messages) for _ in range(20)]
        assert got[-1].position == 20 * FRAME
        assert replay.poll_messages(10) == []
        limit.value = recording.stop_position
        got += [next(messages) for _ in range(COUNT - 20)]
        replay.close()
    assert [m.data for m in got] == [payload(i) for i in range(COUNT)]


def test_a_recording_is_extended(any_archive, our_archive_client, stream_id):
    from aerolog.transport.uri import ChannelUri

    archive = our_archive_client(any_archive.aeron_dir)
    recording = record(archive, stream_id)
    channel = ChannelUri.parse(CHANNEL).with_position(
        recording.stop_position, recording.initial_term_id, recording.term_buffer_length
    )
    with archive.aeron.add_exclusive_publication(str(channel), stream_id) as publication:
        archive.extend_recording(recording.recording_id, CHANNEL, stream_id)
        position = send_all(publication, first=COUNT, count=100)
        extended = await_signal(archive, recording.recording_id, RecordingSignal.EXTEND)
        assert extended.position == recording.stop_position
        archive.recording_position_counter(recording.recording_id).wait(position, timeout=30.0)
        archive.stop_recording(CHANNEL, stream_id)
    await_signal(archive, recording.recording_id, RecordingSignal.STOP)
    got = [m.data for m in archive.read(recording.recording_id)]
    assert got == [payload(i) for i in range(COUNT + 100)]


def test_recordings_are_listed_in_pages_and_by_channel(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    ids = []
    for alias in ("one", "two", "three"):
        with archive.aeron.add_publication(f"{CHANNEL}|alias={alias}", stream_id) as publication:
            archive.start_recording(f"{CHANNEL}|alias={alias}", stream_id)
            send_all(publication, count=1)
            started = await_start(archive)
            (found,) = archive.recordings(stream_id=stream_id, channel=f"alias={alias}")
            ids.append(found.recording_id)
            assert ids[-1] == started.recording_id
            archive.stop_recording(f"{CHANNEL}|alias={alias}", stream_id)
            await_signal(archive, ids[-1], RecordingSignal.STOP)
    assert [r.recording_id for r in archive.recordings(stream_id=stream_id, page=2)] == ids
    every = [r.recording_id for r in archive.recordings(page=2)]
    assert every == sorted(every)
    assert set(ids) <= set(every)
    assert [r.recording_id for r in archive.list_recordings(ids[1], 1)] == [ids[1]]
    last = archive.list_recording(ids[-1])
    found = archive.find_last_matching_recording(0, "alias", stream_id, last.session_id)
    assert found == ids[-1]
    assert archive.find_last_matching_recording(0, "alias", stream_id, 12345) is None
    assert archive.list_recording(UNKNOWN) is None


def test_position_counters_are_found(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    archive.start_recording(CHANNEL, stream_id)
    publication = archive.aeron.add_publication(CHANNEL, stream_id)
    position = send_all(publication, count=10)
    recording_id = only_recording(archive, stream_id).recording_id
    counters = archive.aeron.counters
    by_recording = find_by_recording(counters, recording_id, archive.archive_id)
    assert by_recording == find_by_session(counters, publication.session_id)
    assert find_by_recording(counters, recording_id, archive.archive_id + 1) is None
    counter = archive.recording_position_counter(recording_id)
    assert counter.counter.counter_id == by_recording
    assert counter.wait(position, timeout=30.0) == position
    archive.stop_recording(CHANNEL, stream_id)
    await_signal(archive, recording_id, RecordingSignal.STOP)
    deadline = time.monotonic() + 30
    while counter.is_active:  # freed just after the signal
        assert time.monotonic() < deadline
    assert archive.recording_position_counter(recording_id) is None


def test_signals_and_events_tell_the_story(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    with RecordingEvents(archive.aeron) as events:
        events.subscription.wait_connected(30.0)
        # A subscriber is given first what nobody had read before; events without room are lost.
        while events.subscription.poll_messages():
            pass
        recording = record(archive, stream_id, count=50)
        story = []
        for event in events.events(timeout=30.0):
            if event.recording_id == recording.recording_id:
                story.append(event)
                if type(event).__name__ == "RecordingStopped":
                    break
    assert type(story[0]).__name__ == "RecordingStarted"
    assert (story[0].start_position, story[0].stream_id) == (0, stream_id)
    assert story[0].channel == CHANNEL
    assert story[-1].stop_position == recording.stop_position


def test_refusals_carry_the_archive_s_code(any_archive, our_archive_client, stream_id):
    archive = our_archive_client(any_archive.aeron_dir)
    recording = record(archive, stream_id, count=10)
    refusals = [
        (lambda: archive.stop_position(UNKNOWN), ArchiveErrorCode.UNKNOWN_RECORDING),
        (lambda: archive.start_replay(UNKNOWN), ArchiveErrorCode.UNKNOWN_RECORDING),
        (
            lambda: archive.extend_recording(UNKNOWN, CHANNEL, stream_id),
            ArchiveErrorCode.UNKNOWN_RECORDING,
        ),
        (
            lambda: archive.start_replay(recording.recording_id, position=1 << 30, length=32),
            ArchiveErrorCode.INVALID_POSITION,
        ),
        (
            lambda: archive.start_replay(recording.recording_id, position=7, length=32),
            ArchiveErrorCode.GENERIC,
        ),
    ]
    for request, code in refusals:
        with pytest.raises(ArchiveError) as refused:
            request()
        assert refused.value.code == code
        assert refused.value.correlation_id == archive.last_correlation_id
    archive.start_recording(CHANNEL, stream_id)
    with pytest.raises(ArchiveError) as refused:
        archive.start_recording(CHANNEL, stream_id)
    assert refused.value.code == ArchiveErrorCode.ACTIVE_SUBSCRIPTION
    archive.stop_recording(CHANNEL, stream_id)


def test_a_closed_client_says_so(any_archive, our_archive_client):
    archive = our_archive_client(any_archive.aeron_dir)
    archive.close()
    archive.close()
    assert archive.closed
    with pytest.raises(ResourceClosedError, match="closed"):
        archive.stop_position(0)


def test_a_signal_handler_may_not_call_back(any_archive, our_archive_client, stream_id):
    errors, seen = [], []

    def on_signal(signal):
        seen.append(signal.signal)
        archive.stop_position(signal.recording_id)

    archive = our_archive_client(any_archive.aeron_dir, on_signal=on_signal, on_error=errors.append)
    record(archive, stream_id, count=1)
    assert seen == [RecordingSignal.START, RecordingSignal.STOP]
    assert ["reentrant" in str(error) for error in errors] == [True, True]
