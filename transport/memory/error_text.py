"""Texts of distinct errors: how an exception is written down, how a log is printed.

Formats: spec cnc-and-commands 6 (an exception), spec stat-tools 1 and 3 (a log as it is printed).
"""

from __future__ import annotations

import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from aerolog.transport.memory.error_log import ErrorObservation


def format_time(epoch_ms: int) -> str:
    """Epoch milliseconds in local time, as the reference's tools print it."""
    try:
        moment = datetime.fromtimestamp(epoch_ms // 1000, UTC).astimezone()
    except (OverflowError, OSError, ValueError):
        return f"{epoch_ms}ms"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{epoch_ms % 1000:03d}{moment:%z}"


def format_error_log(observations: Iterable[ErrorObservation]) -> str:
    """The saved form of an error log (spec stat-tools 3.3)."""
    parts = []
    for seen in observations:
        span = f"from {format_time(seen.first_ms)} to {format_time(seen.last_ms)}"
        parts.append(f"\n{seen.count} observations {span} for:\n{seen.text}\n")
    parts.append(f"\n{len(parts)} distinct errors observed.\n")
    return "".join(parts)


def format_exception(error: BaseException) -> str:
    """Class, message and frames, innermost first, then the same of what caused it."""
    lines = []
    for link, exception in enumerate(_chain(error)):
        lead = "Caused by: " if link else ""
        lines.append(f"{lead}{_class_name(exception)}: {exception}\n")
        for frame in reversed(traceback.extract_tb(exception.__traceback__)):
            place = frame.filename.rpartition("/")[2]
            lines.append(f"\tat {frame.name}({place}:{frame.lineno})\n")
    return "".join(lines)


def exception_identity(error: BaseException) -> Hashable:
    """What makes two exceptions the same: classes, messages and frames of the whole chain."""
    return tuple(
        (
            _class_name(exception),
            str(exception),
            tuple(
                (frame.f_code.co_filename, frame.f_code.co_name, line)
                for frame, line in traceback.walk_tb(exception.__traceback__)
            ),
        )
        for exception in _chain(error)
    )


def _class_name(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in found:
        found.append(link)
        context = None if link.__suppress_context__ else link.__context__
        link = link.__cause__ or context
    return found
