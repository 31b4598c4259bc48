"""What a node that runs answers, and what it can be asked for."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final

from aerolog.cluster.counter_types import ClusterCounterType, Toggle
from aerolog.cluster.files import ClusterMarkFile, RecordingLog
from aerolog.cluster.protocol import ClusterComponentType
from aerolog.tools.cluster.members import endpoints_of, members_row
from aerolog.tools.cluster.node_marks import open_mark
from aerolog.tools.cluster.requests import REQUESTS
from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.terminal.console import print_table, remark
from aerolog.tools.terminal.local_time import local_time
from aerolog.tools.terminal.table_plan import TablePlan, check_can_ask, is_agreed
from aerolog.tools.views.cluster_counters import value_name
from aerolog.transport.config import Declare, Settings
from aerolog.transport.errors import AerologError, DriverTimeoutError
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from aerolog.archive.client import AeronArchive
    from aerolog.tools.cluster.running_node import RunningNode
    from aerolog.tools.terminal.command_terminal import ChangeTerminal, CommandTerminal

    #: Reaches the node of a folder.
    Nodes = Callable[[str], AbstractContextManager[RunningNode]]

_declare: Final = Declare("aeron.cluster.tool.")
_TIMEOUT: Final = _declare.duration(
    "aeron.cluster.tool.timeout", 10_000_000_000, "how long the tool waits for the module's answer"
)
_MEMBER_COLUMNS: Final = (
    "member",
    "leader",
    "term",
    "position",
    "ingress",
    "consensus",
    "log",
    "catchup",
    "archive",
)


def timeout_s() -> float:
    """How long a module is given for an answer, by the settings of the environment."""
    settings = Settings(_declare.table)
    settings.report(remark)
    return settings[_TIMEOUT] / NS_PER_S


@contextmanager
def archive_of(folder: str, nodes: Nodes) -> Iterator[AeronArchive]:
    """A client of the archive of the node that runs in a folder."""
    from aerolog.archive.client import AeronArchive

    with (
        nodes(folder) as node,
        AeronArchive(
            node.aeron,
            request_channel="aeron:ipc",
            request_stream_id=node.header.archive_stream_id,
            response_channel="aeron:ipc",
        ) as client,
    ):
        yield client


def query_deadline_ms(node: RunningNode, delay_ns: int | None, terminal: CommandTerminal) -> int:
    """When the backup asks next, epoch milliseconds, -1 for unknown; set before if given."""
    if delay_ns is not None:
        due_ms = int(terminal.clock.now_epoch_ms()) + delay_ns // NS_PER_MS
        node.set_value(ClusterCounterType.BACKUP_QUERY_DEADLINE, due_ms)
    found = node.value(ClusterCounterType.BACKUP_QUERY_DEADLINE)
    return -1 if found is None else found


@contextmanager
def node_of(folder: str) -> Iterator[RunningNode]:
    """The node that runs in a folder.

    Raises:
        AerologError: none does, or its driver does not answer.
    """
    from aerolog.tools.cluster.running_node import RunningNode

    mark = open_mark(folder)
    if not mark.is_active():
        how = "ended in good order" if mark.activity_timestamp < 0 else "gives no sign of life"
        raise AerologError(
            f"{folder}: no node runs there: the last one, process {mark.header.pid}, {how}: start"
            f" one, or see aerolog doctor --cluster-dir {folder}"
        )
    try:
        with RunningNode(mark.header, timeout_s()) as node:
            yield node
    except DriverTimeoutError as error:
        raise AerologError(
            f"{folder}: its driver does not answer: {error}: see aerolog doctor --cluster-dir"
            f" {folder}"
        ) from error


def _snapshot_position(folder: str) -> int | None:
    with RecordingLog(folder, writable=False) as log:
        newest = log.latest_snapshot()
    return newest[0].log_position if newest else None


def _why_ended(folder: str, begin_ms: int, name: str) -> str:
    """Say why a node ended before it had done what it was asked for, if it has noted why.

    Args:
        folder: the node's.
        begin_ms: when it was asked, epoch ms.
        name: what it was asked for.
    """
    with closing(ClusterMarkFile.open(folder)) as mark:
        newest = max(mark.errors(begin_ms), key=lambda error: error.last_ms, default=None)
    why = "" if newest is None else f": {newest.text.splitlines()[0]}"
    return (
        f"{folder}: the node ended before it had done {name}{why}; see aerolog cluster errors"
        f" {folder}"
    )


def request_of(folder: str, name: str, terminal: ChangeTerminal) -> None:
    """Ask a node for something, after a question where it then answers no client, and wait for it.

    Args:
        folder: the node's folder.
        name: one of `REQUESTS`.
        terminal: where it is shown and asked.

    Raises:
        AerologError: the node cannot be asked, or has not done it.
    """
    request = REQUESTS[name]
    if request.stops:
        check_can_ask(terminal)
    with node_of(folder) as node:
        member_id = node.check(request)
        asked = {"request": name, "cluster_id": node.header.cluster_id, "member_id": member_id}
        plan = TablePlan(
            f"{name} on member {member_id} of cluster {node.header.cluster_id}"
            + (", which then answers no client" if request.stops else ""),
            details=asked,
        )
        if (request.stops or terminal.dry_run) and not is_agreed(plan, terminal):
            return
        before, begin_ns = node.value(ClusterCounterType.SNAPSHOT_COUNT), terminal.clock.now_ns()
        old, begin_ms = _snapshot_position(folder), terminal.clock.now_epoch_ms()
        node.ask(request, member_id)
        node.await_done(request, member_id, by_state=True)
        is_lacking = name == "shutdown" and _snapshot_position(folder) == old
        if node.has_ended and (is_lacking or not request.stops):
            raise AerologError(_why_ended(folder, begin_ms, name))
        seconds = (terminal.clock.now_ns() - begin_ns) / NS_PER_S
        if name == "snapshot" and node.value(ClusterCounterType.SNAPSHOT_COUNT) == before:
            raise AerologError(
                f"{folder}: there is no new snapshot: a service could not take its own: see"
                f" aerolog cluster errors {folder}"
            )
    done: dict[str, Any] = {**asked, "seconds": round(seconds, 3)}
    if request.toggle in {Toggle.SNAPSHOT, Toggle.SHUTDOWN}:
        done["snapshot_position"] = _snapshot_position(folder)
    if terminal.as_json:
        terminal.document(done)
    else:
        position = done.get("snapshot_position")
        where = "" if position is None else f", the newest snapshot is at position {position}"
        terminal.line(f"{name}: done in {seconds:.3f} s{where}")


def list_members(folder: str, terminal: CommandTerminal) -> int:
    """The members as the node knows them."""
    with node_of(folder) as node:
        seen = node.members()
    if seen is None:
        raise AerologError(
            f"{folder}: the consensus module does not answer within {node.timeout_s:g} s: see"
            f" whether it works with aerolog doctor --cluster-dir {folder}, or wait longer by"
            " AERON_CLUSTER_TOOL_TIMEOUT"
        )
    if terminal.as_json:
        terminal.document(members_row(seen))
        return 0
    terminal.out.flush()
    print_table(
        _MEMBER_COLUMNS,
        [
            (
                one.member_id,
                "yes" if one.member_id == seen.leader_member_id else "no",
                one.leadership_term_id,
                one.log_position,
                *endpoints_of(one),
            )
            for one in seen.active_members
        ],
        right=("member", "term", "position"),
    )
    return 0


def leader_row(node: RunningNode) -> dict[str, Any]:
    """Whether a node leads, its role, and the state of its election, as JSON."""
    names = [
        (value_name(type_id, -1 if value is None else value) or "unknown").lower()
        for type_id in (ClusterCounterType.NODE_ROLE, ClusterCounterType.ELECTION_STATE)
        for value in (node.value(type_id),)
    ]
    return {"leader": node.is_leader, "role": names[0], "election_state": names[1]}


def is_leader(folder: str, terminal: CommandTerminal) -> int:
    """0 for a leader, 1 for another member."""
    with node_of(folder) as node:
        row = leader_row(node)
    leads, role, election = row.values()
    if terminal.as_json:
        terminal.document(row)
    else:
        under_way = "" if election == "closed" else f", in an election (state {election})"
        terminal.line(f"{role}{under_way}")
    return 0 if leads else EXIT_FAILED


def backup_query(folder: str, delay_ns: int | None, terminal: CommandTerminal) -> None:
    """Print when a cluster backup asks its cluster next; with a delay it asks then."""
    if open_mark(folder).header.component_type is not ClusterComponentType.BACKUP:
        raise AerologError(f"{folder} is not the folder of a cluster backup")
    with node_of(folder) as node:
        next_ms = query_deadline_ms(node, delay_ns, terminal)
    if terminal.as_json:
        terminal.document({"next_query_ms": None if next_ms < 0 else next_ms})
    else:
        terminal.line("not known" if next_ms < 0 else f"next query: {local_time(next_ms)}")
