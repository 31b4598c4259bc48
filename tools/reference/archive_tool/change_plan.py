"""Before something is changed: what it is, whether it may be, and a question."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import typer

from aerolog.archive.format.layout import MARK_FILE_NAME
from aerolog.archive.format.mark_file import mark_file_dir, running_archive
from aerolog.archive.format.read_errors import is_unreadable
from aerolog.tools.archive_files.checked_files import open_catalog
from aerolog.tools.archive_files.java_error import JavaError
from aerolog.tools.terminal import confirmation
from aerolog.tools.terminal.confirmation import Plan
from aerolog.tools.terminal.console import print_json, print_table
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.tools.reference.tool_terminal import Terminal

#: Digits of the largest number of 64 bits.
_LONG_DIGITS: Final = 19


@dataclass(frozen=True, slots=True)
class TablePlan(Plan):
    """What a command would do, with a table of what is concerned.

    Attributes:
        right: columns of numbers.
        caution: what else to know before it is done.
    """

    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    right: Sequence[str] = ()
    caution: str | None = None
    shown_max: int = 1000

    def show(self, terminal: Terminal) -> None:
        """Print it for people, as results are printed."""
        terminal.line(self.what)
        if self.rows:
            terminal.out.flush()
            print_table(self.columns, self.rows[: self.shown_max], right=self.right)
        if len(self.rows) > self.shown_max:
            terminal.line(f"... and {len(self.rows) - self.shown_max} more: --json lists all")


def can_ask(terminal: Terminal) -> bool:
    """Whether nobody has to be asked, or somebody can be."""
    return terminal.yes or terminal.dry_run or (terminal.source or sys.stdin).isatty()


def check_can_ask(terminal: Terminal) -> None:
    """Nobody can be asked without a terminal: said before anything is looked at.

    Raises:
        typer.BadParameter: there is none, and neither ``--yes`` nor ``--dry-run``.
    """
    confirmation.check_can_ask(yes=terminal.yes, dry_run=terminal.dry_run, source=terminal.source)


def is_agreed(plan: TablePlan, terminal: Terminal) -> bool:
    """Show a plan and ask; False where it was only to be shown.

    Raises:
        typer.Exit: with 1, the answer was no.
    """
    if terminal.dry_run:
        if terminal.as_json:
            print_json(plan.row())
        else:
            plan.show(terminal)
            if plan.caution is not None:
                terminal.line(plan.caution)
        return False
    if terminal.yes:
        return True
    shown = [plan.what] if terminal.as_json else []
    if not terminal.as_json:
        plan.show(terminal)
    if plan.caution is not None:
        shown.append(plan.caution)
    terminal.out.flush()
    confirmation.confirm(
        "".join(f"{line}\n" for line in shown), source=terminal.source, err=terminal.err
    )
    return True


def parse_recording_id(text: str) -> int:
    """A recording's id out of an argument.

    Raises:
        typer.BadParameter: it is none.
    """
    if text.isascii() and text.isdigit() and len(text) <= _LONG_DIGITS:
        return int(text)
    raise typer.BadParameter(f"a recording's id is a number, not {text!r}")


def running_pid(folder: str) -> int | None:
    """Process id of the archive that runs in a folder, None when none is known to.

    Raises:
        AerologError: nobody can tell, as its mark file cannot be read.
    """
    try:
        mark = running_archive(folder)
    except OSError as error:
        path = error.filename or f"{mark_file_dir(folder)}/{MARK_FILE_NAME}"
        if not is_unreadable(error, path, RealFileSystem()):
            return None
        raise AerologError(
            f"{path} cannot be read: {error.strerror}: whether an archive runs in {folder} is not"
            " known: run this as the user that owns it"
        ) from error
    return None if mark is None else mark.header.pid


def refuse_running(folder: str, why: str) -> None:
    """Refuse what harms an archive that runs.

    Raises:
        AerologError: one does.
    """
    pid = running_pid(folder)
    if pid is not None:
        raise AerologError(
            f"{folder}: an archive runs there, process {pid}: {why}: stop it first, then do this"
            " again, ten seconds later at most"
        )


@contextmanager
def in_words(folder: str, *, any_version: bool = False) -> Iterator[None]:
    """Says what is wrong with a folder in words of ours, with a remedy.

    Args:
        folder: the archive's folder.
        any_version: whether the catalog may be of an older version.

    Raises:
        AerologError: instead of what the reference throws.
    """
    if not any_version:
        open_catalog(folder).close()
    try:
        yield
    except JavaError as error:
        text = (error.message or error.java_class).removeprefix("ERROR - ")
        if "no recording found" in text:
            raise AerologError(f"{folder}: {text}: describe-all lists all there are") from error
        raise AerologError(f"{folder}: {text}") from error
