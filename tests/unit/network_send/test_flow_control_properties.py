"""What holds for any sequence of messages, times and errors."""

from hypothesis import given, settings
from hypothesis import strategies as st

from aerolog.transport.driver.flow_control.flow_control import (
    MaxFlowControl,
    MinFlowControl,
    TaggedFlowControl,
)

TERM = 64 * 1024
TIMEOUT = 1000
TAG = (5).to_bytes(8, "little")

receivers = st.integers(0, 3)
positions = st.integers(0, 1 << 20).map(lambda block: block * 32)
windows = st.integers(0, 1 << 20)
extensions = st.sampled_from([TAG, b"", b"\xff" * 4, b"\1" * 8])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("status"), receivers, positions, windows, st.booleans(), extensions),
        st.tuples(st.just("idle")),
        st.tuples(st.just("setup"), receivers, extensions),
        st.tuples(st.just("error"), receivers),
        st.tuples(st.just("time"), st.integers(0, 2 * TIMEOUT)),
    ),
    max_size=60,
)


def play(flow, steps):
    """Yields after each step: the step, the limit before and after it, and the time."""
    limit, now = 0, 0
    for step in steps:
        before = limit
        if step[0] == "status":
            _, receiver, position, window, eos, extension = step
            flags = 0x40 if eos else 0
            limit = flow.status_message(receiver, position, window, limit, now, flags, extension)
        elif step[0] == "idle":
            limit = flow.idle(limit, now)
        elif step[0] == "setup":
            flow.trigger_send_setup(step[1], now, step[2])
            limit = flow.setup(limit, now)
        elif step[0] == "error":
            flow.receiver_error(step[1], now, 5)
        else:
            now += step[1]
        yield step, before, limit, now


@given(steps)
def test_max_is_the_furthest_edge_ever_reported(steps):
    flow = MaxFlowControl(TERM)
    furthest = 0
    for step, _, limit, _ in play(flow, steps):
        if step[0] == "status":
            furthest = max(furthest, step[2] + step[3])
        assert limit == furthest


@settings(deadline=None)
@given(steps, st.integers(0, 3))
def test_min_never_passes_the_slowest_and_lowers_only_at_idle(steps, group_size):
    flow = MinFlowControl(TERM, receiver_timeout_ns=TIMEOUT, group_min_size=group_size)
    edges = {}
    for step, before, limit, _ in play(flow, steps):
        if step[0] == "status":
            edges[step[1]] = step[2] + step[3]
            assert limit >= before
        elif step[0] != "idle":
            assert limit == before
        assert 0 <= flow.receivers <= len(edges)
        assert flow.required_receivers_present == (flow.receivers >= group_size)
        if limit > before:
            assert flow.receivers >= group_size
            assert limit <= max(edges.values())
        if limit > before and flow.receivers == len(edges):
            assert limit <= min(edges.values())


@given(steps)
def test_a_tagged_stream_is_moved_by_matching_receivers_alone(steps):
    """With a group size, what others send changes nothing at all."""
    every = TaggedFlowControl(TERM, group_tag=5, receiver_timeout_ns=TIMEOUT, group_min_size=1)
    alone = TaggedFlowControl(TERM, group_tag=5, receiver_timeout_ns=TIMEOUT, group_min_size=1)

    def is_heard(step):
        return not (step[0] in {"status", "setup"} and step[-1] not in {TAG, b"\xff" * 4})

    kept = [limit for step, _, limit, _ in play(every, steps) if is_heard(step)]
    heard = [step for step in steps if is_heard(step)]
    assert kept == [limit for _, _, limit, _ in play(alone, heard)]
    assert every.receivers == alone.receivers


@given(st.integers(0, TERM), st.integers(0, 2**31 - 1), st.integers(1, 2**31 - 1))
def test_a_retransmission_stays_in_the_term(offset, length, multiple):
    flow = MaxFlowControl(TERM, retransmit_window_multiple=multiple)
    granted = flow.retransmit_length(offset, length)
    assert 0 <= granted <= length
    assert offset + granted <= TERM
    assert granted <= TERM // 2 * multiple
