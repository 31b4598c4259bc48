"""Numbers in words: versions, times, sizes."""

from __future__ import annotations

from datetime import datetime

from aerolog.transport.protocol.sbe import semantic_version_text
from aerolog.transport.time_units import NS_PER_S


def version(value: int) -> str:
    """A packed semantic version in words."""
    return semantic_version_text(value)


def time_ms(value: int) -> str:
    """A time in epoch milliseconds, as local time."""
    if value == -1:
        return "none"
    return _local_time(value // 1000, f"{value % 1000:03d}")


def time_ns(value: int) -> str:
    """A time in epoch nanoseconds, as local time to the microsecond."""
    return _local_time(value // NS_PER_S, f"{value % NS_PER_S // 1000:06d}")


def _local_time(seconds: int, fraction: str) -> str:
    try:
        moment = datetime.fromtimestamp(seconds).astimezone()
    except (OverflowError, OSError, ValueError):
        return "no time"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{fraction}{moment:%z}"


def seconds_ns(value: int) -> str:
    """A duration in nanoseconds."""
    return f"{value / NS_PER_S:g} s"


def yes_no(value: int) -> str:
    """A flag in words."""
    return "yes" if value == 1 else "no"


def size(value: int) -> str:
    """Bytes in the largest unit that gives a whole number."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= unit and value % unit == 0:
            return f"{value // unit} {name}"
    return ""
