"""The commands that ask a node that runs: ``list-members``, ``snapshot``, ``shutdown``, ..."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.cluster.errors import ClusterError
from aerolog.cluster.files import CLUSTER_MARK_NAME
from aerolog.cluster.protocol import ClusterComponentType
from aerolog.tools.cluster.members import members_row
from aerolog.tools.cluster.node_requests import (
    leader_row,
    query_deadline_ms,
    timeout_s,
)
from aerolog.tools.cluster.requests import REQUESTS, RefusedError
from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.command_line.java_error import (
    CLUSTER_ERROR,
    DRIVER_TIMEOUT,
    NUMBER_FORMAT,
    JavaError,
)
from aerolog.tools.reference.cluster_tool.cluster_texts import members_line
from aerolog.tools.reference.cluster_tool.raw_cluster_mark import RawClusterMark
from aerolog.tools.reference.tool import EXIT_INVALID
from aerolog.tools.terminal.local_time import local_time
from aerolog.transport.config import parse_duration_ns
from aerolog.transport.errors import ConfigurationError, DriverTimeoutError
from aerolog.transport.memory.cnc import cnc_path
from aerolog.transport.memory.mark_file import linked_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.cluster.protocol import MarkFileHeader
    from aerolog.tools.cluster.running_node import RunningNode
    from aerolog.tools.reference.tool import Action
    from aerolog.tools.reference.tool_terminal import Terminal


@contextmanager
def reference_node(folder: str) -> Iterator[RunningNode]:
    """The node of a folder, with the reference's words where there is none."""
    from aerolog.tools.cluster.running_node import RunningNode

    header = RawClusterMark.open(folder).header
    with _driver_in_words(header), RunningNode(header, timeout_s()) as node:
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
        raise JavaError(DRIVER_TIMEOUT, f"FATAL - {problem}") from error


def _request(name: str) -> Action:
    request = REQUESTS[name]

    def action(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
        del arguments
        with reference_node(folder) as node:
            try:
                member_id = node.check(request)
                node.ask(request, member_id)
                node.await_done(request, member_id, by_state=False)
            except RefusedError as error:
                terminal.result({"done": False, "problem": error.classic}, error.classic)
                return EXIT_INVALID
            except ClusterError as error:
                raise JavaError(CLUSTER_ERROR, f"ERROR - {error}") from error
        terminal.result(
            {"done": True, "request": name, "member_id": member_id},
            f"Member [{member_id}]: {request.toggle.name} applied successfully",
        )
        return 0

    return action


snapshot: Final = _request("snapshot")
suspend: Final = _request("suspend")
resume: Final = _request("resume")
shutdown: Final = _request("shutdown")
abort: Final = _request("abort")
validate_recording_log: Final = _request("validate-recording-log")


def list_members(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """The members, in a line."""
    del arguments
    with reference_node(folder) as node:
        seen = node.members()
    if seen is None:
        problem = "timeout waiting for response from node"
        terminal.result({"problem": problem}, problem)
        return EXIT_INVALID
    terminal.result(members_row(seen), members_line(seen))
    return 0


def is_leader(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """0 for a leader, 1 for another member, 255 without a mark file; nothing is printed."""
    del arguments
    name = CLUSTER_MARK_NAME
    if not Path(linked_folder(folder, name), name).exists():
        terminal.result({"problem": f"{name} does not exist."}, f"{name} does not exist.")
        return EXIT_INVALID
    with reference_node(folder) as node:
        row = leader_row(node)
    if terminal.as_json:
        terminal.document(row)
    return 0 if row["leader"] else EXIT_FAILED


def backup_query(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """When a backup asks its cluster next, or with a delay: when it is to; 255 without a backup."""
    delay_ns = _delay_ns(arguments)
    header = RawClusterMark.open(folder).header
    if header.component_type is not ClusterComponentType.BACKUP:
        problem = "not a cluster backup node"
        terminal.result({"problem": problem}, problem)
        return EXIT_INVALID
    with reference_node(folder) as node:
        next_ms = query_deadline_ms(node, delay_ns, terminal)
    # The date is that of the query.
    now, then = local_time(terminal.clock.now_epoch_ms()), local_time(next_ms)
    row = {"next_query_ms": None if next_ms < 0 else next_ms}
    terminal.result(row, f"{then[:10]}{now[10:]} next: {then}")
    return 0


def _delay_ns(arguments: Sequence[str]) -> int | None:
    if not arguments:
        return None
    try:
        return parse_duration_ns("aeron.cluster.tool.delay", arguments[0])
    except ConfigurationError as error:
        raise JavaError(NUMBER_FORMAT, str(error)) from error
