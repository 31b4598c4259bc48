"""Whatever arrives on the response stream, a session stays up and every request ends."""

from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.archive.client import request
from aerolog.archive.client.client_session import ControlSession
from aerolog.archive.client.control_stream import ControlStream
from aerolog.archive.client.options import ArchiveClientOptions
from aerolog.archive.protocol import (
    ControlResponse,
    ControlResponseCode,
    RecordingDescriptor,
    RecordingSignal,
    RecordingSignalEvent,
)
from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.errors import AeronTimeoutError, ArchiveError

SESSION, CORRELATION = 42, 100


@dataclass
class Received:
    """A message as a subscription gives it."""

    data: bytes


class FakeSubscription:
    """Gives out what a test put in."""

    closed, is_connected, channel, stream_id, images = False, True, "aeron:ipc", 20, ()

    def __init__(self, payloads):
        self.waiting = [Received(payload) for payload in payloads]

    def poll_messages(self, limit):
        taken, self.waiting = self.waiting[:limit], self.waiting[limit:]
        return taken


class FakePublication:
    """Takes everything."""

    closed, is_connected, term_length = False, True, 65536

    def offer(self, data):
        return len(data)


def ours(value):
    """Mostly the right id, so that fuzzed messages get past the first check."""
    return st.one_of(st.just(value), st.integers(-(2**63), 2**63 - 1))


RESPONSES = st.builds(
    ControlResponse,
    control_session_id=ours(SESSION),
    correlation_id=ours(CORRELATION),
    relevant_id=st.integers(-(2**63), 2**63 - 1),
    code=st.sampled_from(list(ControlResponseCode)),
    error_message=st.text(st.characters(codec="ascii"), max_size=20),
)
SIGNALS = st.builds(
    RecordingSignalEvent,
    control_session_id=ours(SESSION),
    correlation_id=ours(CORRELATION),
    recording_id=st.integers(-(2**63), 2**63 - 1),
    subscription_id=st.integers(-(2**63), 2**63 - 1),
    position=st.integers(-(2**63), 2**63 - 1),
    signal=st.sampled_from(list(RecordingSignal)),
)
DESCRIPTORS = st.builds(
    RecordingDescriptor,
    control_session_id=ours(SESSION),
    correlation_id=ours(CORRELATION),
    **{
        name: st.integers(-(2**31), 2**31 - 1)
        for name in RecordingDescriptor.__dataclass_fields__
        if name.split("_")[-1] in {"id", "timestamp", "position", "length"}
        and name not in {"control_session_id", "correlation_id"}
    },
    stripped_channel=st.just("aeron:ipc"),
    original_channel=st.just("aeron:ipc"),
    source_identity=st.just("x"),
)


@st.composite
def torn(draw):
    """A message with a part missing, or with a byte changed."""
    data = bytearray(draw(st.one_of(RESPONSES, SIGNALS, DESCRIPTORS)).encode())
    if draw(st.booleans()):
        return bytes(data[: draw(st.integers(0, len(data)))])
    data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data)


PAYLOADS = st.lists(
    st.one_of(
        st.binary(max_size=80),
        torn(),
        st.one_of(RESPONSES, SIGNALS, DESCRIPTORS).map(lambda message: message.encode()),
    ),
    max_size=30,
)
CALLS = st.sampled_from(
    [
        request.archive_id(),
        request.ask_position("stop position", 1),
        request.try_stop_recording("aeron:ipc", 1),
        request.list_recordings(0, 3),
        request.list_recording(1),
        request.list_recording_subscriptions(0, 2, "", None),
    ]
)


@given(PAYLOADS, CALLS)
def test_every_request_ends_whatever_arrives(payloads, call):
    clock, reported = ManualClock(), []
    stream = ControlStream(FakePublication(), FakeSubscription(payloads), reported.append)
    options = ArchiveClientOptions(clock=clock, message_timeout=1.0, on_error=reported.append)
    session = ControlSession(stream, options, SESSION, 0)
    pending = session.begin(call, CORRELATION)
    while session.pump():
        pass
    clock.advance_ns(1_000_000_001)
    session.pump()
    assert pending.done
    assert len(session.signals.take_all()) <= len(payloads)
    with suppress(ArchiveError, AeronTimeoutError):  # and no other error
        pending.result()


def test_garbage_is_reported_and_skipped():
    reported = []
    good = ControlResponse(
        control_session_id=SESSION,
        correlation_id=1,
        relevant_id=2,
        code=ControlResponseCode.OK,
    )
    stream = ControlStream(
        FakePublication(), FakeSubscription([b"", b"\xff" * 40, good.encode()]), reported.append
    )
    assert stream.poll() == [good]
    assert len(reported) == 2


@pytest.mark.parametrize("count", [1, 5])
def test_a_listing_takes_no_more_than_it_asked_for(count):
    found = [
        RecordingDescriptor(
            control_session_id=SESSION,
            correlation_id=CORRELATION,
            recording_id=identity,
            start_timestamp=0,
            stop_timestamp=0,
            start_position=0,
            stop_position=0,
            initial_term_id=0,
            segment_file_length=0,
            term_buffer_length=0,
            mtu_length=0,
            session_id=0,
            stream_id=0,
            stripped_channel="",
            original_channel="",
            source_identity="",
        ).encode()
        for identity in range(9)
    ]
    stream = ControlStream(FakePublication(), FakeSubscription(found), None)
    session = ControlSession(stream, ArchiveClientOptions(), SESSION, 0)
    pending = session.begin(request.list_recordings(0, count), CORRELATION)
    session.pump()
    assert [one.recording_id for one in pending.result()] == list(range(count))
