"""The terminal of a tool of the reference: its questions, as it asks them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.tools.command_line.java_error import NO_ELEMENT, JavaError
from aerolog.tools.terminal.command_terminal import CommandTerminal

if TYPE_CHECKING:
    from typing import TextIO

_YES = {"", "y", "yes"}


@dataclass(slots=True)
class Terminal(CommandTerminal):
    """The streams of a run; with ``as_json`` questions go to ``err``."""

    def agrees(self, warning: str) -> bool:
        """Warns and asks as the reference does before it changes something; raises as ``ask``."""
        self._say(f"WARNING: {warning}")
        return self.ask("Continue? (y/n)")

    def ask(self, question: str) -> bool:
        """Asks as the reference does: a line break, the question, one line read.

        Nothing, ``y`` and ``yes`` are yes, all else is no.

        Raises:
            JavaError: there is no line to read.
        """
        self._say(f"\n{question}: ").flush()
        answer = self.source.readline()
        if not answer:
            raise JavaError(NO_ELEMENT, "No line found")
        return answer.rstrip("\r\n").lower() in _YES

    def explain(self, text: str) -> None:
        """Write lines before a question, where the question goes."""
        self._say(text)

    def _say(self, text: str) -> TextIO:
        if not self.as_json:
            self.write(text)
            return self.out
        self.remark(text.strip("\n"))
        return self.err
