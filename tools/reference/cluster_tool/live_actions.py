"""The commands that ask a node that runs: ``list-members``, ``snapshot``, ``shutdown``, ..."""

from __future__ import annotations

from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aerolog.cluster.counter_types import ClusterCounterType, Toggle
from aerolog.cluster.errors import ClusterError
from aerolog.cluster.files import CLUSTER_MARK_NAME, ClusterMarkFile, RecordingLog
from aerolog.cluster.protocol import ClusterComponentType
from aerolog.tools.archive_files.java_error import NUMBER_FORMAT, JavaError
from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.reference.archive_tool.actions import EXIT_INVALID
from aerolog.tools.reference.archive_tool.change_plan import TablePlan, check_can_ask, is_agreed
from aerolog.tools.reference.archive_tool.describe_action import local_time
from aerolog.tools.reference.cluster_tool.cluster_texts import endpoints_of, members_line
from aerolog.tools.reference.cluster_tool.node_actions import open_mark
from aerolog.tools.reference.cluster_tool.raw_cluster_mark import CLUSTER_ERROR, RawClusterMark
from aerolog.tools.reference.cluster_tool.running_node import REQUESTS, RefusedError, RunningNode
from aerolog.tools.terminal.console import print_json, print_table, remark
from aerolog.tools.views.cluster_counters import value_name
from aerolog.transport.config import Declare, Settings, parse_duration_ns
from aerolog.transport.errors import AerologError, ConfigurationError, DriverTimeoutError
from aerolog.transport.memory.cnc import cnc_path
from aerolog.transport.memory.mark_file import linked_folder
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.archive.client import AeronArchive
    from aerolog.cluster.protocol import MarkFileHeader
    from aerolog.tools.reference.archive_tool.actions import Action
    from aerolog.tools.reference.tool_terminal import Terminal

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


def _timeout_s() -> float:
    settings = Settings(_declare.table)
    settings.report(remark)
    return settings[_TIMEOUT] / NS_PER_S


# -- the reference's lines -------------------------------------------------------------------------


@contextmanager
def classic_node(folder: str) -> Iterator[RunningNode]:
    """The node of a folder, with the reference's words where there is none."""
    header = RawClusterMark.open(folder).header
    with _driver_in_words(header), RunningNode(header, _timeout_s()) as node:
        yield node


@contextmanager
def _driver_in_words(header: MarkFileHeader) -> Iterator[None]:
    """The reference's words for a driver that is not there."""
    try:
        yield
    except DriverTimeoutError as error:
        path = Path(cnc_path(header.aeron_directory)).absolute()
        missing = f"CnC file not created: {path}"
        problem = "no driver heartbeat detected" if path.exists() else missing
        raise JavaError(
            "io.aeron.exceptions.DriverTimeoutException", f"FATAL - {problem}"
        ) from error


def _classic_request(name: str) -> Action:
    request = REQUESTS[name]

    def action(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
        del arguments
        with classic_node(folder) as node:
            try:
                member_id = node.check(request)
                node.ask(request, member_id)
                node.await_done(request, member_id, by_state=False)
            except RefusedError as error:
                terminal.line(error.classic)
                return EXIT_INVALID
            except ClusterError as error:
                raise JavaError(CLUSTER_ERROR, f"ERROR - {error}") from error
        terminal.line(f"Member [{member_id}]: {request.toggle.name} applied successfully")
        return 0

    return action


classic_snapshot: Final = _classic_request("snapshot")
classic_suspend: Final = _classic_request("suspend")
classic_resume: Final = _classic_request("resume")
classic_shutdown: Final = _classic_request("shutdown")
classic_abort: Final = _classic_request("abort")
classic_validate_recording_log: Final = _classic_request("validate-recording-log")


def classic_list_members(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """The members, in a line."""
    del arguments
    with classic_node(folder) as node:
        seen = node.members()
    if seen is None:
        terminal.line("timeout waiting for response from node")
        return EXIT_INVALID
    terminal.line(members_line(seen))
    return 0


def classic_is_leader(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """0 for a leader, 1 for another member, 255 without a mark file; nothing is printed."""
    del arguments
    name = CLUSTER_MARK_NAME
    if not Path(linked_folder(folder, name), name).exists():
        terminal.line(f"{name} does not exist.")
        return EXIT_INVALID
    with classic_node(folder) as node:
        return 0 if node.is_leader else 1


def classic_backup_query(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """When a backup asks its cluster next, or with a delay: when it is to; 255 without a backup."""
    delay_ns = _delay_ns(arguments)
    header = RawClusterMark.open(folder).header
    if header.component_type is not ClusterComponentType.BACKUP:
        terminal.line("not a cluster backup node")
        return EXIT_INVALID
    with classic_node(folder) as node:
        next_ms = _query_deadline(node, delay_ns, terminal)
    # The date is that of the query.
    now, then = local_time(terminal.clock.now_epoch_ms()), local_time(next_ms)
    terminal.line(f"{then[:10]}{now[10:]} next: {then}")
    return 0


def _delay_ns(arguments: Sequence[str]) -> int | None:
    if not arguments:
        return None
    try:
        return parse_duration_ns("aeron.cluster.tool.delay", arguments[0])
    except ConfigurationError as error:
        raise JavaError(NUMBER_FORMAT, str(error)) from error


def _query_deadline(node: RunningNode, delay_ns: int | None, terminal: Terminal) -> int:
    """When the backup asks next, epoch milliseconds, -1 for unknown; set before if given."""
    if delay_ns is not None:
        due_ms = int(terminal.clock.now_epoch_ms()) + delay_ns // NS_PER_MS
        node.set_value(ClusterCounterType.BACKUP_QUERY_DEADLINE, due_ms)
    found = node.value(ClusterCounterType.BACKUP_QUERY_DEADLINE)
    return -1 if found is None else found


# -- tables and JSON -------------------------------------------------------------------------------


@contextmanager
def node_of(folder: str) -> Iterator[RunningNode]:
    """The node that runs in a folder.

    Raises:
        AerologError: none does, or its driver does not answer.
    """
    mark = open_mark(folder)
    if not mark.is_active():
        how = "ended in good order" if mark.activity_timestamp < 0 else "gives no sign of life"
        raise AerologError(
            f"{folder}: no node runs there: the last one, process {mark.header.pid}, {how}: start"
            f" one, or see aerolog doctor --cluster-dir {folder}"
        )
    try:
        with RunningNode(mark.header, _timeout_s()) as node:
            yield node
    except DriverTimeoutError as error:
        raise AerologError(
            f"{folder}: its driver does not answer: {error}: see aerolog doctor --cluster-dir"
            f" {folder}"
        ) from error


@contextmanager
def archive_of(folder: str, *, classic: bool) -> Iterator[AeronArchive]:
    """A client of the archive of the node that runs in a folder."""
    from aerolog.archive.client import AeronArchive

    with (
        classic_node(folder) if classic else node_of(folder) as node,
        AeronArchive(
            node.aeron,
            request_channel="aeron:ipc",
            request_stream_id=node.header.archive_stream_id,
            response_channel="aeron:ipc",
        ) as client,
    ):
        yield client


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
        f"{folder}: the node ended before it had done {name}{why}; see aerolog cluster-tool"
        f" {folder} errors"
    )


def _request(name: str) -> Action:
    request = REQUESTS[name]

    def action(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
        del arguments
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
                return 0
            before = node.value(ClusterCounterType.SNAPSHOT_COUNT)
            begin_ns = terminal.clock.now_ns()
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
                    f" aerolog cluster-tool {folder} errors"
                )
        done: dict[str, Any] = {**asked, "seconds": round(seconds, 3)}
        if request.toggle in {Toggle.SNAPSHOT, Toggle.SHUTDOWN}:
            done["snapshot_position"] = _snapshot_position(folder)
        if terminal.as_json:
            print_json(done)
        else:
            position = done.get("snapshot_position")
            where = "" if position is None else f", the newest snapshot is at position {position}"
            terminal.line(f"{name}: done in {seconds:.3f} s{where}")
        return 0

    return action


snapshot: Final = _request("snapshot")
suspend: Final = _request("suspend")
resume: Final = _request("resume")
shutdown: Final = _request("shutdown")
abort: Final = _request("abort")
validate_recording_log: Final = _request("validate-recording-log")


def list_members(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """The members as the node knows them."""
    del arguments
    with node_of(folder) as node:
        seen = node.members()
    if seen is None:
        raise AerologError(
            f"{folder}: the consensus module does not answer within {node.timeout_s:g} s: see"
            f" whether it works with aerolog doctor --cluster-dir {folder}, or wait longer by"
            " AERON_CLUSTER_TOOL_TIMEOUT"
        )
    if terminal.as_json:
        print_json(
            {
                "current_time_ns": seen.current_time_ns,
                "leader_member_id": seen.leader_member_id,
                "member_id": seen.member_id,
                "members": [
                    {name: getattr(one, name) for name in one.LAYOUT.names}
                    for one in seen.active_members
                ],
            }
        )
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


def is_leader(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """0 for a leader, 1 for another member."""
    del arguments
    with node_of(folder) as node:
        leads = node.is_leader
        names = [
            (value_name(type_id, -1 if value is None else value) or "unknown").lower()
            for type_id in (ClusterCounterType.NODE_ROLE, ClusterCounterType.ELECTION_STATE)
            for value in (node.value(type_id),)
        ]
    role, election = names
    if terminal.as_json:
        print_json({"leader": leads, "role": role, "election_state": election})
    else:
        under_way = "" if election == "closed" else f", in an election (state {election})"
        terminal.line(f"{role}{under_way}")
    return 0 if leads else EXIT_FAILED


def backup_query(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """When a cluster backup asks its cluster next; with a delay: when it is to."""
    delay_ns = parse_duration_ns("the delay", arguments[0]) if arguments else None
    if open_mark(folder).header.component_type is not ClusterComponentType.BACKUP:
        raise AerologError(f"{folder} is not the folder of a cluster backup")
    if terminal.dry_run:
        delay_ns = None
    with node_of(folder) as node:
        next_ms = _query_deadline(node, delay_ns, terminal)
    if terminal.as_json:
        print_json({"next_query_ms": None if next_ms < 0 else next_ms})
    else:
        terminal.line("not known" if next_ms < 0 else f"next query: {local_time(next_ms)}")
    return 0
