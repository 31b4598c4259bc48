"""Texts of distinct errors: the form of an exception in a log, and of a log when it is printed.

The formats follow spec cnc-and-commands 6 (an exception) and spec stat-tools 1 and 3 (a log).
"""

from __future__ import annotations

import re
import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from aerolog.transport.memory.reference_exceptions import exception_line, qualified_name

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from aerolog.transport.memory.error_log import ErrorObservation


def format_time(epoch_ms: int) -> str:
    """Format epoch milliseconds as local time, as the reference's tools print it."""
    try:
        moment = datetime.fromtimestamp(epoch_ms // 1000, UTC).astimezone()
    except (OverflowError, OSError, ValueError):
        return f"{epoch_ms}ms"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{epoch_ms % 1000:03d}{moment:%z}"


def format_error_log(observations: Iterable[ErrorObservation]) -> str:
    """Format an error log as it is saved to a file (spec stat-tools 3.3)."""
    parts = []
    for seen in observations:
        span = f"from {format_time(seen.first_ms)} to {format_time(seen.last_ms)}"
        parts.append(f"\n{seen.count} observations {span} for:\n{seen.text}\n")
    parts.append(f"\n{len(parts)} distinct errors observed.\n")
    return "".join(parts)


def saved_errors_path(start: str, epoch_ms: int) -> str:
    """Return the path of a file with an error log that was saved at a time; it begins as given."""
    return f"{start}-{re.sub('[ :.]', '-', format_time(epoch_ms))}-error.log"


def format_exception(error: BaseException, *, is_driver: bool = False) -> str:
    """Format class, message and frames of an exception, innermost frame first, then its causes."""
    lines = []
    for link, exception in enumerate(_chain(error)):
        lead = "Caused by: " if link else ""
        lines.append(f"{lead}{exception_line(exception, is_driver=is_driver)}\n")
        for frame in reversed(traceback.extract_tb(exception.__traceback__)):
            place = frame.filename.rpartition("/")[2]
            lines.append(f"\tat {frame.name}({place}:{frame.lineno})\n")
    return "".join(lines)


def exception_identity(error: BaseException) -> Hashable:
    """Return a key, equal for exceptions whose chains of class, message and frames are equal.

    The message of an error of the operating system does not count, but its number does: the message
    names a file, and a client could cause as many files as an error log has room for.
    """
    return tuple(
        (
            qualified_name(exception),
            _told_apart_by(exception),
            tuple(
                (frame.f_code.co_filename, frame.f_code.co_name, line)
                for frame, line in traceback.walk_tb(exception.__traceback__)
            ),
        )
        for exception in _chain(error)
    )


def _told_apart_by(exception: BaseException) -> object:
    if isinstance(exception, OSError) and exception.errno is not None:
        return exception.errno
    return str(exception)


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in found:
        found.append(link)
        context = None if link.__suppress_context__ else link.__context__
        link = link.__cause__ or context
    return found
