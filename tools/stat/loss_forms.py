"""The ``loss`` command: a driver's loss report."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.command_line.java_error import ILLEGAL_STATE
from aerolog.tools.stat import classic_lines as lines
from aerolog.tools.stat.reference_conventions import file_path, uncaught
from aerolog.tools.terminal.console import write_error_text
from aerolog.tools.terminal.schedule import StyledLine
from aerolog.tools.terminal.terminal_text import write_fit
from aerolog.tools.views.driver_view import read_losses
from aerolog.tools.views.errors import Trouble, ViewError
from aerolog.transport.memory.aeron_directory import unconfigured_aeron_dir
from aerolog.transport.memory.error_text import format_time
from aerolog.transport.memory.loss_report import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.stat.counter_filters import Filters
    from aerolog.tools.terminal.schedule import Schedule
    from aerolog.tools.views.driver_view import LossEntry


def show(aeron_dir: str | None, filters: Filters, schedule: Schedule, *, as_json: bool) -> None:
    """Prints losses, the largest first, for people or as JSON.

    Raises:
        ViewError: there is no loss report that can be read.
    """
    folder = unconfigured_aeron_dir() if aeron_dir is None else aeron_dir

    def wanted() -> list[LossEntry]:
        found = [
            entry
            for entry in read_losses(folder)
            if filters.passes_stream(entry.session_id, entry.stream_id, entry.channel)
        ]
        return sorted(found, key=lambda entry: -entry.total_bytes_lost)

    if as_json:
        schedule.show_json(lambda: _document(folder, wanted()))
    else:
        schedule.show(lambda: _people(folder, wanted()))


def _document(folder: str, entries: list[LossEntry]) -> dict[str, Any]:
    return {"aeron_dir": folder, "losses": [asdict(entry) for entry in entries]}


def _people(folder: str, entries: list[LossEntry]) -> Iterator[str]:
    if not entries:
        yield f"driver {folder}: nothing was lost"
        return
    total = sum(entry.total_bytes_lost for entry in entries)
    yield StyledLine(f"driver {folder}: {total:,} bytes lost in {len(entries)} streams")
    yield StyledLine(
        f"{'times':>9} {'bytes':>15}  {'first':28}  {'last':28}  {'session':>11} {'stream':>11}"
        "  channel  from"
    )
    for entry in entries:
        yield (
            f"{entry.observation_count:9,d} {entry.total_bytes_lost:15,d}"
            f"  {format_time(entry.first_observation_ms):28}"
            f"  {format_time(entry.last_observation_ms):28}"
            f"  {entry.session_id:11d} {entry.stream_id:11d}"
            f"  {entry.channel}  {entry.source}"
        )


def classic(aeron_dir: str | None) -> None:
    """Prints what LossStat prints."""
    path = file_path(aeron_dir, FILE_NAME)
    try:
        entries = read_losses(path.rpartition("/")[0] or ".")
    except ViewError as error:
        if error.trouble is Trouble.MISSING:
            write_error_text(f"Loss report does not exist: {path}")
            raise typer.Exit(EXIT_FAILED) from None
        if error.length == 0:
            entries = []
        else:
            uncaught(ILLEGAL_STATE, f"{error.path}: {error.reason}")
    write_fit(lines.losses(entries))
