"""The terminal of a command that prints lines or one JSON document, and may ask before."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aerolog.tools.terminal.terminal_text import fit
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from typing import Any, TextIO


@dataclass(slots=True)
class CommandTerminal:
    """The streams of a run, and its clock.

    Attributes:
        as_json: print one JSON document and nothing else to ``out``.
        source: answers are read from here.
        out: results.
        err: remarks and errors.
        clock: tells the time that is printed and written.
    """

    as_json: bool = False
    source: TextIO = field(default_factory=lambda: sys.stdin)
    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)
    clock: Clock = field(default_factory=SystemClock)

    def write(self, text: str) -> None:
        """Write text to ``out``."""
        self.out.write(fit(text, lines=True))

    def line(self, text: str = "") -> None:
        """Write a line to ``out``."""
        self.write(without_secrets(text) + "\n")

    def remark(self, text: str) -> None:
        """Write a line to ``err``."""
        self.err.write(fit(fit(without_secrets(text), tabs=True) + "\n", lines=True))

    def result(self, row: Any, text: str) -> None:
        """Print what a command has found or done: a JSON document, or a line."""
        if self.as_json:
            self.document(row)
        else:
            self.line(text)

    def document(self, value: Any) -> None:
        """Print a JSON document."""
        from aerolog.tools.terminal.console import print_json

        self.out.flush()
        print_json(value)


@dataclass(slots=True)
class ChangeTerminal(CommandTerminal):
    """The terminal of a command that shows a change and asks before it makes it.

    Attributes:
        dry_run: show what would change, and change nothing.
        yes: do not ask.
    """

    dry_run: bool = False
    yes: bool = False
