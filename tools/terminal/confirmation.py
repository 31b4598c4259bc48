"""Questions before something is done that cannot be undone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.terminal.console import print_json, remark, say
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from aerolog.tools.recordings.change_plans import Plan

_YES = {"y", "yes"}


def check_can_ask(*, yes: bool, dry_run: bool) -> None:
    """Nobody can be asked without a terminal: said before anything is looked at.

    Raises:
        typer.BadParameter: there is no terminal, and neither ``--yes`` nor ``--dry-run``.
    """
    if not yes and not dry_run and not sys.stdin.isatty():
        raise typer.BadParameter(
            "this asks before it changes anything, and standard input is no terminal: "
            "pass --yes to go on without being asked, --dry-run to see what would change"
        )


def show_dry_run(plan: Plan, *, as_json: bool) -> None:
    """Prints what would change.

    Raises:
        AerologError: the archive would refuse it.
    """
    if as_json:
        print_json(plan.row())
    else:
        for line in plan.lines():
            say(line)
    check(plan)


def check(plan: Plan) -> None:
    """Raises why an archive would refuse.

    Raises:
        AerologError: it would.
    """
    if plan.refusal is not None:
        raise AerologError(plan.refusal)


def ask(plan: Plan, *, yes: bool) -> None:
    """Shows a plan and asks whether to go on.

    Raises:
        typer.Exit: with 1, the answer was no.
    """
    if yes:
        return
    for line in plan.lines():
        remark(line)
    if not is_confirmed():
        remark("nothing is changed")
        raise typer.Exit(EXIT_FAILED)


def is_confirmed() -> bool:
    """Asks whether to go on with what was shown."""
    # Not typer.confirm(): it writes a blank to standard output, where JSON may be expected.
    sys.stderr.write("Go on? [y/N]: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in _YES
