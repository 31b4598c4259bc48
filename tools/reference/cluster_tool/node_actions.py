"""``describe``, ``pid`` and ``errors``: the mark files of a node, and the error logs in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.cluster.files import CLUSTER_MARK_NAME, ClusterMarkFile
from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.reference.archive_tool.describe_action import local_time
from aerolog.tools.reference.archive_tool.info_actions import (
    classic_log,
    tell_classic_driver,
    tell_errors,
)
from aerolog.tools.reference.cluster_tool.cluster_texts import message_line
from aerolog.tools.reference.cluster_tool.raw_cluster_mark import RawClusterMark, service_marks
from aerolog.tools.terminal.console import print_fields, print_json
from aerolog.transport.errors import AerologError, FileFormatError
from aerolog.transport.protocol.sbe import semantic_version_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.tools.reference.tool_terminal import Terminal


# -- the reference's lines -------------------------------------------------------------------------


def classic_pid(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """The pid in the module's mark file."""
    del arguments
    terminal.line(str(RawClusterMark.open(folder).pid))
    return 0


def classic_describe(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Times and all fields of each mark file."""
    del arguments
    for mark in _classic_marks(folder, terminal):
        _show_times(mark, terminal)
        terminal.line(message_line(mark.header))
    return 0


def classic_errors(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Error logs of the module, of its driver, and of the services."""
    del arguments
    for mark in _classic_marks(folder, terminal):
        _show_times(mark, terminal)
        terminal.line("Cluster component error log:")
        terminal.write(classic_log(mark.errors()))
        header = mark.header
        if header.service_id < 0:
            tell_classic_driver(header.aeron_directory, terminal)
    return 0


def _classic_marks(folder: str, terminal: Terminal) -> Iterator[RawClusterMark]:
    module = RawClusterMark.open(folder)
    yield module
    services = module.header.services_cluster_dir or folder
    opened = [
        RawClusterMark.open(services, terminal, name=name) for name in service_marks(services)
    ]
    yield from opened


def _show_times(mark: RawClusterMark, terminal: Terminal) -> None:
    now, start = local_time(terminal.clock.now_epoch_ms()), local_time(mark.start_timestamp)
    activity = local_time(mark.activity_timestamp)
    kind = mark.header.component_type.name
    terminal.line(f"Type: {kind} {now[-8:]} (start: {start}, activity: {activity})")


# -- tables and JSON -------------------------------------------------------------------------------


def pid(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """The pid in the module's mark file, and whether that module lives."""
    del arguments
    mark = open_mark(folder)
    terminal.result({"pid": mark.header.pid, "active": mark.is_active()}, str(mark.header.pid))
    return 0


def describe(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """The mark files of the module and its services; ends with 1 where one cannot be read."""
    del arguments
    faults: list[AerologError] = []
    rows = [_row(mark) for mark in _marks(folder, faults)]
    if terminal.as_json:
        print_json(rows)
    for index, row in enumerate([] if terminal.as_json else rows):
        if index:
            terminal.line()
        terminal.out.flush()
        print_fields(_readable(row))
    return _tell(faults, terminal)


def errors(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Error logs of the module, its services, and their driver."""
    del arguments
    faults: list[AerologError] = []
    marks = list(_marks(folder, faults))
    logs = {_name(mark): mark.errors() for mark in marks}
    tell_errors(logs, marks[0].header.aeron_directory, terminal)
    return _tell(faults, terminal)


def open_mark(folder: str, name: str = CLUSTER_MARK_NAME) -> ClusterMarkFile:
    """A mark file, read-only, without waiting for it.

    Raises:
        AerologError: it cannot be read, in words that say what to do.
    """
    try:
        return ClusterMarkFile.open(folder, name=name)
    except FileNotFoundError as error:
        raise AerologError(
            f"{error.filename}: there is no {name}: give the folder of a cluster's node"
            " (aeron.cluster.dir), or mount the file system that it is on"
        ) from error
    except FileFormatError as error:
        raise AerologError(
            f"{error}: move it away while nothing runs on the folder: it is written anew at the"
            " next start"
        ) from error


def _marks(folder: str, faults: list[AerologError]) -> Iterator[ClusterMarkFile]:
    """The mark file of the module, and those of services; which cannot be read goes to faults."""
    module = open_mark(folder)
    yield module
    services = module.header.services_cluster_dir or folder
    for name in service_marks(services):
        try:
            yield open_mark(services, name)
        except AerologError as fault:
            faults.append(fault)


def _tell(faults: Sequence[AerologError], terminal: Terminal) -> int:
    for fault in faults:
        terminal.remark(f"aerolog: {fault}")
    return EXIT_FAILED if faults else 0


def _name(mark: ClusterMarkFile) -> str:
    header = mark.header
    if header.service_id >= 0:
        return f"service {header.service_id}"
    return header.component_type.name.lower().replace("_", " ")


def _row(mark: ClusterMarkFile) -> dict[str, Any]:
    header = mark.header
    row = {name: getattr(header, name) for name in header.LAYOUT.names if name != "reserved"}
    return {
        "path": mark.path,
        "active": mark.is_active(),
        **row,
        "version": semantic_version_text(header.version),
        "component_type": header.component_type.name.lower(),
    }


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    seen = row["activity_timestamp"]
    return {
        **row,
        "start_timestamp": local_time(row["start_timestamp"]),
        "activity_timestamp": "ended" if seen == -1 else local_time(seen),
    }
