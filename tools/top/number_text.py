"""Numbers as a screen has room for them: amounts, rates, durations, ages, positions."""

from __future__ import annotations

import time
from typing import Final

from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

_SI: Final = ("", "k", "M", "G", "T", "P", "E")
_DURATIONS: Final = ((1_000, "ns"), (NS_PER_MS, "us"), (NS_PER_S, "ms"))
_AGES: Final = ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "m"), (60, "m", 1, "s"))


def amount(value: float) -> str:
    """A count in at most five characters before its sign: 999, 1.2k, 12.3M, 123G."""
    size = abs(value)
    if size < 1_000:
        # Below ten a fraction of an event a second is worth a digit.
        return f"{value:.1f}" if 0 < size < 10 and value != int(value) else f"{value:.0f}"
    power = 0
    while size >= 999.5 and power < len(_SI) - 1:
        size /= 1_000
        power += 1
    digits = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{'-' if value < 0 else ''}{size:.{digits}f}{_SI[power]}"


def size(value: float) -> str:
    """A number of bytes with its unit, such as 1.23 GB."""
    text = amount(round(value))
    return f"{text[:-1]} {text[-1]}B" if text[-1].isalpha() else f"{text} B"


def rate(bytes_per_second: float | None) -> str:
    """Bytes a second, a dash when nobody knows yet."""
    return "-" if bytes_per_second is None else f"{size(bytes_per_second)}/s"


def events(per_second: float | None) -> str:
    """Events a second, a dash when nobody knows yet."""
    return "-" if per_second is None else f"{amount(per_second)}/s"


def duration(nanoseconds: float) -> str:
    """A duration with three digits: 812 us, 4.21 ms, 1.5 s."""
    if nanoseconds >= NS_PER_S:
        seconds = nanoseconds / NS_PER_S
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
    for limit, unit in _DURATIONS:
        if nanoseconds < limit:
            value = nanoseconds * 1_000 / limit
            digits = 0 if unit == "ns" or value >= 99.5 else 1 if value >= 9.95 else 2
            return f"{value:.{digits}f} {unit}"
    return "1.00 s"


def age(seconds: float) -> str:
    """Time passed: 12s, 3m04s, 5h10m, 2d07h."""
    whole = max(int(seconds), 0)
    for limit, unit, next_limit, next_unit in _AGES:
        if whole >= limit:
            return f"{whole // limit}{unit}{whole % limit // next_limit:02d}{next_unit}"
    return f"{whole}s"


def ago(then_ms: int, now_ms: int) -> str:
    """How long ago something was, for a column."""
    return age((now_ms - then_ms) / 1_000)


def clock_time(epoch_ms: int) -> str:
    """Wall-clock time of day, in the zone of whoever looks, with its offset."""
    return time.strftime("%H:%M:%S%z", time.localtime(epoch_ms / 1_000))


def date_time(epoch_ms: int) -> str:
    """Date and time of day, in the zone of whoever looks, with its offset."""
    return time.strftime("%Y-%m-%d %H:%M:%S%z", time.localtime(epoch_ms / 1_000))


def position(value: int | None) -> str:
    """A stream position, digits in groups; a dash when there is none."""
    return "-" if value is None else f"{value:,}"


def share(part: float, whole: float) -> str:
    """A percentage without a fraction; a dash without a whole."""
    return "-" if whole <= 0 else f"{min(max(part / whole, 0.0), 9.99):.0%}"
