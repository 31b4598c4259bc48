"""The declaration of ``aerolog archive-tool``."""

from __future__ import annotations

from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import DryRunOption, JsonOption  # noqa: TC001 (Typer reads them)
from aerolog.tools.reference.tool_terminal import terminal_of

app = typer.Typer(add_completion=False)


@command(
    app,
    "archive-tool",
    examples=[
        "archive-tool /data/archive describe",
        "archive-tool /data/archive describe 3 --json",
        "archive-tool /data/archive verify -a --dry-run",
        "archive-tool --classic /data/archive dump 10",
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
    classic: Annotated[
        bool,
        typer.Option(
            "--classic", help="Lines, prompts and exit codes of the reference's ArchiveTool."
        ),
    ] = False,
    as_json: JsonOption = False,
    dry_run: DryRunOption = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> int:
    """Look into an archive's folder, verify it and put it right; no archive needs to run.

    Commands that look: count-entries, describe, describe-all, dump, errors, max-entries, pid.
    Commands that may change the folder, and ask first: capacity, checksum, compact,
    delete-orphaned-segments, mark-invalid, mark-valid, migrate, verify.
    """
    terminal = terminal_of(classic=classic, as_json=as_json, dry_run=dry_run, yes=yes)
    given = arguments or []
    if not classic:
        from aerolog.tools.reference.archive_tool.table_tool import run

        return run(given, terminal)
    from aerolog.tools.reference.archive_tool.classic_tool import run_classic

    return run_classic(given, terminal)
