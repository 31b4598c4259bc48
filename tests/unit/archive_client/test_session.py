"""A control session against a stream in memory: matching, errors, listings, signals, time."""

from collections import deque

import pytest

from aerolog.archive.client import SignalFilter, request
from aerolog.archive.client.client_session import IN_FLIGHT_LIMIT, ControlSession
from aerolog.archive.client.options import ArchiveClientOptions
from aerolog.archive.protocol import (
    CloseSessionRequest,
    ControlResponse,
    ControlResponseCode,
    RecordingDescriptor,
    RecordingSignal,
    RecordingSignalEvent,
    StopPositionRequest,
    decode,
)
from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.errors import (
    AeronTimeoutError,
    ArchiveError,
    ArchiveErrorCode,
    BackPressuredError,
    NotConnectedError,
    ReentrantCallError,
    ResourceClosedError,
)

SESSION = 42


class FakeEnd:
    """A publication or subscription: open, closed, and what was offered."""

    def __init__(self) -> None:
        self.closed = False
        self.is_connected = True
        self.offered: list[bytes] = []
        self.channel, self.stream_id, self.images = "aeron:ipc", 20, ()

    def offer(self, data: bytes) -> int:
        self.offered.append(data)
        return 32

    def close(self) -> None:
        self.closed = True


class FakeStream:
    """A control stream whose other side is a list."""

    def __init__(self) -> None:
        self.publication, self.subscription = FakeEnd(), FakeEnd()
        self.incoming: deque = deque()
        self.sent: list = []
        self.accepts = True
        self.is_connected = True
        self.reported: list[BaseException] = []

    def offer(self, request: bytes) -> bool:
        if self.accepts:
            self.sent.append(decode(request))
        return self.accepts

    def poll(self) -> list:
        taken = list(self.incoming)
        self.incoming.clear()
        return taken

    def report(self, error: BaseException) -> None:
        self.reported.append(error)

    def close(self) -> None:
        self.publication.close()
        self.subscription.close()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def stream():
    return FakeStream()


def make_session(stream, clock, **options):
    return ControlSession(
        stream, ArchiveClientOptions(message_timeout=5.0, clock=clock, **options), SESSION, 7
    )


@pytest.fixture
def session(stream, clock):
    return make_session(stream, clock)


def ok(correlation_id, relevant_id=0, session_id=SESSION):
    return ControlResponse(
        control_session_id=session_id,
        correlation_id=correlation_id,
        relevant_id=relevant_id,
        code=ControlResponseCode.OK,
    )


def error(correlation_id, code, text="no"):
    return ControlResponse(
        control_session_id=SESSION,
        correlation_id=correlation_id,
        relevant_id=code,
        code=ControlResponseCode.ERROR,
        error_message=text,
    )


def descriptor(correlation_id, recording_id):
    return RecordingDescriptor(
        control_session_id=SESSION,
        correlation_id=correlation_id,
        recording_id=recording_id,
        start_timestamp=1,
        stop_timestamp=-1,
        start_position=0,
        stop_position=-1,
        initial_term_id=3,
        segment_file_length=131072,
        term_buffer_length=65536,
        mtu_length=1408,
        session_id=9,
        stream_id=10,
        stripped_channel="aeron:ipc",
        original_channel="aeron:ipc",
        source_identity="aeron:ipc",
    )


def signal(kind=RecordingSignal.START):
    return RecordingSignalEvent(
        control_session_id=SESSION,
        correlation_id=1,
        recording_id=2,
        subscription_id=3,
        position=64,
        signal=kind,
    )


def test_a_request_is_sent_once_and_its_answer_is_the_result(session, stream):
    pending = session.begin(request.ask_position("stop position", 5), 100)
    session.pump()
    session.pump()
    assert stream.sent == [
        StopPositionRequest(control_session_id=SESSION, correlation_id=100, recording_id=5)
    ]
    stream.incoming.append(ok(100, 4096))
    session.pump()
    assert pending.done
    assert pending.result() == 4096


def test_a_missing_position_is_none(session, stream):
    pending = session.begin(request.ask_position("recording position", 5), 100)
    stream.incoming.append(ok(100, -1))
    session.pump()
    assert pending.result() is None


def test_answers_are_matched_by_session_and_correlation(session, stream):
    first = session.begin(request.archive_id(), 100)
    second = session.begin(request.archive_id(), 101)
    stream.incoming += [ok(101, 1, session_id=SESSION + 1), ok(102, 2), ok(101, 3)]
    session.pump()
    assert not first.done
    assert second.result() == 3


def test_a_request_that_is_not_taken_is_tried_as_often_as_configured(stream, clock):
    session = make_session(stream, clock, message_retry_attempts=2)
    stream.accepts = False
    pending = session.begin(request.archive_id(), 100)
    session.pump()
    assert not pending.done
    session.pump()
    with pytest.raises(BackPressuredError, match="^failed to send archive id request$"):
        pending.result()
    stream.accepts = True
    session.pump()
    assert stream.sent == []


def test_requests_are_sent_in_order_and_only_some_at_once(session, stream):
    pending = [session.begin(request.archive_id(), 100 + i) for i in range(IN_FLIGHT_LIMIT + 1)]
    session.pump()
    assert [one.correlation_id for one in stream.sent] == [100 + i for i in range(IN_FLIGHT_LIMIT)]
    stream.incoming.append(ok(100, 7))
    session.pump()
    session.pump()
    assert stream.sent[-1].correlation_id == 100 + IN_FLIGHT_LIMIT
    assert pending[0].result() == 7


def test_the_time_for_an_answer_begins_when_the_request_is_sent(session, stream, clock):
    first = session.begin(request.list_recordings(0, 1), 100)
    second = session.begin(request.list_recordings(0, 1), 101)
    session.pump()
    clock.advance_ns(4_000_000_000)
    stream.incoming.append(descriptor(100, 0))
    session.pump()
    assert first.done
    session.pump()
    clock.advance_ns(4_000_000_000)
    session.pump()
    assert not second.done
    clock.advance_ns(1_000_000_001)
    session.pump()
    with pytest.raises(AeronTimeoutError):
        second.result()


def test_listings_go_one_by_one(session, stream):
    session.begin(request.list_recordings(0, 1), 100)
    session.begin(request.list_recording_subscriptions(0, 1, "", None), 101)
    session.begin(request.archive_id(), 102)
    session.pump()
    session.pump()
    assert [one.correlation_id for one in stream.sent] == [100]
    stream.incoming.append(descriptor(100, 0))
    session.pump()
    session.pump()
    assert [one.correlation_id for one in stream.sent] == [100, 101, 102]


def test_an_unanswered_request_is_late(session, stream, clock):
    pending = session.begin(request.archive_id(), 100)
    session.pump()
    clock.advance_ns(4_999_999_999)
    session.pump()
    assert not pending.done
    clock.advance_ns(2)
    session.pump()
    expected = "^awaiting response - correlationId=100 messageTimeout=5s$"
    with pytest.raises(AeronTimeoutError, match=expected):
        pending.result()
    assert session.stats.timeouts == 1


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (request.list_recordings(0, 1), "awaiting recording descriptors - correlationId=100"),
        (
            request.list_recording_subscriptions(0, 1, "", None),
            "awaiting subscription descriptors - correlationId=100",
        ),
    ],
)
def test_an_unanswered_listing_says_what_it_waited_for(session, clock, call, text):
    pending = session.begin(call, 100)
    session.pump()
    clock.advance_ns(5_000_000_001)
    session.pump()
    with pytest.raises(AeronTimeoutError, match=text):
        pending.result()


def test_an_error_response_is_the_request_s_error(session, stream):
    pending = session.begin(request.stop_replay(5), 100)
    stream.incoming.append(error(100, 5, "unknown recording id: 5"))
    session.pump()
    with pytest.raises(ArchiveError, match="unknown recording id: 5") as caught:
        pending.result()
    assert caught.value.code == ArchiveErrorCode.UNKNOWN_RECORDING
    assert caught.value.correlation_id == 100


def test_a_forgiven_error_is_a_result_and_no_other_is(session, stream):
    forgiven = session.begin(request.try_stop_recording("aeron:ipc", 1), 100)
    strict = session.begin(request.strictly(request.try_stop_recording("aeron:ipc", 1)), 101)
    other = session.begin(request.try_stop_recording("aeron:ipc", 1), 102)
    stream.incoming += [error(100, 4), error(101, 4), error(102, 13)]
    session.pump()
    assert forgiven.result() is False
    for refused in (strict, other):
        with pytest.raises(ArchiveError):
            refused.result()


def test_a_listing_ends_with_its_count_or_with_unknown(session, stream):
    full = session.begin(request.list_recordings(0, 2), 100)
    session.pump()
    stream.incoming += [descriptor(100, 0), descriptor(99, 7), descriptor(100, 1)]
    session.pump()
    assert [one.recording_id for one in full.result()] == [0, 1]
    short = session.begin(request.list_recordings(2, 2), 101)
    stream.incoming += [
        descriptor(101, 2),
        ControlResponse(
            control_session_id=SESSION,
            correlation_id=101,
            relevant_id=3,
            code=ControlResponseCode.RECORDING_UNKNOWN,
        ),
    ]
    session.pump()
    assert [one.recording_id for one in short.result()] == [2]


def test_each_descriptor_gives_a_listing_more_time(session, stream, clock):
    pending = session.begin(request.list_recordings(0, 3), 100)
    for recording_id in range(2):
        clock.advance_ns(4_000_000_000)
        stream.incoming.append(descriptor(100, recording_id))
        session.pump()
    assert not pending.done
    clock.advance_ns(5_000_000_001)
    session.pump()
    with pytest.raises(AeronTimeoutError):
        pending.result()


def test_a_listing_of_nothing_is_refused():
    with pytest.raises(ValueError, match="count is at least 1"):
        request.list_recordings(0, 0)


def test_an_unexpected_code_is_an_error(session, stream):
    pending = session.begin(request.archive_id(), 100)
    stream.incoming.append(
        ControlResponse(
            control_session_id=SESSION,
            correlation_id=100,
            relevant_id=0,
            code=ControlResponseCode.RECORDING_UNKNOWN,
        )
    )
    session.pump()
    with pytest.raises(ArchiveError, match="unexpected response code: RECORDING_UNKNOWN"):
        pending.result()


def test_errors_without_a_request_wait_or_go_to_the_handler(session, stream, clock):
    stream.incoming.append(error(-1, 0, "stray"))
    session.pump()
    assert session.take_error().message == "stray"
    assert session.take_error() is None
    handled = make_session(stream, clock, on_error=lambda _: None)
    stream.incoming.append(error(-1, 0, "stray"))
    handled.pump()
    assert [str(one) for one in stream.reported] == ["stray (error code 0)"]
    assert handled.take_error() is None


def test_signals_are_kept_in_order_and_given_once(session, stream):
    stream.incoming += [signal(), signal(RecordingSignal.STOP)]
    session.pump()
    assert session.signals.take().signal == RecordingSignal.START
    assert [one.signal for one in session.signals.take_all()] == [RecordingSignal.STOP]
    assert session.signals.take() is None
    assert session.stats.signals == 2


def test_a_signal_handler_s_defect_is_reported_and_harms_nobody(stream, clock):
    def broken(_):
        raise ZeroDivisionError

    session = make_session(stream, clock, on_signal=broken)
    pending = session.begin(request.archive_id(), 100)
    stream.incoming += [signal(), ok(100, 7)]
    session.pump()
    assert pending.result() == 7
    assert isinstance(stream.reported[0], ZeroDivisionError)


def test_a_signal_handler_may_not_begin_a_request(stream, clock):
    session = make_session(
        stream, clock, on_signal=lambda _: session.begin(request.archive_id(), 1)
    )
    stream.incoming.append(signal())
    session.pump()
    assert isinstance(stream.reported[0], ReentrantCallError)
    assert "reentrant" in str(stream.reported[0])


def test_a_lost_archive_ends_what_waits_and_what_follows(session, stream):
    pending = session.begin(request.archive_id(), 100)
    stream.is_connected = False
    stream.incoming.append(signal())
    session.pump()
    assert not pending.done  # what has come is taken in first
    session.pump()
    with pytest.raises(NotConnectedError, match="streamId=20"):
        pending.result()
    assert session.disconnected
    with pytest.raises(ResourceClosedError):
        session.begin(request.archive_id(), 101)


def test_closing_tells_the_archive_once_and_ends_what_waits(session, stream):
    pending = session.begin(request.archive_id(), 100)
    session.close()
    session.close()
    assert [decode(one) for one in stream.publication.offered] == [
        CloseSessionRequest(control_session_id=SESSION)
    ]
    assert stream.publication.closed
    assert stream.subscription.closed
    with pytest.raises(ResourceClosedError):
        pending.result()
    with pytest.raises(ResourceClosedError):
        session.begin(request.archive_id(), 101)


def test_a_forgotten_request_s_answer_is_ignored(session, stream):
    pending = session.begin(request.archive_id(), 100)
    session.pump()
    session.forget(pending)
    stream.incoming.append(ok(100, 7))
    session.pump()
    assert not pending.done


def test_a_signal_handler_may_close_the_session(stream, clock):
    session = make_session(stream, clock, on_signal=lambda _: session.close())
    pending = session.begin(request.archive_id(), 100)
    stream.incoming += [signal(), signal(), ok(100, 7)]
    session.pump()
    assert session.closed
    with pytest.raises(ResourceClosedError):
        pending.result()
    assert stream.reported == []


def test_a_new_session_goes_on_with_what_the_last_one_collected(stream, clock):
    first = make_session(stream, clock)
    seen = []
    first.signals.add_handler(seen.append, SignalFilter())
    stream.incoming += [signal(), error(-1, 0, "stray")]
    first.pump()
    first.close()
    second = make_session(FakeStream(), clock)
    second.inherit(first)
    second.stream.incoming.append(signal(RecordingSignal.STOP))
    second.pump()
    assert [one.signal for one in seen] == [RecordingSignal.START, RecordingSignal.STOP]
    assert [one.signal for one in second.signals.take_all()] == [one.signal for one in seen]
    assert second.take_error().message == "stray"
    assert second.stats.signals == 2
