"""How far a running archive has recorded: its counter, read from outside (read-only).

The archive's mark file names its driver's directory; there each active recording has a counter of
type 100 whose key starts with the recording id and ends with the archive's id (spec
archive-protocol 19.1). The file write comes before the counter's store, so bytes up to it are
readable.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from aerolog.archive.files.mark_file import MarkFile
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.cnc import CncFile

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.archive.files.descriptor import RecordingDescriptor
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
    try:
        mark = MarkFile.open(archive_dir, files=files)
        if not mark.is_active():
            return None
        cnc = CncFile.open(files, mark.header.aeron_directory)
    except (FileNotFoundError, FileFormatError):
        # No mark file or no driver that could be recording: the folder alone tells.
        return None
    archive_id = mark.header.archive_id
    for counter in cnc.counters:
        if counter.type_id != RECORDING_POSITION_TYPE_ID:
            continue
        if _is_for(counter.key, descriptor, archive_id):
            return counter.value
    return None


def _is_for(key: bytes, descriptor: RecordingDescriptor, archive_id: int) -> bool:
    """Whether a counter's key is that of the recording in that archive."""
    if len(key) < _KEY_HEAD.size:
        return False
    recording_id, session_id, source_length = _KEY_HEAD.unpack_from(key)
    end = _KEY_HEAD.size + source_length
    if source_length < 0 or len(key) < end + _KEY_TAIL.size:
        return False
    return (recording_id, session_id, _KEY_TAIL.unpack_from(key, end)[0]) == (
        descriptor.recording_id,
        descriptor.session_id,
        archive_id,
    )
