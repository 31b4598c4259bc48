"""A tool with tables or JSON: finds the command and checks what it was given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from aerolog.tools.reference.archive_tool.actions import ARCHIVE_TOOL, Tool
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal


def run(arguments: Sequence[str], terminal: Terminal, tool: Tool = ARCHIVE_TOOL) -> int:
    """Runs a tool; arguments as in the classic form: folder, command, its arguments.

    Raises:
        typer.BadParameter: they make no command.
        AerologError: the folder is none.
    """
    commands = tool.commands
    if len(arguments) < 2:
        raise typer.BadParameter(f"needs a folder and a command, one of: {', '.join(commands)}")
    folder, name, *rest = arguments
    command = commands.get(name)
    if command is None:
        raise typer.BadParameter(f"no command {name!r}; there are: {', '.join(commands)}")
    if len(rest) not in command.counts:
        raise typer.BadParameter(f"the command is: {command.synopsis}")
    if not Path(folder).is_dir():
        found = "is no folder" if Path(folder).exists() else "there is no such folder"
        raise AerologError(f"{folder}: {found}: give the {tool.owner}'s own folder")
    return tool.action(name, classic=False)(folder, rest, terminal)
