"""A tool of the reference: the table of its commands, and how one of them is run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.command_line.java_error import java_error_of
from aerolog.tools.reference.tool_terminal import Terminal
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from typing import Any

#: Gets the folder as it was given, which exists, the arguments after the command's name, and the
#: terminal; returns the exit code. It raises ``JavaError`` where the reference ends with an
#: exception, or an error of ours that ``java_error_of`` gives the reference's words.
Action = Callable[[str, Sequence[str], Terminal], int]

#: Exit code of usage errors and of faulty entries found: the reference's -1.
EXIT_INVALID: Final = 255


class Command(NamedTuple):
    """A command of such a tool.

    Attributes:
        counts: how many arguments may follow the name.
        synopsis: name and arguments.
        meaning: what the command does, in a line.
        changes: whether it writes or deletes anything.
    """

    counts: range
    synopsis: str
    meaning: str
    changes: bool = False

    def usage(self) -> list[tuple[str, str]]:
        """Synopses and meanings as the reference lists them: with and without a recording's id."""
        name, _, rest = self.synopsis.partition(" ")
        if name != "describe":
            return [(self.synopsis, self.meaning)]
        valid, _, one = self.meaning.partition(", or ")
        return [(name, f"{valid}."), (f"{name} {rest.strip('[]')}", one.capitalize())]


def run_action(action: Action, folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Run a command, whose errors get the reference's words."""
    try:
        return action(folder, arguments, terminal)
    except (AerologError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        terminal.out.flush()
        terminal.remark(f'Exception in thread "main" {java_error_of(error)}')
        return EXIT_FAILED


def row_of(message: Any) -> dict[str, Any]:
    """The fields of a message by name, but what is reserved."""
    return {name: getattr(message, name) for name in message.LAYOUT.names if name != "reserved"}
