"""The declaration of ``aerolog cluster-tool``."""

from __future__ import annotations

from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import DryRunOption, JsonOption  # noqa: TC001 (Typer reads them)
from aerolog.tools.reference.tool_terminal import terminal_of

app = typer.Typer(add_completion=False)


@command(
    app,
    "cluster-tool",
    examples=[
        "cluster-tool /data/cluster describe",
        "cluster-tool /data/cluster recording-log --json",
        "cluster-tool /data/cluster recovery-plan 1 /data/archive",
        "cluster-tool /data/cluster snapshot",
        "cluster-tool /data/cluster shutdown --yes",
        "cluster-tool --classic /data/cluster recording-log",
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
    classic: Annotated[
        bool,
        typer.Option("--classic", help="Lines and exit codes of the reference's ClusterTool."),
    ] = False,
    as_json: JsonOption = False,
    dry_run: DryRunOption = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> int:
    """Look into the folder of a cluster's node, put it right, or ask the node that runs there.

    Commands that look into files: describe, describe-latest-cm-snapshot, errors, pid,
    recording-log, recovery-plan.
    Commands that change recording.log of a node that does not run, and ask first:
    invalidate-latest-snapshot, seed-recording-log-from-snapshot, sort-recording-log.
    Commands for a node that runs: is-leader, list-members, resume, snapshot,
    validate-recording-log; abort, shutdown and suspend ask first.
    backup-query is for the folder of a cluster backup.
    """
    terminal = terminal_of(classic=classic, as_json=as_json, dry_run=dry_run, yes=yes)
    given = arguments or []
    if classic:
        from aerolog.tools.reference.cluster_tool.classic_cluster_tool import run_classic

        return run_classic(given, terminal)
    from aerolog.tools.reference.archive_tool.table_tool import run
    from aerolog.tools.reference.cluster_tool.cluster_actions import CLUSTER_TOOL

    return run(given, terminal, CLUSTER_TOOL)
