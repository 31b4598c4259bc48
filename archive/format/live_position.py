"""The positions of active recordings, read from the driver's counters by another process.

The archive's mark file names the driver's directory. There each active recording has a counter of
type 100, whose key starts with the recording id and ends with the archive's id
(spec archive-protocol 19.1). The archive writes the file before it advances the counter, so all
bytes before the counter's position can be read. Nothing is written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.protocol.counter_types import (
    ARCHIVE_KEY,
    POSITION_KEY,
    ArchiveCounterType,
)
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.cnc import CncFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.transport.memory.counters import CounterSnapshot
    from aerolog.transport.memory.filesystem import FileSystem

_KEY_HEAD = POSITION_KEY.numbers
_KEY_TAIL = ARCHIVE_KEY.numbers


def live_position(
    archive_dir: str | Path, descriptor: RecordingDescriptor, files: FileSystem
) -> int | None:
    """Return the position of an active recording, None when no running archive records it.

    Args:
        archive_dir: the archive's folder.
        descriptor: the recording's descriptor, which has its id and session id.
        files: the file system to read from.
    """
    wanted = (descriptor.recording_id, descriptor.session_id)
    return live_positions(archive_dir, files).get(wanted)


def live_positions(archive_dir: str | Path, files: FileSystem) -> dict[tuple[int, int], int]:
    """Return the positions of all active recordings, by recording id and session id.

    Args:
        archive_dir: the folder of the archive; the result is empty when it does not run.
        files: the file system to read from.
    """
    try:
        mark = ArchiveMarkFile.open(archive_dir, files=files)
        if not mark.is_active():
            return {}
        cnc = CncFile.open(files, mark.header.aeron_directory)
    except (FileNotFoundError, FileFormatError):
        # Without a mark file or a driver nothing is being recorded.
        return {}
    return positions_of(cnc.counters, mark.header.archive_id)


def positions_of(
    counters: Iterable[CounterSnapshot], archive_id: int
) -> dict[tuple[int, int], int]:
    """Return the positions of all active recordings, by recording id and session id.

    Args:
        counters: the counters of the archive's driver.
        archive_id: counters of other archives are ignored.
    """
    found: dict[tuple[int, int], int] = {}
    for counter in counters:
        if counter.type_id == ArchiveCounterType.RECORDING_POSITION:
            key = _recording_of(counter.key, archive_id)
            if key is not None:
                found.setdefault(key, counter.value)
    return found


def _recording_of(key: bytes, archive_id: int) -> tuple[int, int] | None:
    """Return recording id and session id from a counter's key, None for another archive's key."""
    if len(key) < _KEY_HEAD.size:
        return None
    recording_id, session_id, source_length = _KEY_HEAD.unpack_from(key)
    end = _KEY_HEAD.size + source_length
    if source_length < 0 or len(key) < end + _KEY_TAIL.size:
        return None
    if _KEY_TAIL.unpack_from(key, end)[0] != archive_id:
        return None
    return recording_id, session_id
