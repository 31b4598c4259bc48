"""The ``fc`` parameter: strategy and options of flow control (spec wire-protocol 6)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.transport.config.values import (
    ASCII_NUMBER_FORMAT,
    INT32_MAX,
    INT64_MAX,
    INT64_MIN,
    parse_duration_ns,
)
from aerolog.transport.driver import network_properties, properties
from aerolog.transport.driver.command_error import ILLEGAL_ARGUMENT, generic
from aerolog.transport.driver.network.params import flow_control_group_tag
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.uri import keys

if TYPE_CHECKING:
    from aerolog.transport.config.definition import Property
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.network.udp_channel import UdpChannel

MAX: Final = "max"
MIN: Final = "min"
TAGGED: Final = "tagged"
STRATEGIES: Final = (MAX, MIN, TAGGED)

_DIGITS: Final = re.compile(r"-?[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowControlOptions:
    """What flow control a publication has.

    Attributes:
        strategy: ``max``, ``min`` or ``tagged``; unicast is always ``max``.
        receiver_timeout_ns: for min and tagged: a silent receiver is dropped after so long.
        group_tag: that tagged asks for.
        group_min_size: for min and tagged: receivers that are needed to be connected.
        retransmit_window_multiple: longest retransmission in receiver windows.
    """

    strategy: str
    receiver_timeout_ns: int
    group_tag: int
    group_min_size: int
    retransmit_window_multiple: int


def flow_control_options(channel: UdpChannel, settings: Settings) -> FlowControlOptions:
    """Read ``fc``, or what is configured when a channel has none (channel-uri 13, check 23).

    Raises:
        CommandError: a strategy that the channel cannot have.
        ConfigurationError: an option whose number or duration does not parse.
    """
    text = channel.uri.get(keys.FC)
    is_group = channel.has_group_semantics
    if text is None:
        strategy = _configured(settings, is_group=is_group)
        options: dict[str, str] = {}
    else:
        strategy, *parts = text.split(",")
        if not is_group:
            raise generic(ILLEGAL_ARGUMENT, f"unsupported unicast flow control strategy: fc={text}")
        if strategy not in STRATEGIES:
            raise generic(
                ILLEGAL_ARGUMENT, f"unsupported multicast flow control strategy: fc={text}"
            )
        # Unknown options are ignored, as in the reference.
        options = {key: value for key, _, value in (part.partition(":") for part in parts)}
    tag = flow_control_group_tag(settings)
    min_size = settings[properties.FLOW_CONTROL_GROUP_MIN_SIZE]
    if "g" in options and strategy != MAX:
        tag_text, slash, size_text = options["g"].partition("/")
        if tag_text and strategy == TAGGED:
            tag = _number(tag_text, "long", INT64_MIN, INT64_MAX)
        if slash:
            min_size = _number(size_text, "int", 0, INT32_MAX)
    timeout_ns = settings[properties.FLOW_CONTROL_RECEIVER_TIMEOUT]
    if "t" in options and strategy != MAX:
        timeout_ns = parse_duration_ns("fc receiver timeout", options["t"])
    return FlowControlOptions(
        strategy=strategy,
        receiver_timeout_ns=timeout_ns,
        group_tag=tag,
        group_min_size=min_size,
        retransmit_window_multiple=_retransmit_windows(
            options, settings[_default_windows(is_group=is_group)]
        ),
    )


def _configured(settings: Settings, *, is_group: bool) -> str:
    if not is_group:
        return MAX
    chosen = settings[properties.MULTICAST_FLOWCONTROL_SUPPLIER]
    if chosen == "default":
        chosen = settings[network_properties.MULTICAST_FLOW_CONTROL_STRATEGY]
    return chosen.removeprefix("multicast_")


def _default_windows(*, is_group: bool) -> Property[int]:
    if is_group:
        return properties.MULTICAST_FLOW_CONTROL_RRWM
    return properties.UNICAST_FLOW_CONTROL_RRWM


def _retransmit_windows(options: dict[str, str], default: int) -> int:
    if "rrwm" not in options:
        return default
    windows = _number(options["rrwm"], "int", -INT32_MAX, INT32_MAX)
    if windows <= 0:
        raise generic(ILLEGAL_ARGUMENT, f"fc: rrwm={windows} must be greater than 0")
    return windows


def _number(text: str, kind: str, low: int, high: int) -> int:
    if _DIGITS.fullmatch(text) is not None and len(text.lstrip("-").lstrip("0")) <= 19:
        value = int(text)
        if low <= value <= high:
            return value
    reason = f"error parsing {kind}: {text}"
    raise ConfigurationError(
        f"fc: {reason}", reference_type=ASCII_NUMBER_FORMAT, reference_message=reason
    )
