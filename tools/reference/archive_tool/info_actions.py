"""``pid``, ``count-entries`` and ``errors``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerolog.archive.format.layout import MARK_BLOCK_LENGTH, MARK_STRINGS
from aerolog.tools.archive_files.raw_catalog import RawCatalog, size_of_file
from aerolog.tools.archive_files.raw_mark import RawMark
from aerolog.tools.command_line.java_error import ILLEGAL_STATE, JavaError, out_of_bounds
from aerolog.tools.terminal.terminal_text import fit, fit_error
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.cnc import HEADER_LENGTH, check_major, cnc_path
from aerolog.transport.memory.error_log import read_error_log
from aerolog.transport.memory.error_text import format_error_log
from aerolog.transport.memory.mapped_file import MappedFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal
    from aerolog.transport.memory.error_log import ErrorObservation


def pid(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """The pid in the mark file."""
    del arguments
    tell_pid(RawMark.open(folder), terminal)
    return 0


def tell_pid(mark: RawMark, terminal: Terminal) -> None:
    """Print the pid of a mark file, as JSON with whether its owner lives."""
    row = {"pid": mark.pid, "active": mark.is_active(terminal.clock)}
    terminal.result(row, str(mark.pid))


def count_entries(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Number of VALID entries."""
    del arguments
    count = RawCatalog.open(folder).valid_count
    terminal.result({"valid": count}, str(count))
    return 0


def errors(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Error logs of the archive and of its driver."""
    del arguments
    mark = RawMark.open(folder)
    if terminal.as_json:
        tell_errors_as_json({"archive": mark.errors()}, _driver_dir(mark), terminal)
        return 0
    terminal.line("Archive error log:")
    terminal.write(log_text(mark.errors()))
    tell_driver(_driver_dir(mark), terminal)
    return 0


def tell_errors_as_json(
    logs: dict[str, list[ErrorObservation]], aeron_dir: str, terminal: Terminal
) -> None:
    """Print error logs by whose they are, with that of the driver or why it cannot be read."""
    from aerolog.tools.views.errors import error_row

    driver: list[ErrorObservation] = []
    problem = None
    try:
        driver = driver_log(cnc_path(aeron_dir))
    except (AerologError, OSError, ValueError) as error:  # a NUL in a damaged path, too
        problem = str(error)
    rows: dict[str, Any] = {
        whose: [error_row(seen) for seen in log]
        for whose, log in {**logs, "driver": driver}.items()
    }
    terminal.document({**rows, "aeron_directory": aeron_dir, "driver_problem": problem})


def tell_driver(aeron_dir: str, terminal: Terminal) -> None:
    """Print the error log of a driver as the reference's tools do."""
    terminal.line(f"\nAeron driver error log (directory: {fit(aeron_dir)}):")
    terminal.write(log_text(driver_log(cnc_path(aeron_dir))))


def driver_log(path: str) -> list[ErrorObservation]:
    """The error log of cnc.dat, whatever else is the matter with that file."""
    if not Path(path).exists():
        raise JavaError(ILLEGAL_STATE, f"missing file for cnc : {Path(path).absolute()}")
    size = size_of_file(path)
    if size < HEADER_LENGTH:
        raise out_of_bounds(0, HEADER_LENGTH, size)
    mapped = MappedFile.open(path, writable=False)
    version, *lengths = (mapped.load_i32(at) for at in range(0, 24, 4))
    check_major(version)
    start, length = HEADER_LENGTH + sum(lengths[:-1]), lengths[-1]
    if start < 0 or length < 0 or start + length > mapped.length:
        raise out_of_bounds(start, length, mapped.length)
    return read_error_log(mapped, start, length) if length else []


def log_text(observations: list[ErrorObservation]) -> str:
    """An error log as the reference's tools print it."""
    # A capital letter O and no full stop: the reference's.
    shown = [replace(seen, text=fit_error(seen.text)) for seen in observations]
    return format_error_log(shown) if shown else "\nO distinct errors observed\n"


def _driver_dir(mark: RawMark) -> str:
    """The last of the strings behind the mark file's numbers."""
    data, at = mark.data, mark.base + MARK_BLOCK_LENGTH
    text = ""
    for _ in MARK_STRINGS:
        if not 0 <= at <= len(data) - 4:
            raise out_of_bounds(at, 4, len(data))
        length = int.from_bytes(data[at : at + 4], "little", signed=True)
        text_at, at = at + 4, at + 4 + length
        if length < 0:
            raise out_of_bounds(text_at, length, len(data))
        text = str(data[text_at : min(at, len(data))], "ascii", "replace")
    if at > len(data):
        raise out_of_bounds(text_at, length, len(data))
    return text
