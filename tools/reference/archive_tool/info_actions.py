"""``pid``, ``count-entries`` and ``errors``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.layout import MARK_BLOCK_LENGTH, MARK_STRINGS
from aerolog.tools.archive_files.checked_files import open_catalog, open_mark
from aerolog.tools.archive_files.java_error import ILLEGAL_STATE, JavaError, out_of_bounds
from aerolog.tools.archive_files.raw_catalog import RawCatalog, size_of_file
from aerolog.tools.archive_files.raw_mark import RawMark
from aerolog.tools.terminal.console import print_json
from aerolog.tools.terminal.terminal_text import fit, fit_error
from aerolog.tools.views.errors import error_row
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.cnc import HEADER_LENGTH, CncFile, check_major, cnc_path
from aerolog.transport.memory.error_log import read_error_log
from aerolog.transport.memory.error_text import format_error_log, format_time
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.mapped_file import MappedFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aerolog.tools.reference.tool_terminal import Terminal
    from aerolog.transport.memory.error_log import ErrorObservation


def classic_pid(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """The pid in the mark file."""
    del arguments
    terminal.line(str(RawMark.open(folder).pid))
    return 0


def pid(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """The pid in the mark file, and whether that archive lives."""
    del arguments
    mark = open_mark(folder)
    terminal.result({"pid": mark.header.pid, "active": mark.is_active()}, str(mark.header.pid))
    return 0


def classic_count_entries(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Number of VALID entries."""
    del arguments
    terminal.line(str(RawCatalog.open(folder).valid_count))
    return 0


def count_entries(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Number of valid recordings."""
    del arguments
    with open_catalog(folder) as catalog:
        count = len(catalog)
    terminal.result({"valid": count}, str(count))
    return 0


def classic_errors(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Error logs of the archive and of its driver."""
    del arguments
    mark = RawMark.open(folder)
    terminal.line("Archive error log:")
    terminal.write(classic_log(mark.errors()))
    tell_classic_driver(_driver_dir(mark), terminal)
    return 0


def tell_classic_driver(aeron_dir: str, terminal: Terminal) -> None:
    """Print the error log of a driver as the reference's tools do."""
    terminal.line(f"\nAeron driver error log (directory: {fit(aeron_dir)}):")
    terminal.write(classic_log(driver_log(cnc_path(aeron_dir))))


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


def classic_log(observations: list[ErrorObservation]) -> str:
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


def errors(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Error logs of the archive and of its driver."""
    del arguments
    mark = open_mark(folder)
    tell_errors({"archive": mark.errors()}, mark.header.aeron_directory, terminal)
    return 0


def tell_errors(
    logs: Mapping[str, list[ErrorObservation]], aeron_dir: str, terminal: Terminal
) -> None:
    """Print error logs, named by whose they are, and that of the driver in a directory."""
    driver, problem = _driver_errors(aeron_dir)
    if terminal.as_json:
        print_json(
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


def _show_log(whose: str, observations: list[ErrorObservation], terminal: Terminal) -> None:
    count = len(observations)
    terminal.line(f"{whose}: {count or 'no'} distinct error{'' if count == 1 else 's'}")
    for seen in observations:
        first, last = format_time(seen.first_ms), format_time(seen.last_ms)
        span = first if first == last else f"{first} to {last}"
        terminal.line(f"\n{seen.count} times, {span}\n{fit_error(seen.text.rstrip())}")
