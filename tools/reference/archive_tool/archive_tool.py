"""ArchiveTool: the folder, a command and its arguments, as the reference takes them.

0 done, 255 wrong usage or faulty recordings, 1 where the reference ends with an exception; its
first line goes to stderr, its stack trace does not.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.tools.reference.archive_tool.archive_tool_table import (
    COMMANDS,
    MAX_ARGUMENTS,
    action_of,
)
from aerolog.tools.reference.tool import EXIT_INVALID, run_action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal

#: In the reference's usage text, but its command line does not know it.
_CAPACITY: Final = ("capacity [capacity in bytes]", "See aerolog recordings capacity.")


def run(arguments: Sequence[str], terminal: Terminal) -> int:
    """Run the tool with the reference's arguments: folder, command, its arguments."""
    if not 1 <= len(arguments) <= MAX_ARGUMENTS:
        _show_usage(terminal)
        return EXIT_INVALID
    folder = arguments[0]
    if not Path(folder).exists():
        return _wrong_usage(f"Archive folder not found: {Path(folder).absolute()}", terminal)
    name, rest = (arguments[1] if len(arguments) > 1 else ""), arguments[2:]
    if name not in COMMANDS or len(rest) not in COMMANDS[name].counts:
        return _wrong_usage("Invalid command", terminal)
    return run_action(action_of(name), folder, rest, terminal)


def _wrong_usage(problem: str, terminal: Terminal) -> int:
    terminal.remark(f"ERR: {problem}")
    _show_usage(terminal)
    return EXIT_INVALID


def _show_usage(terminal: Terminal) -> None:
    if terminal.as_json:
        return
    terminal.line("Usage: <archive-dir> <command> (items in square brackets are optional)")
    usages = [_CAPACITY, *(one for command in COMMANDS.values() for one in command.usage())]
    for synopsis, meaning in usages:
        terminal.line(f"\n  {synopsis}: {meaning}")
    terminal.line()
