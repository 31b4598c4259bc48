"""The declaration of ``aerolog archive-tool``."""

from __future__ import annotations

from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import JsonOption  # noqa: TC001 (Typer reads it)
from aerolog.tools.reference.options import ClassicOption, check_arguments

app = typer.Typer(add_completion=False)


@command(
    app,
    "archive-tool",
    examples=[
        "archive-tool /data/archive describe",
        "archive-tool /data/archive describe 3 --json",
        "archive-tool /data/archive verify -a",
        "archive-tool /data/archive dump 10",
    ],
    context_settings={"ignore_unknown_options": True},
)
def archive_tool(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DIR COMMAND [ARGUMENT]...",
            help="The archive's folder, what to do, and with what.",
            show_default=False,
        ),
    ] = None,
    *,
    as_json: JsonOption = False,
    classic: ClassicOption = False,
) -> int:
    """Do what the reference's ArchiveTool does, with its lines, prompts and exit codes.

    Commands that look: count-entries, describe, describe-all, dump, errors, max-entries, pid.
    Commands that may change the folder: checksum, compact, delete-orphaned-segments, mark-invalid,
    mark-valid, migrate, verify.
    Tables, dry runs and explanations: see `recordings`, `verify` and `explain`.
    """
    from aerolog.tools.reference.archive_tool.archive_tool import run
    from aerolog.tools.reference.tool_terminal import Terminal

    del classic
    return run(check_arguments(arguments or [], "recordings"), Terminal(as_json=as_json))
