"""The ``errors`` command: distinct errors of a driver, an archive, or a saved file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import MARK_FILE_NAME
from aerolog.tools.command_line.java_error import OUT_OF_BOUNDS
from aerolog.tools.stat import classic_lines as lines
from aerolog.tools.stat.classic_stream_lines import first_line
from aerolog.tools.stat.reference_conventions import errors_as_java, file_path, open_view, uncaught
from aerolog.tools.stat.watched_driver import WatchedDriver
from aerolog.tools.terminal.schedule import StyledLine
from aerolog.tools.views.archive_view import ArchiveView
from aerolog.tools.views.driver_view import (
    DriverView,
    ObservedError,
    map_readonly,
    read_error_file,
)
from aerolog.tools.views.errors import Trouble, ViewError, error_row
from aerolog.transport.memory.cnc_header import FILE_NAME
from aerolog.transport.memory.error_text import format_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from aerolog.tools.terminal.schedule import Schedule

#: First line of a record in a saved text (spec stat-tools 3.3).
_RECORD: Final = re.compile(r"(-?\d+) observations from (.+) to (.+) for:")
_END: Final = re.compile(r"\d+ distinct errors observed\.")
_TEXT_MAX: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class ErrorSource:
    """The source of errors: its name, and how it is read."""

    name: str
    look: Callable[[], list[ObservedError]]


def source_of(
    aeron_dir: str | None, archive_dir: str | None, file: Path | None, offset: int | None
) -> ErrorSource:
    """What is asked for: a file, an archive's log, or a driver's.

    Raises:
        ViewError: it cannot be looked at.
    """
    if file is not None:
        return ErrorSource(str(file), lambda: _of_file(file, offset))
    if archive_dir is not None:
        archive = ArchiveView.open(archive_dir)
        if archive.mark_fault is not None:
            raise ViewError(
                Trouble.DAMAGED,
                archive_dir,
                f"no error log, for there is no mark file to be read: {archive.mark_fault}",
                "an archive that starts there writes it",
            )
        return ErrorSource(f"archive {archive_dir}", archive.errors)
    watched = WatchedDriver(aeron_dir)
    return ErrorSource(f"driver {watched.view.aeron_dir}", lambda: watched.refresh().errors())


def _of_file(path: Path, offset: int | None) -> list[ObservedError]:
    """A text that a driver or archive saved at its start, or bytes of a log."""
    if offset is not None:
        return read_error_file(path, offset)
    if path.name == FILE_NAME:
        return DriverView.open(path.parent).errors()
    if path.name == MARK_FILE_NAME:
        return ArchiveView.mark_errors(path.parent)
    mapped = map_readonly(str(path), 1, missing="name a file that holds errors")
    if _RECORD.match(bytes(mapped.view(0, min(mapped.length, 256))).decode("ascii", "replace")[1:]):
        if mapped.length > _TEXT_MAX:
            raise ViewError(Trouble.DAMAGED, path, "too long for a text of errors", "cut it")
        return parse_saved(bytes(mapped.view()).decode("utf-8", "replace"))
    return read_error_file(path)


def parse_saved(text: str) -> list[ObservedError]:
    """Errors in the text form in which a driver or archive saves them."""
    found: list[ObservedError] = []
    head: re.Match[str] | None = None
    body: list[str] = []
    previous = ""
    for line in text.splitlines():
        record = _RECORD.fullmatch(line) if not previous else None
        if record is not None or (not previous and _END.fullmatch(line)):
            if head is not None:
                found.append(_saved(head, body))
            head, body = record, []
        else:
            body.append(line)
        previous = line
    if head is not None:  # cut off
        found.append(_saved(head, [*body, ""]))
    return found


def _saved(head: re.Match[str], body: list[str]) -> ObservedError:
    # Behind the text stand its own line end and the empty line before the next record.
    text = "\n".join(body[:-1])
    return ObservedError(int(head[1]), _epoch_ms(head[2]), _epoch_ms(head[3]), text)


def _epoch_ms(text: str) -> int:
    try:
        moment = datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f%z")
    except ValueError:
        return -1
    return round(moment.timestamp() * 1000)


def show(source: ErrorSource, schedule: Schedule, *, since_ms: int, as_json: bool) -> None:
    """Prints errors, the latest first, for people or as JSON."""

    def wanted() -> list[ObservedError]:
        found = [one for one in source.look() if one.last_ms >= since_ms]
        return sorted(found, key=lambda one: -one.last_ms)

    if as_json:
        schedule.show_json(
            lambda: {"source": source.name, "errors": [error_row(e) for e in wanted()]}
        )
    else:
        schedule.show(lambda: _people(source.name, wanted()))


def _people(name: str, errors: list[ObservedError]) -> Iterator[str]:
    if not errors:
        yield f"{name}: no errors"
        return
    yield StyledLine(f"{name}: {len(errors)} distinct errors, the latest first")
    for error in errors:
        yield ""
        times = "once" if error.count == 1 else f"{error.count:,} times"
        since = "" if error.count == 1 else f", first {format_time(error.first_ms)}"
        yield StyledLine(f"{times}, last {format_time(error.last_ms)}{since}")
        for line in error.text.rstrip("\n").splitlines():
            yield f"  {line.expandtabs(4)}"


def classic(aeron_dir: str | None, file: Path | None, offset: int | None) -> Iterator[str]:
    """The lines of ErrorStat."""
    if file is None:
        yield first_line(file_path(aeron_dir))
        try:
            found = DriverView.open(aeron_dir).errors()
        except ViewError as error:
            # The reference does not ask whether the driver has finished starting.
            found = [] if error.trouble is Trouble.STARTING else open_view(aeron_dir).errors()
    else:
        yield f"Error file {file}"
        with errors_as_java(str(file)):
            found = _classic_file(file, offset or 0)
    yield from lines.errors(found)


def _classic_file(file: Path, offset: int) -> list[ObservedError]:
    mapped = map_readonly(str(file), 0, missing="")
    left = mapped.length - offset
    if left < 0 or offset < 0:
        bounds = f"Range [{offset}, {offset} + {left}) out of bounds for length {mapped.length}"
        uncaught(OUT_OF_BOUNDS, bounds)
    return read_error_file(file, offset)
