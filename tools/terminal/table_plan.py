"""A plan that is shown as a table, and the question before it is carried out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerolog.tools.terminal import confirmation
from aerolog.tools.terminal.confirmation import Plan
from aerolog.tools.terminal.console import print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.terminal.command_terminal import ChangeTerminal


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

    def show(self, terminal: ChangeTerminal) -> None:
        """Print it for people, as results are printed."""
        terminal.line(self.what)
        if self.rows:
            terminal.out.flush()
            print_table(self.columns, self.rows[: self.shown_max], right=self.right)
        if len(self.rows) > self.shown_max:
            terminal.line(f"... and {len(self.rows) - self.shown_max} more: --json lists all")


def check_can_ask(terminal: ChangeTerminal) -> None:
    """Nobody can be asked without a terminal: said before anything is looked at.

    Raises:
        typer.BadParameter: there is none, and neither ``--yes`` nor ``--dry-run``.
    """
    confirmation.check_can_ask(yes=terminal.yes, dry_run=terminal.dry_run, source=terminal.source)


def is_agreed(plan: TablePlan, terminal: ChangeTerminal) -> bool:
    """Show a plan and ask; False where it was only to be shown.

    Raises:
        typer.Exit: with 1, the answer was no.
    """
    if terminal.dry_run:
        if terminal.as_json:
            terminal.document(plan.row())
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
