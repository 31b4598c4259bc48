"""What the processes of a test leave: deaths, exit codes and entries in error logs.

A test that expects an error says so with ``@pytest.mark.error_log("part of the entry", ...)``. A
process that is shared by tests may have an entry late, so that what one test has declared holds as
long as the process lives. ``@pytest.mark.processes_end`` is for tests whose processes end by
themselves, as those do that lose a partner. An end that a test asks for, by ``kill``,
``terminate``, ``stop`` or ``wait``, is declared by that call; ``stop`` expects the exit code 0. No
test may declare that a process crashes.

Where ``AEROLOG_LONG`` is set, a declaration that no entry has matched although all of its tests
ran fails the run, so that none outlives what it was made for. What depends on the load is declared
with ``at_times=True``, and need not happen.
"""

import os
import re
import signal
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.cluster.files import ClusterMarkFile
from aerolog.tools.views.driver_view import DriverView
from aerolog.tools.views.errors import ViewError
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.cnc_header import FILE_NAME as CNC_FILE
from aerolog.transport.memory.error_log import ErrorObservation

Entries = Counter[tuple[str, str]]
#: How the reference and its driver in C begin their entries, and ours those that are no defects.
_NAMED = re.compile(r"(io|java|org|sun)\.|\(-?\d+\)")
#: Signals by which only a fault ends a process.
_CRASHES = tuple(
    -number
    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL)
)


def is_crash(code: int | None) -> bool:
    """Whether a process ended by a signal that only a fault sends."""
    return code in _CRASHES


def error_entries(folders: Iterable[Path]) -> Entries:
    """How often each error was observed, by the file's name and the entry's text."""
    found: Entries = Counter()
    for folder in folders:
        for path in (folder / CNC_FILE, *folder.glob("*-mark*.dat")):
            for error in _errors(path):
                found[path.name, error.text] += error.count
    return found


def _errors(path: Path) -> list[ErrorObservation]:
    try:
        if path.name == CNC_FILE:
            return list(DriverView.open(path.parent).errors())
        if path.name == "archive-mark.dat":
            return ArchiveMarkFile.open(path.parent).errors()
        return ClusterMarkFile.open(path.parent, name=path.name).errors()
    except (ViewError, FileFormatError, OSError):
        return []  # the test has removed or damaged the file, or it is being made


def undeclared(new: Entries, declared: Iterable[str]) -> list[str]:
    """The entries that no test has declared.

    In quick runs only those count that are a defect, whose exceptions the reference has no name
    for: whether a peer notes that another one was slow depends on the machine.
    """
    parts = tuple(declared)
    if not os.environ.get("AEROLOG_LONG"):
        new = Counter({entry: n for entry, n in new.items() if not _NAMED.match(entry[1])})
    return [
        f"{count} times in {name}: {text.splitlines()[0] if text else ''}"
        for (name, text), count in new.items()
        if not any(part in text for part in parts)
    ]
