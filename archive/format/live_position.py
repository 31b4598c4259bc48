"""How far a running archive has recorded: its counter, read from outside (read-only).

The archive's mark file names its driver's directory; there each active recording has a counter of
type 100 whose key starts with the recording id and ends with the archive's id
(spec archive-protocol 19.1). The file write comes before the counter's store, so bytes up to it
are readable.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from aerolog.archive.format.mark_file import MarkFile
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.cnc import CncFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.transport.memory.counters import CounterSnapshot
    from aerolog.transport.memory.filesystem import FileSystem

RECORDING_POSITION_TYPE_ID = 100
_KEY_HEAD = struct.Struct("<qii")
_KEY_TAIL = struct.Struct("<q")


def live_position(
    archive_dir: str | Path, descriptor: RecordingDescriptor, files: FileSystem
) -> int | None:
    """Position of an active recording in a running archive, None when it is not being recorded.

    Args:
        archive_dir: the archive's folder.
        descriptor: of the recording.
        files: the file system door.
    """
    wanted = (descriptor.recording_id, descriptor.session_id)
    return live_positions(archive_dir, files).get(wanted)


def live_positions(archive_dir: str | Path, files: FileSystem) -> dict[tuple[int, int], int]:
    """Positions of all that a running archive is recording, by recording id and session id.

    Args:
        archive_dir: the archive's folder.
        files: the file system door.
    """
    try:
        mark = MarkFile.open(archive_dir, files=files)
        if not mark.is_active():
            return {}
        cnc = CncFile.open(files, mark.header.aeron_directory)
    except (FileNotFoundError, FileFormatError):
        # No mark file or no driver that could be recording: the folder alone tells.
        return {}
    return positions_of(cnc.counters, mark.header.archive_id)


def positions_of(
    counters: Iterable[CounterSnapshot], archive_id: int
) -> dict[tuple[int, int], int]:
    """Positions of all that an archive is recording, by recording id and session id.

    Args:
        counters: of its driver.
        archive_id: of the archive.
    """
    found: dict[tuple[int, int], int] = {}
    for counter in counters:
        if counter.type_id == RECORDING_POSITION_TYPE_ID:
            key = _recording_of(counter.key, archive_id)
            if key is not None:
                found.setdefault(key, counter.value)
    return found


def _recording_of(key: bytes, archive_id: int) -> tuple[int, int] | None:
    """Recording id and session id in a counter's key, None when it is of another archive."""
    if len(key) < _KEY_HEAD.size:
        return None
    recording_id, session_id, source_length = _KEY_HEAD.unpack_from(key)
    end = _KEY_HEAD.size + source_length
    if source_length < 0 or len(key) < end + _KEY_TAIL.size:
        return None
    if _KEY_TAIL.unpack_from(key, end)[0] != archive_id:
        return None
    return recording_id, session_id
