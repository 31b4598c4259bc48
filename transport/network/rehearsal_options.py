"""Rehearsals in the text of properties: the reference's loss interceptors and aerolog's own form.

Both forms are ``key=value`` pairs separated by bars, as in a channel. A text is parsed once for
each endpoint and direction, because the resulting rules have state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from aerolog.transport.config.values import parse_duration_ns
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.network.drop_rules import DropRule, FixedLoss, MultiGapLoss, RandomLoss
from aerolog.transport.network.rehearsal import Disturbance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

INTERCEPTOR_LIMIT: Final = 10
_Value = TypeVar("_Value", int, float)


def interceptor_rule(names: str, arguments: Mapping[str, str]) -> DropRule | None:
    """Return the rule for a list of the reference's incoming interceptors (spec configuration 8).

    Args:
        names: at most 10 of ``loss``, ``fixed-loss`` and ``multi-gap-loss``, separated by commas.
        arguments: the argument text of each name.

    Returns:
        The first rule, followed by the others, or None for an empty list.

    Raises:
        ConfigurationError: if a name is unknown, or its arguments are missing or do not parse.
    """
    first: DropRule | None = None
    for name in [part.strip() for part in names.split(",") if part.strip()][:INTERCEPTOR_LIMIT]:
        make = _INTERCEPTORS.get(name)
        if make is None:
            raise ConfigurationError(f"unknown interceptor {name}: use {', '.join(_INTERCEPTORS)}")
        rule = make(_pairs(name, arguments.get(name, "")))
        if first is None:
            first = rule
        else:
            first.then(rule)
    return first


def parse_rehearsal(text: str, *, also: DropRule | None = None) -> Disturbance:
    """Parse a disturbance in aerolog's own form.

    Keys: ``rate``, ``seed``, ``burst``, ``types`` (hex mask of frame types), ``stream-id`` and
    ``session-id`` say what is lost; ``duplicate`` and ``reorder`` are chances; ``reorder-time``,
    ``delay`` and ``jitter`` are durations.

    Args:
        text: ``key=value`` pairs separated by bars.
        also: a further rule for datagrams to lose.

    Raises:
        ConfigurationError: if a key is unknown, or a value cannot be used.
    """
    pairs = _pairs("rehearsal", text)
    unknown = pairs.keys() - _REHEARSAL_KEYS
    if unknown:
        raise ConfigurationError(f"unknown keys of a rehearsal: {', '.join(sorted(unknown))}")
    seed = _number(pairs, "seed", int, 0)
    rule = also
    if "rate" in pairs:
        rule = RandomLoss(
            _number(pairs, "rate", float, 0.0),
            seed,
            burst=_number(pairs, "burst", int, 1),
            types=_number(pairs, "types", _hex, 0) if "types" in pairs else None,
            stream_id=_number(pairs, "stream-id", int, 0) if "stream-id" in pairs else None,
            session_id=_number(pairs, "session-id", int, 0) if "session-id" in pairs else None,
        )
        if also is not None:
            rule.then(also)
    return Disturbance(
        rule,
        seed,
        duplicate=_number(pairs, "duplicate", float, 0.0),
        reorder=_number(pairs, "reorder", float, 0.0),
        reorder_ns=parse_duration_ns("reorder-time", pairs.get("reorder-time", "1ms")),
        delay_ns=parse_duration_ns("delay", pairs.get("delay", "0")),
        jitter_ns=parse_duration_ns("jitter", pairs.get("jitter", "0")),
    )


def _pairs(name: str, text: str) -> dict[str, str]:
    pairs = {}
    for part in text.split("|") if text else []:
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise ConfigurationError(f"arguments of {name} are key=value with bars: {text}")
        pairs[key.strip()] = value.strip()
    return pairs


def _number(
    pairs: Mapping[str, str],
    key: str,
    read: Callable[[str], _Value],
    default: _Value | None = None,
) -> _Value:
    text = pairs.get(key)
    if text is None:
        if default is None:
            raise ConfigurationError(f"an interceptor's arguments lack {key}")
        return default
    try:
        return read(text)
    except ValueError as cause:
        raise ConfigurationError(f"{key} is not a number: {text}") from cause


def _hex(text: str) -> int:
    return int(text, 16)


def _loss(pairs: Mapping[str, str]) -> DropRule:
    return RandomLoss(
        _number(pairs, "rate", float, 0.0),
        _number(pairs, "seed", int, 0),
        types=_number(pairs, "recv-msg-mask", _hex, 0),
    )


def _fixed_loss(pairs: Mapping[str, str]) -> DropRule:
    term_id, offset, length = (
        _number(pairs, key, int) for key in ("term-id", "term-offset", "length")
    )
    return FixedLoss(term_id, offset, length)


def _multi_gap_loss(pairs: Mapping[str, str]) -> DropRule:
    term_id, radix, length, gaps = (
        _number(pairs, key, int) for key in ("term-id", "gap-radix", "gap-length", "total-gaps")
    )
    return MultiGapLoss(term_id, radix, length, gaps)


_INTERCEPTORS: Final[dict[str, Callable[[Mapping[str, str]], DropRule]]] = {
    "loss": _loss,
    "fixed-loss": _fixed_loss,
    "multi-gap-loss": _multi_gap_loss,
}
_REHEARSAL_KEYS: Final = {
    "rate",
    "seed",
    "burst",
    "types",
    "stream-id",
    "session-id",
    "duplicate",
    "reorder",
    "reorder-time",
    "delay",
    "jitter",
}
