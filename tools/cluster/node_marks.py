"""The mark files of a node, and the error logs in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aerolog.cluster.files import CLUSTER_MARK_NAME, ClusterMarkFile, service_mark_name
from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.terminal.console import print_fields
from aerolog.tools.terminal.local_time import local_time
from aerolog.tools.terminal.terminal_text import fit, fit_error
from aerolog.tools.views.errors import error_row
from aerolog.transport.errors import AerologError, FileFormatError
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.error_text import format_time
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.mark_file import link_name
from aerolog.transport.protocol.sbe import semantic_version_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from aerolog.cluster.protocol import MarkFileHeader
    from aerolog.tools.terminal.command_terminal import CommandTerminal
    from aerolog.transport.memory.error_log import ErrorObservation

_SERVICES_MAX: Final = 128


def describe(folder: str, terminal: CommandTerminal) -> int:
    """The mark files of the module and its services; ends with 1 where one cannot be read."""
    faults: list[AerologError] = []
    rows = [
        mark_row(mark.header, mark.path, active=mark.is_active())
        for mark in marks_of(folder, faults)
    ]
    if terminal.as_json:
        terminal.document(rows)
    for index, row in enumerate([] if terminal.as_json else rows):
        if index:
            terminal.line()
        terminal.out.flush()
        print_fields(_readable(row))
    return _tell(faults, terminal)


def errors(folder: str, terminal: CommandTerminal) -> int:
    """Error logs of the module, its services, and their driver."""
    faults: list[AerologError] = []
    marks = list(marks_of(folder, faults))
    logs = {owner_of(mark.header): mark.errors() for mark in marks}
    _tell_errors(logs, marks[0].header.aeron_directory, terminal)
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


def marks_of(folder: str, faults: list[AerologError]) -> Iterator[ClusterMarkFile]:
    """The mark file of the module, and those of services; which cannot be read goes to faults."""
    module = open_mark(folder)
    yield module
    services = module.header.services_cluster_dir or folder
    for name in service_marks(services):
        try:
            yield open_mark(services, name)
        except AerologError as fault:
            faults.append(fault)


def _tell(faults: Sequence[AerologError], terminal: CommandTerminal) -> int:
    for fault in faults:
        terminal.remark(f"aerolog: {fault}")
    return EXIT_FAILED if faults else 0


def owner_of(header: MarkFileHeader) -> str:
    """Say whose a mark file is: of the consensus module, or of a service."""
    if header.service_id >= 0:
        return f"service {header.service_id}"
    return header.component_type.name.lower().replace("_", " ")


def mark_row(header: MarkFileHeader, path: str, *, active: bool) -> dict[str, Any]:
    """The fields of a mark file as JSON."""
    row = {name: getattr(header, name) for name in header.LAYOUT.names if name != "reserved"}
    return {
        "path": path,
        "active": active,
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


def service_marks(folder: str) -> Iterator[str]:
    """Names of the mark files of services in a folder, in the order of the services."""
    for service_id in range(_SERVICES_MAX):
        name = service_mark_name(service_id)
        if any(Path(folder, each).exists() for each in (name, link_name(name))):
            yield name


def _tell_errors(
    logs: Mapping[str, list[ErrorObservation]], aeron_dir: str, terminal: CommandTerminal
) -> None:
    """Print error logs, named by whose they are, and that of the driver in a directory."""
    driver, problem = _driver_errors(aeron_dir)
    if terminal.as_json:
        terminal.document(
            {
                **{whose: [error_row(seen) for seen in log] for whose, log in logs.items()},
                "aeron_directory": aeron_dir,
                "driver": [error_row(seen) for seen in driver],
                "driver_problem": problem,
            }
        )
        return
    for whose, log in logs.items():
        _show_log(whose.capitalize(), log, terminal)
        terminal.line()
    if problem is None:
        _show_log(f"Driver in {fit(aeron_dir)}", driver, terminal)
    else:
        terminal.line(f"Driver in {fit(aeron_dir)}: {problem}")


def _driver_errors(aeron_dir: str) -> tuple[list[ErrorObservation], str | None]:
    """What the driver has seen, or why that is not known."""
    try:
        return CncFile.open(RealFileSystem(), aeron_dir).errors(), None
    except FileNotFoundError:
        return [], "it has no cnc.dat: that driver is gone, and its error log with it"
    except (FileFormatError, OSError, ValueError) as error:  # a NUL in a damaged path, too
        return [], f"its cnc.dat cannot be read: {error}"


def _show_log(whose: str, observations: list[ErrorObservation], terminal: CommandTerminal) -> None:
    count = len(observations)
    terminal.line(f"{whose}: {count or 'no'} distinct error{'' if count == 1 else 's'}")
    for seen in observations:
        first, last = format_time(seen.first_ms), format_time(seen.last_ms)
        span = first if first == last else f"{first} to {last}"
        terminal.line(f"\n{seen.count} times, {span}\n{fit_error(seen.text.rstrip())}")
