"""Figures in words: bytes, durations, rates, counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.transport.time_units import NS_PER_MS, NS_PER_S, NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: So many of a kind are named; of the others there is the number.
_NAMED: Final = 5
_BINARY: Final = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_SPANS: Final = (
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", NS_PER_S),
    ("ms", NS_PER_MS),
    ("us", NS_PER_US),
)


def bytes_text(count: float) -> str:
    """Bytes in the greatest unit that leaves at least 1: ``1.5 MiB``."""
    for name, unit in _BINARY:
        if abs(count) >= unit:
            return f"{_short(count / unit)} {name}"
    return f"{_short(count)} bytes"


def span_text(span_ns: float) -> str:
    """A duration in nanoseconds in the greatest unit that leaves at least 1: ``2.5 s``."""
    for name, unit in _SPANS:
        if abs(span_ns) >= unit:
            return f"{_short(span_ns / unit)} {name}"
    return f"{_short(span_ns)} ns"


def millis_text(span_ms: float) -> str:
    """A duration in milliseconds, as span_text."""
    return span_text(span_ms * NS_PER_MS)


def rate_text(rate: float) -> str:
    """A rate in bytes a second, in words."""
    return f"{bytes_text(rate)}/s"


def count_text(count: float) -> str:
    """A number with groups of digits."""
    return f"{count:,}"


def percent(part: int, whole: int) -> int:
    """A part of a whole, percent, rounded down; 0 of nothing."""
    return 100 * part // whole if whole > 0 else 0


def names(found: Sequence[str]) -> str:
    """The first few names: ``a, b, ...``."""
    shown = ", ".join(found[:_NAMED])
    return shown if len(found) <= _NAMED else f"{shown}, ..."


def _short(value: float) -> str:
    if value == int(value):
        return f"{int(value)}"
    return f"{value:.1f}".removesuffix(".0")


UNITS: Final[dict[str | None, Callable[[float], str]]] = {
    "b": bytes_text,
    "m": millis_text,
    "n": count_text,
    "t": span_text,
    "v": rate_text,
}
