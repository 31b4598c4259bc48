"""Before something is changed: what it is, whether it may be, and a question."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import typer

from aerolog.archive.format.mark_file import MarkFile
from aerolog.tools.archive_tool.checked_files import open_catalog
from aerolog.tools.archive_tool.uncaught_error import UncaughtError
from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.terminal.console import print_json, print_table
from aerolog.transport.errors import AerologError, FileFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.tools.archive_tool.tool_terminal import Terminal

_YES: Final = {"y", "yes"}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a command would do.

    Attributes:
        what: in a sentence.
        columns: of the table of what is concerned.
        rows: of that table.
        row: the plan as JSON.
        right: columns of numbers.
        caution: what else to know before it is done.
    """

    what: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    row: dict[str, Any]
    right: Sequence[str] = ()
    caution: str | None = None
    shown_max: int = field(default=1000)

    def show(self, terminal: Terminal) -> None:
        """Print it for people, as results are printed."""
        terminal.line(self.what)
        if self.rows:
            terminal.out.flush()
            print_table(self.columns, self.rows[: self.shown_max], right=self.right)
        if len(self.rows) > self.shown_max:
            terminal.line(f"... and {len(self.rows) - self.shown_max} more: --json lists all")


def check_can_ask(terminal: Terminal) -> None:
    """Nobody can be asked without a terminal: said before anything is looked at.

    Raises:
        typer.BadParameter: there is none, and neither ``--yes`` nor ``--dry-run``.
    """
    if not (terminal.yes or terminal.dry_run or terminal.source.isatty()):
        raise typer.BadParameter(
            "this asks before it changes anything, and standard input is no terminal: "
            "pass --yes to go on without being asked, --dry-run to see what would change"
        )


def is_agreed(plan: Plan, terminal: Terminal) -> bool:
    """Show a plan and ask; False where it was only to be shown.

    Raises:
        typer.Exit: with 1, the answer was no.
    """
    if terminal.dry_run:
        if terminal.as_json:
            print_json({"dry_run": True, **plan.row})
        else:
            plan.show(terminal)
            if plan.caution is not None:
                terminal.line(plan.caution)
        return False
    if terminal.yes:
        return True
    if not terminal.as_json:
        plan.show(terminal)
    else:
        terminal.err.write(plan.what + "\n")
    if plan.caution is not None:
        terminal.err.write(plan.caution + "\n")
    if ask(terminal, "Go on?"):
        return True
    terminal.err.write("nothing is changed\n")
    raise typer.Exit(EXIT_FAILED)


def ask(terminal: Terminal, question: str) -> bool:
    """Ask on standard error, where no JSON is expected; nothing is no."""
    terminal.out.flush()
    terminal.err.write(f"{question} [y/N]: ")
    terminal.err.flush()
    return terminal.source.readline().strip().lower() in _YES


def parse_recording_id(text: str) -> int:
    """A recording's id out of an argument.

    Raises:
        typer.BadParameter: it is none.
    """
    if text.isascii() and text.isdigit():
        return int(text)
    raise typer.BadParameter(f"a recording's id is a number, not {text!r}")


def running_archive(folder: str) -> int | None:
    """Process id of the archive that runs in a folder, None when none is known to."""
    try:
        mark = MarkFile.open(folder)
    except (FileNotFoundError, FileFormatError, OSError):
        return None
    return mark.header.pid if mark.is_active() else None


def refuse_running(folder: str, why: str) -> None:
    """Refuse what harms an archive that runs.

    Raises:
        AerologError: one does.
    """
    pid = running_archive(folder)
    if pid is not None:
        raise AerologError(
            f"{folder}: an archive runs there, process {pid}: {why}: stop it first, then do this"
            " again, ten seconds later at most"
        )


@contextmanager
def in_words(folder: str, *, any_version: bool = False) -> Iterator[None]:
    """Says what is wrong with a folder in words of ours, with a remedy.

    Args:
        folder: of the archive.
        any_version: its catalog may be of an older version.

    Raises:
        AerologError: instead of what the reference throws.
    """
    if not any_version:
        open_catalog(folder).close()
    try:
        yield
    except UncaughtError as error:
        text = (error.message or error.java_class).removeprefix("ERROR - ")
        if "no recording found" in text:
            raise AerologError(f"{folder}: {text}: describe-all lists all there are") from error
        raise AerologError(f"{folder}: {text}") from error
