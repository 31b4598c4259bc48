"""What is to be done that cannot be undone: a plan, shown and asked about before."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.terminal.console import print_json, say
from aerolog.tools.terminal.terminal_text import fit
from aerolog.transport.errors import AerologError
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

_YES = {"y", "yes"}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a command would do.

    Attributes:
        what: the change, in a sentence.
        details: the plan as JSON.
        refusal: why it would be refused, None when nothing speaks against it.
    """

    what: str
    details: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    refusal: str | None = field(default=None, kw_only=True)

    def lines(self) -> list[str]:
        """The plan as people read it."""
        return [self.what]

    def row(self) -> dict[str, Any]:
        """The plan as JSON."""
        return {"dry_run": True, **self.details}


def check_can_ask(
    *,
    yes: bool,
    dry_run: bool,
    source: TextIO | None = None,
    what: str = "this",
    preview: str = "--dry-run",
) -> None:
    """Nobody can be asked without a terminal: said before anything is looked at.

    Args:
        yes: nobody is to be asked.
        dry_run: nothing is to be changed.
        source: the stream with the answers; standard input when None.
        what: asks.
        preview: the option that shows the plan.

    Raises:
        typer.BadParameter: somebody is to be asked, and there is no terminal.
    """
    if not yes and not dry_run and not (source or sys.stdin).isatty():
        raise typer.BadParameter(
            f"{what} asks before it changes anything, and standard input is no terminal: "
            f"pass --yes to go on without being asked, {preview} to see what would change"
        )


def show_dry_run(plan: Plan, *, as_json: bool) -> None:
    """Prints what would change.

    Raises:
        AerologError: it would be refused.
    """
    if as_json:
        print_json(plan.row())
    else:
        for line in plan.lines():
            say(line)
    check(plan)


def check(plan: Plan) -> None:
    """Raises why a plan would be refused.

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
    if not yes:
        confirm("".join(f"{fit(line, tabs=True)}\n" for line in plan.lines()))


def confirm(shown: str = "", *, source: TextIO | None = None, err: TextIO | None = None) -> None:
    """Asks whether to go on.

    Args:
        shown: what is asked about, lines of text.
        source: the stream with the answer; standard input when None.
        err: the stream for the question; standard error when None.

    Raises:
        typer.Exit: with 1, the answer was no.
    """
    (err or sys.stderr).write(fit(without_secrets(shown), lines=True))
    if not is_confirmed(source=source, err=err):
        decline(err)


def is_confirmed(*, source: TextIO | None = None, err: TextIO | None = None) -> bool:
    """Asks whether to go on with what was shown."""
    # Not typer.confirm(): it writes a blank to standard output, where JSON may be expected.
    told = err or sys.stderr
    told.write("Go on? [y/N]: ")
    told.flush()
    return (source or sys.stdin).readline().strip().lower() in _YES


def decline(err: TextIO | None = None) -> NoReturn:
    """Ends a command after a no.

    Raises:
        typer.Exit: with 1.
    """
    (err or sys.stderr).write("nothing is changed\n")
    raise typer.Exit(EXIT_FAILED)
