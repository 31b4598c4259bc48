"""Strategies on numbers and times alone; the numbers are those seen on the wire.

Spec wire-protocol 6, 18.7.
"""

import pytest

from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.driver.flow_control.flow_control import (
    MAX_RECEIVERS,
    FlowControl,
    MaxFlowControl,
    MinFlowControl,
    PythonFlowControl,
    TaggedFlowControl,
)
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.counters import CountersManager
from aerolog.transport.memory.mapped_file import MappedFile

TERM = 64 * 1024
SECOND = 1_000_000_000
EOS = 0x40
A, B, C = 11, -22, 33


def tag(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


def make_min(**options) -> MinFlowControl:
    return MinFlowControl(TERM, receiver_timeout_ns=SECOND, **options)


def make_tagged(**options) -> TaggedFlowControl:
    return TaggedFlowControl(TERM, receiver_timeout_ns=SECOND, **options)


def test_max_follows_the_fastest_receiver_and_never_goes_back():
    flow = MaxFlowControl(TERM)
    limit = flow.status_message(A, 1000, 4096, 0, 0)
    assert limit == 5096
    assert flow.status_message(B, 500, 2048, limit, 0) == 5096
    assert flow.status_message(A, 2000, 4096, limit, 0, EOS) == 6096
    assert flow.idle(6096, 100 * SECOND) == 6096
    assert flow.setup(6096, 100 * SECOND) == 6096
    assert flow.required_receivers_present
    assert flow.receivers == 0


def test_the_base_never_moves_the_limit():
    flow = FlowControl(TERM)
    assert flow.status_message(A, 1000, 4096, 7, 0) == 7
    assert flow.idle(7, 0) == 7


def test_one_receiver_may_take_window_back_at_idle():
    flow = make_min()
    limits = []
    limit = 0
    for now, window in enumerate((8192, 1024, 4096)):
        limit = flow.status_message(A, 0, window, limit, now)
        limit = flow.idle(limit, now)
        limits.append(limit)
    assert limits == [8192, 1024, 4096]


def test_a_status_message_does_not_lower_the_limit():
    flow = make_min()
    limit = flow.status_message(A, 0, 8192, 0, 0)
    assert flow.status_message(A, 0, 1024, limit, 0) == 8192


def test_a_group_of_two_connects_with_the_second_and_ends_with_its_silence():
    flow = make_min(group_min_size=2)
    ms = SECOND // 1000
    limit = flow.idle(flow.status_message(A, 0, 4096, 0, 600 * ms), 601 * ms)
    assert (limit, flow.receivers, flow.required_receivers_present) == (0, 1, False)
    limit = flow.status_message(B, 0, 2048, limit, 760 * ms)
    assert (limit, flow.receivers, flow.required_receivers_present) == (2048, 2, True)
    limit = flow.status_message(A, 0, 8192, limit, 920 * ms)
    limit = flow.idle(flow.status_message(B, 0, 4096, limit, 920 * ms), 921 * ms)
    assert limit == 4096
    limit = flow.status_message(A, 0, 8192, limit, 1800 * ms)
    assert flow.idle(limit, 1920 * ms) == 4096
    assert flow.receivers == 2, "a second has passed, but not more"
    limit = flow.idle(limit, 2020 * ms)
    assert (limit, flow.receivers, flow.required_receivers_present) == (4096, 1, False)
    assert flow.idle(limit, 5 * SECOND) == 4096
    assert flow.receivers == 0


def test_without_a_group_size_the_rest_goes_on_when_one_falls_silent():
    flow = make_min()
    limit = flow.status_message(A, 0, 4096, 0, 0)
    limit = flow.status_message(B, 0, 4096, limit, 0)
    limit = flow.status_message(A, 8192, 4096, limit, SECOND)
    assert limit == 4096
    assert flow.idle(limit, SECOND + 1) == 12288
    assert flow.receivers == 1


def test_a_receiver_that_leaves_counts_until_the_next_idle():
    flow = make_min()
    limit = flow.status_message(A, 0, 4096, 0, 0)
    limit = flow.status_message(B, 0, 8192, limit, 0)
    limit = flow.status_message(A, 4000, 4096, limit, 0, EOS)
    assert (limit, flow.receivers) == (8096, 2)
    assert flow.idle(limit, 0) == 8192
    assert flow.receivers == 1


def test_a_stranger_that_leaves_is_not_let_in():
    flow = make_min()
    assert flow.status_message(A, 0, 4096, 0, 0, EOS) == 4096
    assert flow.receivers == 0


def test_a_newcomer_too_far_behind_is_not_let_in():
    flow = make_min()
    limit = flow.status_message(A, 100_000, 4096, 0, 0)
    assert flow.status_message(B, 95_903, 4096, limit, 0) == limit
    assert flow.receivers == 1
    assert flow.status_message(C, 95_904, 4096, limit, 0) == limit
    assert flow.receivers == 2
    assert flow.idle(limit, 0) == 100_000


def test_positions_of_a_receiver_are_its_own():
    flow = make_min()
    limit = flow.status_message(A, 0, 4096, 0, 0)
    limit = flow.status_message(B, 0, 4096, limit, 0)
    assert flow.status_message(A, 4096, 4096, limit, 0) == 4096
    assert flow.status_message(B, 1024, 4096, limit, 0) == 5120


def test_a_receiver_that_joins_holds_the_limit_until_its_first_message():
    flow = make_min()
    limit = flow.status_message(A, 0, 4096, 0, 0)
    flow.trigger_send_setup(B, 10)
    assert flow.setup(limit, 20) == 4096
    assert flow.status_message(A, 4096, 8192, limit, 30) == 4096
    assert flow.idle(limit, 30) == 4096
    limit = flow.status_message(B, 4096, 4096, limit, 40)
    assert (limit, flow.receivers) == (4096, 2)
    assert flow.status_message(B, 4096, 4096, limit, 50) == 8192


def test_a_receiver_that_asked_and_never_came_holds_the_limit_for_the_timeout():
    flow = make_min()
    limit = flow.status_message(A, 0, 4096, 0, 0)
    flow.trigger_send_setup(B, 0)
    flow.setup(limit, 0)
    assert flow.status_message(A, 4096, 8192, limit, SECOND) == 4096
    assert flow.status_message(A, 4096, 8192, limit, SECOND + 1) == 12288


def test_a_setup_that_nobody_asked_for_holds_nothing():
    flow = make_min()
    limit = flow.status_message(A, 0, 4096, 0, 0)
    flow.setup(limit, 0)
    assert flow.status_message(A, 4096, 8192, limit, 0) == 12288


def test_a_setup_before_any_receiver_holds_nothing():
    flow = make_min()
    flow.trigger_send_setup(A, 0)
    flow.setup(0, 0)
    limit = flow.status_message(A, 0, 4096, 0, 0)
    flow.setup(limit, 0)
    assert flow.status_message(A, 4096, 4096, limit, 0) == 8192


def test_a_receiver_that_reports_an_error_is_gone_at_idle():
    flow = make_min(group_min_size=1)
    limit = flow.status_message(A, 0, 4096, 0, 0)
    flow.receiver_error(B, 0)
    assert flow.idle(limit, 0) == 4096
    assert flow.receivers == 1
    flow.receiver_error(A, 0)
    assert flow.required_receivers_present
    assert flow.idle(limit, 0) == 4096
    assert not flow.required_receivers_present


def test_strangers_drive_a_tagged_stream_until_a_tagged_receiver_comes():
    flow = make_tagged(group_tag=258)
    limit = flow.idle(flow.status_message(A, 0, 8192, 0, 0), 0)
    assert (limit, flow.receivers) == (8192, 0)
    limit = flow.idle(flow.status_message(B, 0, 2048, limit, 0, 0, tag(258)), 0)
    assert (limit, flow.receivers) == (2048, 1)
    limit = flow.idle(flow.status_message(A, 0, 16384, limit, 0), 0)
    assert (limit, flow.receivers) == (2048, 1)


def test_with_a_group_size_strangers_move_nothing():
    flow = make_tagged(group_tag=258, group_min_size=1)
    assert flow.status_message(A, 0, 8192, 0, 0) == 0
    assert not flow.required_receivers_present
    assert flow.status_message(B, 0, 2048, 0, 0, 0, tag(258)) == 2048
    assert flow.required_receivers_present


@pytest.mark.parametrize(
    ("extension", "matches"),
    [
        (b"", False),
        (b"\xff" * 3, False),
        (b"\xff" * 4, True),
        (b"\xff" * 5, True),
        (b"\xff" * 4 + b"\0" * 3, True),
        (b"\xff" * 4 + b"\0" * 4, False),
        (b"\xff" * 8, False),
        (b"\xff" * 12, True),
        (b"\0\xff\xff\xff", False),
        (tag(258), True),
        (tag(259), False),
        (tag(258) + b"\0", False),
    ],
)
def test_a_tag_is_eight_bytes_or_the_short_form_of_old(extension, matches):
    flow = make_tagged(group_tag=258)
    flow.status_message(A, 0, 8192, 0, 0, 0, extension)
    assert flow.receivers == matches


def test_only_a_tagged_request_for_setup_holds_the_limit():
    flow = make_tagged(group_tag=5)
    limit = flow.status_message(A, 0, 4096, 0, 0, 0, tag(5))
    flow.trigger_send_setup(B, 0, tag(6))
    flow.setup(limit, 0)
    limit = flow.status_message(A, 4096, 4096, limit, 0, 0, tag(5))
    assert limit == 8192
    flow.trigger_send_setup(B, 0, tag(5))
    flow.trigger_send_setup(C, 0, tag(6))
    flow.setup(limit, 0)
    assert flow.status_message(A, 8192, 4096, limit, 0, 0, tag(5)) == 8192


@pytest.mark.parametrize(("group_tag", "left"), [(5, 0), (6, 1), (None, 1)])
def test_a_tagged_stream_believes_errors_with_its_tag(group_tag, left):
    flow = make_tagged(group_tag=5)
    flow.status_message(A, 0, 4096, 0, 0, 0, tag(5))
    flow.receiver_error(A, 0, group_tag)
    flow.idle(4096, 0)
    assert flow.receivers == left


def test_the_receivers_are_counted_where_others_see_it():
    mapped = MappedFile.anonymous(5 * 4096)
    counters = CountersManager(mapped, 0, 4 * 4096, 4 * 4096, 4096, SystemClock())
    counter_id = counters.allocate(CounterType.FLOW_CONTROL_RECEIVERS, "fc-receivers")
    flow = make_min()
    flow.status_message(A, 0, 4096, 0, 0)
    flow.bind_counter(counters, counter_id)
    assert counters.counter_value(counter_id) == 1
    flow.status_message(B, 0, 4096, 4096, SECOND)
    assert counters.counter_value(counter_id) == 2
    flow.idle(4096, SECOND + 1)
    assert counters.counter_value(counter_id) == 1
    with pytest.raises(ConfigurationError):
        flow.bind_counter(counters, 1 << 20)


def test_forged_receivers_cost_a_bounded_amount():
    flow = make_min()
    for receiver_id in range(2 * MAX_RECEIVERS):
        flow.status_message(receiver_id, 0, 4096, 0, 0)
    assert flow.receivers == MAX_RECEIVERS
    assert flow.idle(4096, 2 * SECOND) == 4096
    assert flow.receivers == 0
    assert flow.status_message(A, 0, 4096, 0, 2 * SECOND) == 4096
    assert flow.receivers == 1


@pytest.mark.parametrize("window", [-(2**31), -1, 0, 2**31 - 1])
def test_any_window_is_only_a_number(window):
    flow = make_min()
    assert flow.status_message(A, 0, window, 0, 0) == max(0, window)
    assert flow.status_message(B, 2**62, window, 0, 0) >= 0
    assert flow.receivers <= 2


@pytest.mark.parametrize(
    ("term_length", "multiple", "offset", "length", "expected"),
    [
        (TERM, 16, 0, 65536, 65536),
        (TERM, 16, 65504, 65536, 32),
        (TERM, 16, 65536, 10, 0),
        (TERM, 1, 0, 65536, 32768),
        (1 << 24, 4, 0, 1 << 24, 512 * 1024),
        (1 << 24, 16, 0, 2**31 - 1, 2 * 1024 * 1024),
        (1 << 24, 16, 0, 320, 320),
        (1 << 30, 2**31 - 1, 0, 2**31 - 1, 1 << 30),
    ],
)
def test_a_retransmission_is_as_long_as_windows_and_term_allow(
    term_length, multiple, offset, length, expected
):
    flow = MaxFlowControl(term_length, retransmit_window_multiple=multiple)
    assert flow.retransmit_length(offset, length) == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda: MaxFlowControl(1024),
        lambda: MaxFlowControl(TERM, retransmit_window_multiple=0),
        lambda: MinFlowControl(TERM, receiver_timeout_ns=-1),
        lambda: MinFlowControl(TERM, group_min_size=1 << 31),
        lambda: TaggedFlowControl(TERM, group_tag=1 << 63),
        lambda: MaxFlowControl(TERM).retransmit_length(-1, 32),
    ],
)
def test_arguments_out_of_range_are_refused(make):
    with pytest.raises(ConfigurationError):
        make()


class Recorder(PythonFlowControl):
    """Notes what it is told, and answers one less than the base would."""

    def __init__(self, term_length: int) -> None:
        super().__init__(term_length)
        self.told: list[object] = []

    def status_message(self, *told: object) -> int:
        self.told.append(told)
        return super().status_message(*told) - 1

    def idle(self, limit: int, now_ns: int) -> int:
        self.told.append((limit, now_ns))
        return limit - 1

    def setup(self, limit: int, now_ns: int) -> int:
        self.told.append((limit, now_ns))
        return limit + 1

    def trigger_send_setup(self, *told: object) -> None:
        self.told.append(told)

    def receiver_error(self, *told: object) -> None:
        self.told.append(told)


def test_a_strategy_in_python_is_asked_by_the_native_side():
    flow = Recorder(TERM)
    assert FlowControl.status_message(flow, A, 100, 50, 0, 7, EOS, tag(9)) == 149
    assert FlowControl.idle(flow, 149, 8) == 148
    assert FlowControl.setup(flow, 148, 9) == 149
    FlowControl.trigger_send_setup(flow, B, 10, b"abc")
    FlowControl.receiver_error(flow, C, 11, 5)
    FlowControl.receiver_error(flow, C, 12)
    assert flow.told == [
        (A, 100, 50, 0, 7, EOS, tag(9)),
        (149, 8),
        (148, 9),
        (B, 10, b"abc"),
        (C, 11, 5),
        (C, 12, None),
    ]
    assert flow.take_error() is None
    assert FlowControl.retransmit_length(flow, 0, 100) == 100


def test_a_plain_strategy_in_python_is_max():
    flow = PythonFlowControl(TERM)
    assert FlowControl.status_message(flow, A, 100, 50, 0, 7) == 150
    assert FlowControl.idle(flow, 150, 8) == 150
    assert FlowControl.setup(flow, 150, 8) == 150


class Broken(PythonFlowControl):
    """Fails in every way."""

    def status_message(self, *told: object) -> int:
        raise KeyError(told)

    def idle(self, limit: int, now_ns: int) -> int:
        return "much"  # type: ignore[return-value]

    def setup(self, limit: int, now_ns: int) -> int:
        return 1 << 63

    def receiver_error(self, *told: object) -> None:
        raise LookupError(told)


def test_what_goes_wrong_in_python_is_kept_and_moves_nothing():
    flow = Broken(TERM)
    assert FlowControl.status_message(flow, A, 100, 50, 42, 7) == 42
    assert FlowControl.idle(flow, 42, 8) == 42
    assert isinstance(flow.take_error(), KeyError), "the first is kept"
    assert FlowControl.idle(flow, 42, 8) == 42
    assert isinstance(flow.take_error(), TypeError)
    assert FlowControl.setup(flow, 42, 8) == 42
    assert isinstance(flow.take_error(), OverflowError)
    FlowControl.receiver_error(flow, A, 8)
    assert isinstance(flow.take_error(), LookupError)
    assert flow.take_error() is None


def test_a_strategy_in_python_says_when_it_is_connected():
    flow = PythonFlowControl(TERM)
    assert (flow.receivers, flow.required_receivers_present) == (0, True)
    flow.receivers = 3
    flow.required_receivers_present = False
    assert FlowControl.receivers.__get__(flow) == 3
    assert FlowControl.required_receivers_present.__get__(flow) is False
    with pytest.raises(ConfigurationError):
        flow.receivers = -1
