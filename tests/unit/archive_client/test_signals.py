"""Signals that wait for whoever wants them, handlers, counts, credentials."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.archive.client import (
    ArchiveClientOptions,
    ArchiveClientStats,
    RecordingSignal,
    RecordingSignalEvent,
    SignalFilter,
    StaticCredentials,
)
from aerolog.archive.client.recording_signals import SIGNAL_LIMIT, SignalQueue
from aerolog.transport.errors import ConfigurationError

START, STOP, DELETE = RecordingSignal.START, RecordingSignal.STOP, RecordingSignal.DELETE


def signal(recording_id=1, correlation_id=10, kind=START):
    return RecordingSignalEvent(
        control_session_id=1,
        correlation_id=correlation_id,
        recording_id=recording_id,
        subscription_id=3,
        position=64,
        signal=kind,
    )


EVENTS = st.lists(
    st.builds(
        signal,
        st.integers(0, 3),
        st.integers(10, 13),
        st.sampled_from([START, STOP, DELETE]),
    ),
    max_size=30,
)
FILTERS = st.builds(
    SignalFilter.of,
    st.none() | st.integers(0, 3),
    st.none() | st.integers(10, 13),
    st.none() | st.sampled_from([START, STOP]) | st.lists(st.sampled_from([START, DELETE])),
)


@given(EVENTS, FILTERS)
def test_each_signal_is_taken_once_by_whoever_wants_it(events, wanted):
    queue = SignalQueue()
    for event in events:
        queue.put(event)
    first = queue.take(wanted)
    taken = queue.take_all(wanted)
    expected = [event for event in events if wanted.matches(event)]
    assert ([first] if first else []) + taken == expected
    assert queue.take_all() == [event for event in events if not wanted.matches(event)]


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        ({}, True),
        ({"recording_id": 1}, True),
        ({"recording_id": 2}, False),
        ({"correlation_id": 10}, True),
        ({"correlation_id": 11}, False),
        ({"kinds": START}, True),
        ({"kinds": [STOP, DELETE]}, False),
        ({"kinds": []}, False),
        ({"recording_id": 1, "kinds": STOP}, False),
    ],
)
def test_a_filter_wants_what_it_says(wanted, matches):
    assert SignalFilter.of(**wanted).matches(signal()) is matches


def test_signals_that_nobody_takes_are_forgotten_oldest_first():
    queue = SignalQueue()
    for number in range(SIGNAL_LIMIT + 2):
        queue.put(signal(number))
    assert queue.take().recording_id == 2


def test_handlers_are_called_until_they_are_closed():
    queue, seen = SignalQueue(), []
    handler = queue.add_handler(seen.append, SignalFilter.of(kinds=STOP))
    assert queue.handlers_of(signal()) == []
    assert queue.handlers_of(signal(kind=STOP)) == [handler.consumer]
    with handler:
        pass
    handler.close()
    assert queue.handlers_of(signal(kind=STOP)) == []


def test_round_trips_are_summed_up():
    stats = ArchiveClientStats()
    assert stats.round_trip_mean_ns == 0
    for trip, refused in ((30, False), (10, True), (20, False)):
        stats.on_answer(trip, refused=refused)
    assert (stats.answers, stats.refused) == (3, 1)
    assert (stats.round_trip_min_ns, stats.round_trip_max_ns) == (10, 30)
    assert (stats.round_trip_last_ns, stats.round_trip_mean_ns) == (20, 20.0)


def test_credentials_are_bytes_or_come_from_a_supplier():
    plain = ArchiveClientOptions(credentials=b"me", on_challenge=lambda asked: asked[::-1])
    assert (plain.encoded_credentials(), plain.answer_challenge(b"ab")) == (b"me", b"ba")
    supplied = ArchiveClientOptions(credentials=StaticCredentials(b"you", answer=b"yes"))
    assert (supplied.encoded_credentials(), supplied.answer_challenge(b"?")) == (b"you", b"yes")
    with pytest.raises(ConfigurationError, match="answers challenges itself"):
        ArchiveClientOptions(credentials=StaticCredentials(), on_challenge=lambda _: b"")
    with pytest.raises(ConfigurationError, match="proof of identity"):
        ArchiveClientOptions().answer_challenge(b"?")
