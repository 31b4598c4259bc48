"""``describe``, ``pid`` and ``errors``: the mark files of a node, and the error logs in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.tools.cluster.node_marks import mark_row, owner_of, service_marks
from aerolog.tools.reference.archive_tool.info_actions import (
    log_text,
    tell_driver,
    tell_errors_as_json,
    tell_pid,
)
from aerolog.tools.reference.cluster_tool.cluster_texts import message_line
from aerolog.tools.reference.cluster_tool.raw_cluster_mark import RawClusterMark
from aerolog.tools.terminal.local_time import local_time, time_of_day

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.tools.reference.tool_terminal import Terminal


def pid(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """The pid in the module's mark file."""
    del arguments
    tell_pid(RawClusterMark.open(folder), terminal)
    return 0


def describe(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Times and all fields of each mark file."""
    del arguments
    if terminal.as_json:
        marks = list(_marks(folder))
        terminal.document(
            [mark_row(m.header, m.path, active=m.is_active(terminal.clock)) for m in marks]
        )
        return 0
    for mark in _marks(folder, terminal):
        _show_times(mark, terminal)
        terminal.line(message_line(mark.header))
    return 0


def errors(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Error logs of the module, of its driver, and of the services."""
    del arguments
    if terminal.as_json:
        marks = list(_marks(folder))
        logs = {owner_of(mark.header): mark.errors() for mark in marks}
        tell_errors_as_json(logs, marks[0].header.aeron_directory, terminal)
        return 0
    for mark in _marks(folder, terminal):
        _show_times(mark, terminal)
        terminal.line("Cluster component error log:")
        terminal.write(log_text(mark.errors()))
        header = mark.header
        if header.service_id < 0:
            tell_driver(header.aeron_directory, terminal)
    return 0


def _marks(folder: str, terminal: Terminal | None = None) -> Iterator[RawClusterMark]:
    module = RawClusterMark.open(folder)
    yield module
    services = module.header.services_cluster_dir or folder
    opened = [
        RawClusterMark.open(services, terminal, name=name) for name in service_marks(services)
    ]
    yield from opened


def _show_times(mark: RawClusterMark, terminal: Terminal) -> None:
    now, start = time_of_day(terminal.clock.now_epoch_ms()), local_time(mark.start_timestamp)
    activity = local_time(mark.activity_timestamp)
    kind = mark.header.component_type.name
    terminal.line(f"Type: {kind} {now} (start: {start}, activity: {activity})")
