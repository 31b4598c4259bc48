"""Chooses the flow control of a publication: from ``fc=``, the driver's defaults, plug-ins.

The forms of ``fc=`` and the texts of its errors are the reference's (spec wire-protocol 6,
spec channel-uri 6): an option belongs to a strategy, and a strategy ignores options that it does
not know.

A plug-in is an entry point of the group ``aerolog.flow_control``. Its name is the strategy's name
in ``fc=``; it loads to a callable that takes the parameters and the term length in bytes and
returns a ``FlowControl``: one of the built-in classes, a subclass of ``PythonFlowControl``, or a
native class that cimports ``flow_control.pxd``. It reads options of its own from ``options``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Final

from aerolog.transport.config.values import parse_duration_ns, parse_int32
from aerolog.transport.driver import properties
from aerolog.transport.driver.channels.network_params import flow_control_group_tag
from aerolog.transport.driver.flow_control.flow_control import (
    FlowControl,
    MaxFlowControl,
    MinFlowControl,
    TaggedFlowControl,
)
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from aerolog.transport.config.settings import Settings

ENTRY_POINT_GROUP: Final = properties.FLOW_CONTROL_PLUG_INS
MAX: Final = "max"
MIN: Final = "min"
TAGGED: Final = "tagged"

_BUILT_IN: Final = (MAX, MIN, TAGGED)
# The strategies of the default properties' values; other names are those of plug-ins.
_SUPPLIERS: Final = {
    "unicast_max": MAX,
    "multicast_max": MAX,
    "multicast_min": MIN,
    "multicast_tagged": TAGGED,
}
_ASCII_NUMBER_FORMAT: Final = "org.agrona.AsciiNumberFormatException"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowControlParams:
    """A strategy and its parameters.

    Attributes:
        strategy: ``max``, ``min``, ``tagged``, or the name of a plug-in.
        receiver_timeout_ns: a receiver that is silent for longer is forgotten.
        group_tag: the tag that receivers of a tagged stream must have.
        short_tag: the tag required of receivers that send one of another length than 8 bytes.
        group_min_size: the receivers that the publication needs to count as connected.
        retransmit_window_multiple: windows that one retransmission may be long.
        options: the options of ``fc=`` as they were written.
    """

    strategy: str
    receiver_timeout_ns: int
    group_tag: int
    short_tag: int
    group_min_size: int
    retransmit_window_multiple: int
    options: tuple[str, ...] = ()


def flow_control_params(fc: str | None, settings: Settings, *, is_group: bool) -> FlowControlParams:
    """Return the parameters from ``fc=`` and, where it gives none, the driver's defaults.

    Args:
        fc: the channel's value, None when it has none.
        settings: the driver's configuration.
        is_group: whether the channel is multicast or has several destinations.

    Raises:
        ConfigurationError: with the reference's text; ``fc`` on a plain unicast channel, an
            unknown strategy, or an option that does not parse.
    """
    multiple = (
        properties.MULTICAST_FLOW_CONTROL_RRWM if is_group else properties.UNICAST_FLOW_CONTROL_RRWM
    )
    params = FlowControlParams(
        strategy=_configured(settings, is_group=is_group),
        receiver_timeout_ns=settings[properties.FLOW_CONTROL_RECEIVER_TIMEOUT],
        group_tag=flow_control_group_tag(settings),
        short_tag=_short_tag(settings),
        group_min_size=settings[properties.FLOW_CONTROL_GROUP_MIN_SIZE],
        retransmit_window_multiple=settings[multiple],
    )
    if fc is None:
        return params
    if not is_group:
        raise ConfigurationError(f"unsupported unicast flow control strategy: fc={fc}")
    strategy, *options = fc.split(",")
    if strategy not in _BUILT_IN and strategy not in _plug_ins():
        raise ConfigurationError(f"unsupported multicast flow control strategy: fc={fc}")
    params = replace(params, strategy=strategy, options=tuple(options))
    for option in options:
        params = _with_option(params, option)
    return params


def create_flow_control(params: FlowControlParams, term_length: int) -> FlowControl:
    """Make the flow control strategy of one publication.

    Raises:
        ConfigurationError: an argument is out of range, or a plug-in cannot be loaded, fails, or
            returns something other than a ``FlowControl``.
    """
    multiple = params.retransmit_window_multiple
    if params.strategy == MAX:
        return MaxFlowControl(term_length, retransmit_window_multiple=multiple)
    if params.strategy == MIN:
        return MinFlowControl(
            term_length,
            receiver_timeout_ns=params.receiver_timeout_ns,
            group_min_size=params.group_min_size,
            retransmit_window_multiple=multiple,
        )
    if params.strategy == TAGGED:
        return TaggedFlowControl(
            term_length,
            group_tag=params.group_tag,
            short_tag=params.short_tag,
            receiver_timeout_ns=params.receiver_timeout_ns,
            group_min_size=params.group_min_size,
            retransmit_window_multiple=multiple,
        )
    return _from_plug_in(params, term_length)


def _from_plug_in(params: FlowControlParams, term_length: int) -> FlowControl:
    entry = _plug_ins().get(params.strategy)
    if entry is None:
        raise ConfigurationError(
            f"no flow control is called {params.strategy!r}: install what provides it in the "
            f"entry point group {ENTRY_POINT_GROUP}"
        )
    try:
        made = entry.load()(params, term_length)
    except ConfigurationError:
        raise
    except Exception as cause:
        raise ConfigurationError(
            f"flow control {entry.name!r} ({entry.value}) cannot be made: {cause!r}"
        ) from cause
    if not isinstance(made, FlowControl):
        raise ConfigurationError(
            f"flow control {entry.name!r} ({entry.value}) must make a FlowControl: {made!r}"
        )
    return made


def _configured(settings: Settings, *, is_group: bool) -> str:
    """Return the strategy of a channel that names none: the supplier's, else the default one's."""
    supplier, strategy = (
        (
            properties.MULTICAST_FLOWCONTROL_SUPPLIER,
            properties.MULTICAST_FLOW_CONTROL_STRATEGY,
        )
        if is_group
        else (
            properties.UNICAST_FLOWCONTROL_SUPPLIER,
            properties.UNICAST_FLOW_CONTROL_STRATEGY,
        )
    )
    chosen = settings[supplier]
    if chosen == "default":
        chosen = settings[strategy]
    return _SUPPLIERS.get(chosen, chosen)


def _short_tag(settings: Settings) -> int:
    """Return the first bytes of the older tag; a status message may hold no more of it."""
    former = settings[properties.PREFERRED_MULTICAST_FLOW_CONTROL_ASF]
    return int.from_bytes(former[:4], "little", signed=True)


@cache
def _plug_ins() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}


def _with_option(params: FlowControlParams, option: str) -> FlowControlParams:
    if option.startswith("rrwm:"):
        multiple = parse_int32("fc rrwm", option[5:])
        if multiple <= 0:
            raise ConfigurationError(f"Invalid retransmit receiver window multiple: {multiple}")
        return replace(params, retransmit_window_multiple=multiple)
    if params.strategy == MAX:
        return params
    if option.startswith("t:"):
        timeout_ns = parse_duration_ns("fc receiver timeout", option[2:])
        return replace(params, receiver_timeout_ns=timeout_ns)
    if option.startswith("g:"):
        return _with_group(params, option)
    return params


def _with_group(params: FlowControlParams, option: str) -> FlowControlParams:
    """Read ``g:<tag>``, ``g:<tag>/<n>`` or ``g:/<n>``; the minimum strategy ignores the tag."""
    tag, slash, size = option[2:].partition("/")
    if params.strategy != MIN and (tag or not slash):
        params = replace(params, group_tag=_parse_ascii(tag, "long", 64, 2))
    if slash:
        at = len("g:") + len(tag) + len(slash)
        params = replace(params, group_min_size=_parse_ascii(size, "int", 32, at))
    return params


def _parse_ascii(text: str, kind: str, bits: int, index: int) -> int:
    """Parse decimal digits with an optional minus in so many bits; they start at the index."""
    limit = 1 << (bits - 1)
    digits = text.removeprefix("-")
    if not text:
        reason = f"empty string: index={index} length=0"
    elif not (digits.isascii() and digits.isdigit()):
        reason = f"error parsing {kind}: {text}"
    else:
        # Python's int() raises for a very long digit string, so the length is checked first.
        value = int(text) if len(digits.lstrip("0")) <= 19 and len(digits) < 4096 else limit
        if -limit <= value < limit:
            return value
        reason = f"{kind} overflow parsing: {text}"
    raise ConfigurationError(
        f"fc group: {text!r} is not a signed {bits}-bit decimal number: {reason}",
        reference_type=_ASCII_NUMBER_FORMAT,
        reference_message=reason,
    )
