"""The declaration of ``aerolog cluster-tool``."""

from __future__ import annotations

from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import JsonOption  # noqa: TC001 (Typer reads it)
from aerolog.tools.reference.options import ClassicOption, check_arguments

app = typer.Typer(add_completion=False)


@command(
    app,
    "cluster-tool",
    examples=[
        "cluster-tool /data/cluster describe",
        "cluster-tool /data/cluster recording-log --json",
        "cluster-tool /data/cluster recovery-plan 1 /data/archive",
        "cluster-tool /data/cluster snapshot",
    ],
    context_settings={"ignore_unknown_options": True},
)
def cluster_tool(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DIR COMMAND [ARGUMENT]...",
            help="The node's cluster folder, what to do, and with what.",
            show_default=False,
        ),
    ] = None,
    *,
    as_json: JsonOption = False,
    classic: ClassicOption = False,
) -> int:
    """Do what the reference's ClusterTool does, with its lines and exit codes; it does not ask.

    Commands that look into files: describe, describe-latest-cm-snapshot, errors, pid,
    recording-log, recovery-plan.
    Commands that change recording.log: invalidate-latest-snapshot,
    seed-recording-log-from-snapshot, sort-recording-log.
    Commands for a node that runs: abort, is-leader, list-members, resume, shutdown, snapshot,
    suspend, validate-recording-log; backup-query for a cluster backup.
    Tables, dry runs and questions: see `cluster`.
    """
    from aerolog.tools.reference.cluster_tool.cluster_tool import run
    from aerolog.tools.reference.tool_terminal import Terminal

    del classic
    return run(check_arguments(arguments or [], "cluster"), Terminal(as_json=as_json))
