"""Times as the tools of the reference print them: local, to the second."""

from __future__ import annotations

from datetime import datetime


def local_time(epoch_ms: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """The date and the time of day, or another form of a time; milliseconds of one out of range."""
    try:
        return datetime.fromtimestamp(epoch_ms // 1000).astimezone().strftime(form)
    except (OverflowError, OSError, ValueError):
        return f"{epoch_ms:.0f}ms"


def time_of_day(epoch_ms: float) -> str:
    """Hours, minutes and seconds."""
    return local_time(epoch_ms, "%H:%M:%S")
