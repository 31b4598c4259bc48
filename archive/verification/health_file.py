"""Reading and writing of health files.

Each verification of a segment appends a record. When most records are superseded or some are
damaged, a new file is written and put in place of the old one. Only then is the file synced:
segments whose records a loss of power takes are verified again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.side_folder import make_side_folder
from aerolog.archive.verification.layout import (
    HEADER_LENGTH,
    HEALTH_FOLDER,
    RECORD_LENGTH,
    SegmentRecord,
    header_of,
    header_problem,
    health_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.transport.memory.filesystem import FileSystem

_SUPERSEDED_MIN: Final = 256
_TEMPORARY: Final = ".new"


@dataclass(slots=True)
class HealthRecords:
    """What a health file holds.

    Attributes:
        by_base: the last record of each segment, by its base position.
        problems: faults of the file, whose damaged parts are left out.
        count: number of records in the file, superseded ones included.
        error: why an existing file cannot be read; None when it can.
    """

    by_base: dict[int, SegmentRecord] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    count: int = 0
    error: OSError | None = None


def read_health(files: FileSystem, folder: str, descriptor: RecordingDescriptor) -> HealthRecords:
    """Read a recording's health file; nothing is raised when it is damaged or missing."""
    path = health_path(folder, descriptor.recording_id)
    found = HealthRecords()
    try:
        data = files.read_bytes(path)
    except FileNotFoundError:
        return found
    except OSError as error:
        found.problems.append(f"health file cannot be read: {path}: {error.strerror}")
        found.error = error
        return found
    problem = header_problem(data[:HEADER_LENGTH], descriptor)
    if problem is not None:
        found.problems.append(f"health file is left aside, {problem}: {path}")
        return found
    damaged = 0
    for at in range(HEADER_LENGTH, len(data), RECORD_LENGTH):
        piece = data[at : at + RECORD_LENGTH]
        record = SegmentRecord.decode(piece) if len(piece) == RECORD_LENGTH else None
        if record is None:
            damaged += 1
        else:
            found.by_base[record.base] = record
            found.count += 1
    if damaged:
        found.problems.append(
            f"health file has {damaged} damaged record(s), whose segments count as not verified:"
            f" {path}"
        )
    return found


class HealthWriter:
    """Keeps the health file of one recording.

    Args:
        files: the file system to use.
        folder: the archive's folder.
        descriptor: the descriptor of the recording.

    Attributes:
        records: the contents of the file, which only ``note`` and ``keep`` change.
    """

    def __init__(self, files: FileSystem, folder: str, descriptor: RecordingDescriptor) -> None:
        self._files = files
        self._folder = folder
        self._descriptor = descriptor
        self._path = health_path(folder, descriptor.recording_id)
        self._header = header_of(descriptor)
        self.records = read_health(files, folder, descriptor)
        self._is_sound = not self.records.problems and files.exists(self._path)

    def note(self, record: SegmentRecord) -> None:
        """Record the result of verifying a segment.

        Raises:
            OSError: the file cannot be written or read; ``records`` has the result nevertheless.
        """
        records = self.records
        records.by_base[record.base] = record
        self._read_again()
        records.count += 1
        is_crowded = records.count > 2 * len(records.by_base) + _SUPERSEDED_MIN
        if not self._is_sound or is_crowded or not self._append(record):
            self._write_anew()

    def _append(self, record: SegmentRecord) -> bool:
        """Append a record; returns False when the file was cut off or is gone."""
        try:
            with self._files.open_data_file(self._path, writable=True) as file:
                end = file.file_size()
                if end < HEADER_LENGTH or (end - HEADER_LENGTH) % RECORD_LENGTH:
                    return False
                file.write_at(record.encode(), end)
        except FileNotFoundError:
            return False
        return True

    def keep(self, bases: Iterable[int]) -> None:
        """Drop the records of all segments but these.

        Raises:
            OSError: the file cannot be written, or the existing one cannot be read.
        """
        self._read_again()
        wanted = set(bases)
        gone = [base for base in self.records.by_base if base not in wanted]
        for base in gone:
            del self.records.by_base[base]
        if gone:
            self._write_anew()

    def _read_again(self) -> None:
        """Try again to read an unreadable file, which may be sound and must not be replaced."""
        records = self.records
        if records.error is None:
            return
        again = read_health(self._files, self._folder, self._descriptor)
        if again.error is not None:
            raise again.error
        records.by_base = again.by_base | records.by_base
        records.problems, records.count, records.error = again.problems, again.count, None
        self._is_sound = not again.problems and self._files.exists(self._path)

    def _write_anew(self) -> None:
        self._is_sound = False
        make_side_folder(f"{self._folder}/{HEALTH_FOLDER}", self._files)
        temporary = self._path + _TEMPORARY
        records = self.records.by_base.values()
        data = self._header + b"".join(record.encode() for record in records)
        self._files.write_bytes(temporary, data)
        with self._files.open_data_file(temporary, writable=True) as file:
            file.flush()
        self._files.rename(temporary, self._path)
        self.records.count = len(self.records.by_base)
        self.records.problems.clear()
        self._is_sound = True


def remove_health(files: FileSystem, folder: str, recording_id: int) -> None:
    """Remove the health file of a deleted recording, if there is one."""
    try:
        files.remove(health_path(folder, recording_id))
    except FileNotFoundError:
        return
