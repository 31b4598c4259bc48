"""The fc parameter and its options."""

import pytest

from aerolog.transport.config.sources import Properties
from aerolog.transport.driver.command_error import answer_to
from aerolog.transport.driver.network.flow_control_options import (
    FlowControlOptions,
    flow_control_options,
)
from aerolog.transport.driver.properties import driver_settings
from aerolog.transport.errors import ConfigurationError, ControlProtocolError

S = 1_000_000_000
GROUP = "aeron:udp?endpoint=224.1.1.1:5"
DEFAULTS = {
    "strategy": "max",
    "receiver_timeout_ns": 5 * S,
    "group_tag": -1,
    "group_min_size": 0,
    "retransmit_window_multiple": 4,
}


def options(channels, uri, **keywords):
    return flow_control_options(channels.resolve(uri), driver_settings(Properties(), keywords))


@pytest.mark.parametrize(
    ("fc", "expected"),
    [
        ("max", {}),
        ("min", {"strategy": "min"}),
        ("tagged", {"strategy": "tagged"}),
        ("min,t:10s", {"strategy": "min", "receiver_timeout_ns": 10 * S}),
        ("min,g:/2", {"strategy": "min", "group_min_size": 2}),
        ("min,g:123/2", {"strategy": "min", "group_min_size": 2}),
        ("min,g:abc", {"strategy": "min"}),
        ("tagged,g:123", {"strategy": "tagged", "group_tag": 123}),
        ("tagged,g:-5/7", {"strategy": "tagged", "group_tag": -5, "group_min_size": 7}),
        ("tagged,g:/7", {"strategy": "tagged", "group_min_size": 7}),
        ("max,g:abc/x,t:x,rrwm:9", {"retransmit_window_multiple": 9}),
        ("min,x:1,y", {"strategy": "min"}),
    ],
)
def test_options_are_read(channels, fc, expected):
    assert options(channels, f"{GROUP}|fc={fc}") == FlowControlOptions(**DEFAULTS | expected)


@pytest.mark.parametrize(
    ("fc", "reason"),
    [
        ("", "unsupported multicast flow control strategy: fc="),
        ("Max", "unsupported multicast flow control strategy: fc=Max"),
        ("pref,t:1s", "unsupported multicast flow control strategy: fc=pref,t:1s"),
        ("tagged,g:abc", "error parsing long: abc"),
        ("tagged,g:9223372036854775808", "error parsing long: 9223372036854775808"),
        ("min,g:/", "error parsing int: "),
        ("min,g:/-1", "error parsing int: -1"),
        ("min,t:1h", "should end with"),
        ("max,rrwm:0", "rrwm=0 must be greater than 0"),
        ("max,rrwm:2147483648", "error parsing int"),
    ],
)
def test_what_is_no_flow_control_is_refused(channels, fc, reason):
    with pytest.raises((ControlProtocolError, ConfigurationError), match=reason) as refused:
        options(channels, f"{GROUP}|fc={fc}")

    assert answer_to(refused.value)[0].name == "GENERIC_ERROR"


@pytest.mark.parametrize("fc", ["max", "min", "max,rrwm:3", ""])
def test_unicast_takes_no_flow_control_at_all(channels, fc):
    with pytest.raises(ControlProtocolError, match="unsupported unicast flow control strategy"):
        options(channels, f"aeron:udp?endpoint=localhost:1|fc={fc}")


@pytest.mark.parametrize("mode", ["manual", "dynamic"])
def test_multi_destination_is_a_group(channels, mode):
    uri = f"aeron:udp?control=localhost:1|control-mode={mode}|fc=min"

    assert options(channels, uri).strategy == "min"


@pytest.mark.parametrize(
    ("supplier", "strategy", "expected"),
    [
        (None, None, "max"),
        ("multicast_min", None, "min"),
        ("io.aeron.driver.TaggedMulticastFlowControlSupplier", None, "tagged"),
        (None, "io.aeron.driver.MinMulticastFlowControl", "min"),
        (
            "io.aeron.driver.DefaultMulticastFlowControlSupplier",
            "io.aeron.driver.TaggedMulticastFlowControl",
            "tagged",
        ),
        ("multicast_max", "io.aeron.driver.MinMulticastFlowControl", "max"),
    ],
)
def test_without_fc_the_configured_strategy_is_used(channels, supplier, strategy, expected):
    found = options(
        channels,
        GROUP,
        multicast_flowcontrol_supplier=supplier,
        multicast_flow_control_strategy=strategy,
    )

    assert found.strategy == expected


def test_unicast_has_its_own_limit_of_retransmissions(channels):
    found = options(channels, "aeron:udp?endpoint=localhost:1", unicast_flow_control_rrwm=3)

    assert (found.strategy, found.retransmit_window_multiple) == ("max", 3)
