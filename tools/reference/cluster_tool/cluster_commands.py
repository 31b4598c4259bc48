"""``aerolog cluster``: going on with the folder of a node that was found changed."""

from __future__ import annotations

from typing import Annotated

import typer

from aerolog.tools.command_line.help import HouseGroup, command
from aerolog.tools.command_line.options import DryRunOption, JsonOption  # noqa: TC001 (Typer reads them)
from aerolog.tools.reference.tool_terminal import terminal_of

app = typer.Typer(
    cls=HouseGroup,
    add_completion=False,
    no_args_is_help=True,
    help="Go on with the folder of a node that was found changed.",
)


@app.callback()
def _group() -> None:
    """Keep the name of the one command."""


@command(app, "accept", examples=["cluster accept /data/cluster"])
def accept(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="The node's cluster folder.", show_default=False)
    ],
    *,
    as_json: JsonOption = False,
    dry_run: DryRunOption = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> int:
    """Have a node that does not run start from its recording log and snapshots as they are now.

    A node compares recording.log and its snapshots with their checksums in the folder's aerolog/,
    and does not start where they are not what was written. This removes the checksums, after a
    question; the next start makes them anew from what it finds. What is damaged stays so: see
    first whether a copy, or the snapshot before, can be had.
    """
    from aerolog.tools.reference.cluster_tool.recording_log_actions import accept as accept_folder

    return accept_folder(
        folder, terminal_of(classic=False, as_json=as_json, dry_run=dry_run, yes=yes)
    )
