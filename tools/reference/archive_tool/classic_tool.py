"""The archive tool as the reference's: same lines, prompts and exit codes.

0 done, 255 wrong usage or faulty recordings, 1 where the reference ends with an exception; its
first line goes to stderr, its stack trace does not.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.tools.archive_files.java_error import java_error_of
from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.reference.archive_tool.actions import (
    ARCHIVE_TOOL,
    COMMANDS,
    EXIT_INVALID,
    MAX_ARGUMENTS,
)
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.archive_tool.actions import Action
    from aerolog.tools.reference.tool_terminal import Terminal

#: In the reference's usage text, but its command line does not know it.
_ABSENT = "capacity"


def run_classic(arguments: Sequence[str], terminal: Terminal) -> int:
    """Runs the tool with the reference's arguments: folder, command, its arguments."""
    if not 1 <= len(arguments) <= MAX_ARGUMENTS:
        _show_usage(terminal)
        return EXIT_INVALID
    folder = arguments[0]
    if not Path(folder).exists():
        return _wrong_usage(f"Archive folder not found: {Path(folder).absolute()}", terminal)
    name, rest = (arguments[1] if len(arguments) > 1 else ""), arguments[2:]
    if name == _ABSENT or name not in COMMANDS or len(rest) not in COMMANDS[name].counts:
        return _wrong_usage("Invalid command", terminal)
    return run_action(ARCHIVE_TOOL.action(name, classic=True), folder, rest, terminal)


def run_action(action: Action, folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Runs a command in its classic form, whose errors are those of the reference."""
    try:
        return action(folder, arguments, terminal)
    except (AerologError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        terminal.out.flush()
        terminal.remark(f'Exception in thread "main" {java_error_of(error)}')
        return EXIT_FAILED


def _wrong_usage(problem: str, terminal: Terminal) -> int:
    terminal.remark(f"ERR: {problem}")
    _show_usage(terminal)
    return EXIT_INVALID


def _show_usage(terminal: Terminal) -> None:
    terminal.line("Usage: <archive-dir> <command> (items in square brackets are optional)")
    for command in COMMANDS.values():
        for synopsis, meaning in command.usage():
            terminal.line(f"\n  {synopsis}: {meaning}")
    terminal.line()
