"""Requests for retransmission and what becomes of them (spec wire-protocol 7, 18.1)."""

import pytest
from lone_handler import LoneHandler

from aerolog.transport.driver.flow_control.flow_control import MaxFlowControl, PythonFlowControl
from aerolog.transport.driver.send.retransmit_handler import (
    MAX_RESEND_LIMIT,
    RETRANSMIT_INVALID,
    RETRANSMIT_LATER,
    RETRANSMIT_NO_SLOT,
    RETRANSMIT_NOTHING,
    RETRANSMIT_NOW,
    RETRANSMIT_OVER_BUDGET,
    is_resendable,
)
from aerolog.transport.driver.send.send_endpoint import RESEND_FLOOR, SHARED_PERIOD_NS
from aerolog.transport.errors import ConfigurationError

TERM = 64 * 1024
MS = 1_000_000
ID = -127691276
NOTHING = (RETRANSMIT_NOTHING, None)


@pytest.fixture
def flow() -> MaxFlowControl:
    return MaxFlowControl(TERM, retransmit_window_multiple=16)


def unicast(**options) -> LoneHandler:
    return LoneHandler(TERM, is_group=False, **options)


def group(**options) -> LoneHandler:
    return LoneHandler(TERM, is_group=True, **options)


def now(offset, length, term_id=ID):
    return RETRANSMIT_NOW, (term_id, offset, length)


def test_a_repeated_request_is_passed_over_while_it_lingers(flow):
    handler = unicast()
    assert handler.ask(flow, ID, 160, 320, 0) == now(160, 320)
    assert handler.due(5 * MS) == []
    assert handler.ask(flow, ID, 160, 320, 5 * MS) == NOTHING
    assert handler.due(50 * MS) == []
    assert handler.active == 0
    assert handler.ask(flow, ID, 160, 320, 50 * MS) == now(160, 320)


def test_lingering_ends_after_its_time_not_at_it(flow):
    handler = unicast(linger_ns=10 * MS)
    handler.ask(flow, ID, 160, 320, 0)
    handler.due(10 * MS)
    assert handler.active == 1
    handler.due(10 * MS + 1)
    assert handler.active == 0


def test_a_request_for_a_whole_term_is_granted_whole_on_unicast(flow):
    assert unicast().ask(flow, ID, 0, 65536, 0) == now(0, 65536)


@pytest.mark.parametrize(
    ("multiple", "offset", "length", "granted"),
    [(1, 0, 65536, 32768), (1, 65504, 1000, 32), (1, 32, 2**31 - 1, 32768), (4, 32, 64, 64)],
)
def test_a_request_is_cut_to_windows_and_term(multiple, offset, length, granted):
    flow = MaxFlowControl(TERM, retransmit_window_multiple=multiple)
    assert unicast().ask(flow, ID, offset, length, 0) == now(offset, granted)


@pytest.mark.parametrize(
    ("offset", "length"),
    [
        (65505, 32),
        (65536, 32),
        (2**31 - 1, 2**31 - 1),
        (-1, 32),
        (-(2**31), -(2**31)),
        (0, -1),
        (0, -(2**31)),
        (65536, 0),
    ],
)
@pytest.mark.parametrize("make", [unicast, group])
def test_impossible_requests_are_invalid_and_take_no_slot(make, offset, length, flow):
    handler = make()
    assert handler.ask(flow, ID, offset, length, 0) == (RETRANSMIT_INVALID, None)
    assert handler.active == 0


def test_a_gap_of_no_length_is_nothing(flow):
    handler = unicast()
    assert handler.ask(flow, ID, 0, 0, 0) == NOTHING
    assert handler.active == 0


def test_only_the_start_of_a_request_is_compared_with_what_is_seen_to(flow):
    handler = group()
    assert handler.ask(flow, ID, 1024, 1024, 0) == now(1024, 1024)
    assert handler.ask(flow, ID, 1024, 4096, 0) == NOTHING
    assert handler.ask(flow, ID, 2016, 4096, 0) == NOTHING
    assert handler.ask(flow, ID, 2048, 32, 0) == now(2048, 32)
    assert handler.ask(flow, ID, 992, 64, 0) == now(992, 64)
    assert handler.ask(flow, ID + 1, 1024, 1024, 0) == now(1024, 1024, ID + 1)
    assert handler.active == 4


def test_unicast_sees_to_the_newest_request_only(flow):
    handler = unicast(max_resend=16)
    assert handler.max_resend == 1
    assert handler.ask(flow, ID, 0, 32, 0) == now(0, 32)
    assert handler.ask(flow, ID, 1024, 32, 0) == now(1024, 32)
    assert handler.active == 1
    assert handler.ask(flow, ID, 1024, 32, 0) == NOTHING
    assert handler.ask(flow, ID, 0, 32, 0) == now(0, 32)


@pytest.mark.parametrize("max_resend", [1, 3, MAX_RESEND_LIMIT])
def test_a_group_has_so_many_slots_and_gets_them_back(max_resend, flow):
    handler = group(max_resend=max_resend)
    for slot in range(max_resend):
        assert handler.ask(flow, ID, 32 * slot, 32, 0) == now(32 * slot, 32)
    assert handler.ask(flow, ID, 32768, 32, 0) == (RETRANSMIT_NO_SLOT, None)
    assert handler.ask(flow, ID, 0, 32, 0) == NOTHING
    handler.due(10 * MS + 1)
    assert handler.active == 0
    assert handler.ask(flow, ID, 32768, 32, 11 * MS) == now(32768, 32)


def test_a_freed_slot_in_the_middle_is_used_again(flow):
    handler = group(max_resend=3)
    for slot in range(3):
        handler.ask(flow, ID, 32 * slot, 32, slot * MS)
    handler.due(11 * MS)
    assert handler.active == 2
    assert handler.ask(flow, ID, 4096, 32, 11 * MS) == now(4096, 32)
    assert handler.ask(flow, ID, 8192, 32, 11 * MS) == (RETRANSMIT_NO_SLOT, None)


def test_with_a_delay_the_answer_comes_after_it_and_lingers(flow):
    handler = group(delay_ns=2 * MS, linger_ns=10 * MS)
    assert handler.ask(flow, ID, 0, 64, 0) == (RETRANSMIT_LATER, None)
    assert handler.ask(flow, ID, 4096, 32, 1 * MS) == (RETRANSMIT_LATER, None)
    assert handler.ask(flow, ID, 0, 64, 1 * MS) == NOTHING
    assert handler.due(2 * MS) == []
    assert handler.due(2 * MS + 1) == [(ID, 0, 64)]
    assert handler.due(3 * MS + 1) == [(ID, 4096, 32)]
    assert handler.ask(flow, ID, 0, 64, 12 * MS) == NOTHING
    assert handler.due(12 * MS + 2) == []
    assert handler.active == 1
    assert handler.ask(flow, ID, 0, 64, 13 * MS) == (RETRANSMIT_LATER, None)


def test_delayed_requests_come_due_together(flow):
    handler = group(delay_ns=1)
    for slot in range(5):
        handler.ask(flow, ID, 64 * slot, 32, 0)
    assert handler.due(2) == [(ID, 64 * slot, 32) for slot in range(5)]
    assert handler.due(2) == []


def test_unicast_replaces_a_request_that_still_waits(flow):
    handler = unicast(delay_ns=MS)
    handler.ask(flow, ID, 0, 64, 0)
    handler.ask(flow, ID, 4096, 64, 0)
    assert handler.due(MS + 1) == [(ID, 4096, 64)]


def test_times_before_zero_are_times_too(flow):
    handler = unicast()
    assert handler.ask(flow, ID, 0, 32, -(10**18)) == now(0, 32)
    handler.due(11 * MS - 10**18)
    assert handler.active == 0


def test_requests_for_ever_other_terms_are_answered_within_a_budget(flow):
    handler = unicast()
    answers = [handler.ask(flow, i, 0, TERM, i * MS // 100)[0] for i in range(1000)]
    assert answers == [RETRANSMIT_NOW] * 64 + [RETRANSMIT_OVER_BUDGET] * 936
    assert RESEND_FLOOR == 64 * TERM
    assert handler.ask(flow, ID, 0, 32768, SHARED_PERIOD_NS) == now(0, 32768)


def test_the_longest_retransmission_is_always_within_the_budget():
    large = LoneHandler(1 << 24, is_group=False)
    flow = MaxFlowControl(1 << 24, retransmit_window_multiple=64)
    assert large.ask(flow, ID, 0, 1 << 24, 0) == now(0, 8 << 20)
    assert large.ask(flow, ID, 8 << 20, 32, 0) == (RETRANSMIT_OVER_BUDGET, None)


def test_what_is_over_the_budget_takes_no_slot(flow):
    handler = group(max_resend=128)
    for i in range(64):
        handler.ask(flow, i, 0, TERM, 0)
    assert handler.ask(flow, ID, 0, 32, 0) == (RETRANSMIT_OVER_BUDGET, None)
    assert handler.active == 64


@pytest.mark.parametrize(
    ("position", "served"),
    [
        (105664, False),
        (105632, True),
        (95104, True),
        (65536, True),
        (64704, True),
        (64672, False),
        (64416, False),
        (63360, False),
        (0, False),
    ],
)
def test_a_position_is_sent_again_while_the_stream_holds_it(position, served):
    """Seen on a 64 KiB term at sender position 105664."""
    assert is_resendable(position, 105664, TERM, TERM // 8) is served


@pytest.mark.parametrize(
    "make",
    [
        lambda: LoneHandler(1000, is_group=False),
        lambda: unicast(max_resend=0),
        lambda: group(max_resend=257),
        lambda: group(delay_ns=-1),
        lambda: group(linger_ns=-1),
        lambda: group(linger_ns=2**63 - 1),
        lambda: group().__init__(TERM, is_group=True),
    ],
)
def test_arguments_out_of_range_are_refused(make):
    with pytest.raises(ConfigurationError):
        make()


def test_there_must_be_a_flow_control():
    with pytest.raises(TypeError):
        group().ask(None, ID, 0, 32, 0)


def test_a_strategy_of_another_term_length_is_not_believed():
    wrong = PythonFlowControl(1 << 30)
    assert unicast().ask(wrong, ID, 65504, 2**31 - 1, 0) == now(65504, 32)
