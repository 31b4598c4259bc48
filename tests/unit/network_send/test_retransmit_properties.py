"""Whatever receivers ask for, the answers stay inside the term, the pool and the budget."""

from collections import deque

from hypothesis import given, settings
from hypothesis import strategies as st
from lone_handler import LoneHandler

from aerolog.transport.driver.flow_control.flow_control import MaxFlowControl
from aerolog.transport.driver.send.retransmit_handler import (
    RETRANSMIT_INVALID,
    RETRANSMIT_LATER,
    RETRANSMIT_NO_SLOT,
    RETRANSMIT_NOTHING,
    RETRANSMIT_NOW,
    RETRANSMIT_OVER_BUDGET,
)
from aerolog.transport.driver.send.send_endpoint import RESEND_FLOOR, SHARED_PERIOD_NS

TERM = 64 * 1024
INT32 = st.integers(-(2**31), 2**31 - 1)
offsets = st.one_of(st.integers(0, TERM // 32 - 1).map(lambda frame: frame * 32), INT32)
lengths = st.one_of(st.integers(1, 8192), st.just(TERM), INT32)
naks = st.tuples(st.integers(-9, 9), offsets, lengths, st.integers(0, 4_000_000))
handlers = st.builds(
    LoneHandler,
    st.just(TERM),
    is_group=st.booleans(),
    max_resend=st.integers(1, 8),
    delay_ns=st.sampled_from([0, 1, 3_000_000]),
    linger_ns=st.sampled_from([0, 1, 10_000_000]),
)


@settings(deadline=None)
@given(handlers, st.integers(1, 16), st.lists(naks, max_size=80))
def test_answers_are_bounded(handler, multiple, naks):
    flow = MaxFlowControl(TERM, retransmit_window_multiple=multiple)
    longest = flow.retransmit_length(0, TERM)
    granted: deque[tuple[int, int]] = deque()
    now = 0
    for term_id, offset, length, passed in naks:
        now += passed
        due = handler.due(now)
        assert len(due) <= handler.max_resend
        answer, resend = handler.ask(flow, term_id, offset, length, now)
        assert (resend is not None) == (answer == RETRANSMIT_NOW)
        assert 0 <= handler.active <= handler.max_resend
        for again_id, again_offset, again_length in [*due, *([resend] if resend else [])]:
            assert -9 <= again_id <= 9
            assert 0 <= again_offset <= TERM - 32
            assert 0 < again_length <= min(longest, TERM - again_offset)
        if answer in {RETRANSMIT_NOW, RETRANSMIT_LATER}:
            granted.append((now, flow.retransmit_length(offset, length)))
        # Two periods of the budget may touch in any window of its length.
        while granted and granted[0][0] <= now - SHARED_PERIOD_NS:
            granted.popleft()
        assert sum(size for _, size in granted) <= 2 * max(longest, RESEND_FLOOR)


class Model:
    """The rules of the specification over plain lists, without the budget."""

    def __init__(self, handler, flow):
        self.handler, self.flow = handler, flow
        self.slots = []  # (term id, offset, length, expiry, is delayed)

    def due(self, now):
        kept, again = [], []
        for slot in self.slots:
            term_id, offset, length, expiry, is_delayed = slot
            if expiry >= now:
                kept.append(slot)
            elif is_delayed:
                again.append((term_id, offset, length))
                kept.append((term_id, offset, length, now + self.handler.linger_ns, False))
        self.slots = kept
        return again

    def nak(self, term_id, offset, length, now):
        if offset < 0 or offset > TERM - 32 or length < 0:
            return RETRANSMIT_INVALID
        if length == 0:
            return RETRANSMIT_NOTHING
        for seen_id, seen, seen_length, _, _ in self.slots:
            if seen_id == term_id and seen <= offset < seen + seen_length:
                return RETRANSMIT_NOTHING
        if not self.handler.is_group:
            self.slots = []
        elif len(self.slots) == self.handler.max_resend:
            return RETRANSMIT_NO_SLOT
        granted = self.flow.retransmit_length(offset, length)
        delay = self.handler.delay_ns
        wait = delay or self.handler.linger_ns
        self.slots.append((term_id, offset, granted, now + wait, delay > 0))
        return RETRANSMIT_LATER if delay else RETRANSMIT_NOW


@settings(deadline=None)
@given(handlers, st.lists(naks, max_size=80))
def test_below_the_budget_the_specification_is_followed(handler, naks):
    flow = MaxFlowControl(TERM, retransmit_window_multiple=16)
    model = Model(handler, flow)
    now = 0
    for term_id, offset, length, passed in naks:
        now += passed
        assert sorted(handler.due(now)) == sorted(model.due(now))
        before = list(model.slots)
        expected = model.nak(term_id, offset, length, now)
        answer, _ = handler.ask(flow, term_id, offset, length, now)
        if answer == RETRANSMIT_OVER_BUDGET:
            assert expected in {RETRANSMIT_NOW, RETRANSMIT_LATER}
            model.slots = before
        else:
            assert answer == expected
        assert handler.active == len(model.slots)
