"""``aerolog cluster``: a node's folder in tables, changes of it, and requests to a running node."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aerolog.tools.command_line.help import HouseGroup, command
from aerolog.tools.command_line.options import (
    DryRunOption,
    JsonOption,
    YesOption,
    grouped,
    option_parser,
)
from aerolog.transport.config import parse_duration_ns
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from aerolog.tools.terminal.command_terminal import ChangeTerminal

app = typer.Typer(
    cls=HouseGroup,
    add_completion=False,
    no_args_is_help=True,
    help="Look into a node's folder, change it, and ask the node that runs there.",
)

NodeArgument = Annotated[
    str, typer.Argument(metavar="DIR", help="The node's cluster folder.", show_default=False)
]
NodeArchiveArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[ARCHIVE]",
        help="Folder of its archive; by default the archive that runs is asked.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class NodeChangeOptions:
    """How a command goes about a change."""

    yes: YesOption = False
    dry_run: DryRunOption = False
    as_json: JsonOption = False

    def terminal(self) -> "ChangeTerminal":
        """Give the terminal of the run."""
        from aerolog.tools.terminal.command_terminal import ChangeTerminal

        return ChangeTerminal(as_json=self.as_json, dry_run=self.dry_run, yes=self.yes)


def check_node(folder: str) -> str:
    """Check that there is a folder.

    Raises:
        AerologError: there is none.
    """
    if not Path(folder).is_dir():
        found = "is no folder" if Path(folder).exists() else "there is no such folder"
        raise AerologError(f"{folder}: {found}: give the cluster's own folder")
    return folder


def _terminal(as_json: bool) -> "ChangeTerminal":
    return NodeChangeOptions(as_json=as_json).terminal()


@command(app, "describe", examples=["cluster describe /data/cluster"])
def describe(folder: NodeArgument, *, as_json: JsonOption = False) -> int:
    """Print who owns the folder: the mark files of the module and its services."""
    from aerolog.tools.cluster import node_marks

    return node_marks.describe(check_node(folder), _terminal(as_json))


@command(app, "errors", examples=["cluster errors /data/cluster"])
def errors(folder: NodeArgument, *, as_json: JsonOption = False) -> int:
    """Print the distinct errors of the module, its services and their driver."""
    from aerolog.tools.cluster import node_marks

    return node_marks.errors(check_node(folder), _terminal(as_json))


@command(app, "recording-log", examples=["cluster recording-log /data/cluster --json"])
def recording_log(folder: NodeArgument, *, as_json: JsonOption = False) -> None:
    """Print the terms and snapshots of the node, in the order of terms and positions."""
    from aerolog.tools.cluster.recording_log import show_recording_log

    show_recording_log(check_node(folder), _terminal(as_json))


@command(app, "recovery-plan", examples=["cluster recovery-plan /data/cluster 1 /data/archive"])
def recovery_plan(
    folder: NodeArgument,
    services: Annotated[
        int,
        typer.Argument(metavar="SERVICES", help="How many it has.", min=0, show_default=False),
    ],
    archive: NodeArchiveArgument = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Print what the node would start from."""
    from aerolog.tools.cluster.recording_log import show_recovery_plan

    show_recovery_plan(check_node(folder), services, archive, _terminal(as_json))


@command(app, "describe-latest-cm-snapshot", examples=["cluster describe-latest-cm-snapshot node0"])
def describe_latest_cm_snapshot(
    folder: NodeArgument, archive: NodeArchiveArgument = None, *, as_json: JsonOption = False
) -> None:
    """Print what the newest snapshot of the consensus module holds."""
    from aerolog.tools.cluster.snapshot_contents import describe_snapshot

    describe_snapshot(check_node(folder), archive, _terminal(as_json))


@command(app, "is-leader", examples=["cluster is-leader /data/cluster"])
def is_leader(folder: NodeArgument, *, as_json: JsonOption = False) -> int:
    """Print the role of a node that runs: 0 when it leads and no election is under way, else 1."""
    from aerolog.tools.cluster import node_requests

    return node_requests.is_leader(check_node(folder), _terminal(as_json))


@command(app, "list-members", examples=["cluster list-members /data/cluster"])
def list_members(folder: NodeArgument, *, as_json: JsonOption = False) -> int:
    """Print leader and members as a node that runs knows them."""
    from aerolog.tools.cluster import node_requests

    return node_requests.list_members(check_node(folder), _terminal(as_json))


@command(app, "snapshot", examples=["cluster snapshot /data/cluster"])
@grouped
def snapshot(folder: NodeArgument, *, how: NodeChangeOptions) -> None:
    """Have the cluster take a snapshot, and wait for it."""
    from aerolog.tools.cluster.node_requests import request_of

    request_of(folder, "snapshot", how.terminal())


@command(app, "suspend", examples=["cluster suspend /data/cluster --yes"])
@grouped
def suspend(folder: NodeArgument, *, how: NodeChangeOptions) -> None:
    """Have the cluster read no messages of clients and fire no timers."""
    from aerolog.tools.cluster.node_requests import request_of

    request_of(folder, "suspend", how.terminal())


@command(app, "resume", examples=["cluster resume /data/cluster"])
@grouped
def resume(folder: NodeArgument, *, how: NodeChangeOptions) -> None:
    """Have a suspended cluster go on."""
    from aerolog.tools.cluster.node_requests import request_of

    request_of(folder, "resume", how.terminal())


@command(app, "shutdown", examples=["cluster shutdown /data/cluster --yes"])
@grouped
def shutdown(folder: NodeArgument, *, how: NodeChangeOptions) -> None:
    """End the cluster with a snapshot, and wait for its end."""
    from aerolog.tools.cluster.node_requests import request_of

    request_of(folder, "shutdown", how.terminal())


@command(app, "abort", examples=["cluster abort /data/cluster --yes"])
@grouped
def abort(folder: NodeArgument, *, how: NodeChangeOptions) -> None:
    """End the cluster without a snapshot, and wait for its end."""
    from aerolog.tools.cluster.node_requests import request_of

    request_of(folder, "abort", how.terminal())


@command(app, "validate-recording-log", examples=["cluster validate-recording-log /data/cluster"])
@grouped
def validate_recording_log(folder: NodeArgument, *, how: NodeChangeOptions) -> None:
    """Have a node compare recording.log with its archive."""
    from aerolog.tools.cluster.node_requests import request_of

    request_of(folder, "validate-recording-log", how.terminal())


@command(app, "backup-query", examples=["cluster backup-query /data/backup 10s"])
def backup_query(
    folder: NodeArgument,
    delay: Annotated[
        int | None,
        typer.Argument(
            metavar="[DELAY]",
            help="Ask the cluster after this time, such as 10s.",
            parser=option_parser(parse_duration_ns, "the delay"),
            show_default=False,
        ),
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Print when a cluster backup asks its cluster next, or have it ask after a delay."""
    from aerolog.tools.cluster import node_requests

    node_requests.backup_query(check_node(folder), delay, _terminal(as_json))


@command(app, "sort-recording-log", examples=["cluster sort-recording-log /data/cluster --dry-run"])
@grouped
def sort_recording_log(folder: NodeArgument, *, how: NodeChangeOptions) -> None:
    """Rewrite recording.log in the order of terms and positions."""
    from aerolog.tools.cluster import recording_log as log_changes

    log_changes.sort_recording_log(check_node(folder), how.terminal())


@command(
    app,
    "seed-recording-log-from-snapshot",
    examples=["cluster seed-recording-log-from-snapshot /data/cluster --dry-run"],
)
@grouped
def seed_recording_log_from_snapshot(folder: NodeArgument, *, how: NodeChangeOptions) -> None:
    """Make the newest snapshot the start of a new recording.log; the old one stays beside it."""
    from aerolog.tools.cluster import recording_log as log_changes

    log_changes.seed_recording_log_from_snapshot(check_node(folder), how.terminal())


@command(
    app,
    "invalidate-latest-snapshot",
    examples=["cluster invalidate-latest-snapshot /data/cluster --dry-run"],
)
@grouped
def invalidate_latest_snapshot(folder: NodeArgument, *, how: NodeChangeOptions) -> None:
    """Make the newest snapshot invalid, so that the node starts from the one before it."""
    from aerolog.tools.cluster import recording_log as log_changes

    log_changes.invalidate_latest_snapshot(check_node(folder), how.terminal())


@command(app, "accept", examples=["cluster accept /data/cluster"])
@grouped
def accept(folder: NodeArgument, *, how: NodeChangeOptions) -> None:
    """Have a node that does not run start from its recording log and snapshots as they are now.

    A node compares recording.log and its snapshots with their checksums in the folder's aerolog/,
    and does not start where they are not what was written. This removes the checksums, after a
    question; the next start makes new ones from what it finds. What is damaged stays so: see
    first whether a copy, or the snapshot before, can be had.
    """
    from aerolog.tools.cluster import recording_log as log_changes

    log_changes.accept(folder, how.terminal())
