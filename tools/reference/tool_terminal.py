"""The terminal of the archive tool: its commands write and ask there, by the switches given."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aerolog.tools.archive_files.java_error import JavaError
from aerolog.tools.terminal.terminal_text import fit
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from typing import Any, TextIO

_YES = {"", "y", "yes"}


@dataclass(slots=True)
class Terminal:
    """The streams of a run, its switches and its clock.

    Attributes:
        as_json: print one JSON document and nothing else to ``out``.
        dry_run: show what would change, and change nothing.
        yes: do not ask (not of the classic form, which always asks).
        source: answers are read from here.
        out: results.
        err: remarks and errors.
        clock: tells the time that is printed and written.
    """

    as_json: bool = False
    dry_run: bool = False
    yes: bool = False
    source: TextIO = field(default_factory=lambda: sys.stdin)
    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)
    clock: Clock = field(default_factory=SystemClock)

    def write(self, text: str) -> None:
        """Text to ``out``."""
        self._put(text, self.out)

    def line(self, text: str = "") -> None:
        """A line to ``out``."""
        self._put(without_secrets(text) + "\n", self.out)

    def remark(self, text: str) -> None:
        """A line to ``err``."""
        self._put(fit(without_secrets(text), tabs=True) + "\n", self.err)

    def result(self, row: Any, text: str) -> None:
        """What a command has found or done: a JSON document, or a line to ``out``."""
        if self.as_json:
            from aerolog.tools.terminal.console import print_json

            print_json(row)
        else:
            self.line(text)

    def _put(self, text: str, out: TextIO) -> None:
        out.write(fit(text, lines=True))

    def agrees(self, warning: str) -> bool:
        """Warns and asks as the reference does before it changes something; raises as ``ask``."""
        self.write(f"WARNING: {warning}")
        return self.ask("Continue? (y/n)")

    def ask(self, question: str) -> bool:
        """Asks as the reference does: a line break, the question, one line read.

        Nothing, ``y`` and ``yes`` are yes, all else is no.

        Raises:
            JavaError: there is no line to read.
        """
        self.out.write(f"\n{question}: ")
        self.out.flush()
        answer = self.source.readline()
        if not answer:
            raise JavaError("java.util.NoSuchElementException", "No line found")
        return answer.rstrip("\r\n").lower() in _YES


def terminal_of(*, classic: bool, as_json: bool, dry_run: bool, yes: bool) -> Terminal:
    """The terminal of a run by the options of the command line.

    Raises:
        typer.BadParameter: the classic form has none of the other switches.
    """
    if classic and (as_json or dry_run or yes):
        import typer  # here, for the classic form alone should not wait for it

        raise typer.BadParameter(
            "--classic has no --json, --dry-run or --yes: it is a form of its own"
        )
    return Terminal(as_json=as_json, dry_run=dry_run, yes=yes)
