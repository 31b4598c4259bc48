"""Changes of the catalog that take more than one store: noted beside it first, then made.

An entry that is written anew, and those that move because it got longer, would be damaged by a
crash in the middle. So the bytes that the file is to hold are written to ``archive.catalog.redo``
before they are written to the catalog; a start that finds them there writes them once more. A note
that a crash has left incomplete is dropped: the catalog was not touched yet.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import CATALOG_NAME, MAX_I32

if TYPE_CHECKING:
    from aerolog.transport.memory.filesystem import FileSystem

REDO_NAME: Final = f"{CATALOG_NAME}.redo"
_MAGIC: Final = b"redo 1\r\n"
_HEAD: Final = struct.Struct("<8sqqI")  # magic, offset in the catalog, length, CRC-32


def note_change(
    files: FileSystem, archive_dir: str, offset: int, data: bytes, sync_level: int
) -> None:
    """Note what the catalog is going to hold.

    Args:
        files: the file system door.
        archive_dir: folder of the catalog.
        offset: in the catalog.
        data: its bytes from there on.
        sync_level: of the catalog.

    Raises:
        StorageSpaceError: no room for it; the catalog must not be changed then.
    """
    path = str(Path(archive_dir) / REDO_NAME)
    try:
        files.write_bytes(path, _HEAD.pack(_MAGIC, offset, len(data), _check(offset, data)) + data)
        if sync_level > 0:
            with files.open_data_file(path, writable=True) as file:
                file.flush(sync_level)
            files.sync_dir(archive_dir)
    except BaseException:
        drop_change(files, archive_dir, 0)
        raise


def drop_change(files: FileSystem, archive_dir: str, sync_level: int) -> None:
    """Forget the note; the change has been made, or is not going to be.

    With a sync level the note is gone for good then: later changes must not be undone by it.
    """
    path = str(Path(archive_dir) / REDO_NAME)
    if files.exists(path):
        files.remove(path)
        if sync_level > 0:
            files.sync_dir(archive_dir)


def noted_change(files: FileSystem, archive_dir: str) -> tuple[int, bytes] | None:
    """What a crash has left to be done: offset in the catalog, and bytes; None without a note."""
    path = str(Path(archive_dir) / REDO_NAME)
    if not files.exists(path):
        return None
    note = files.read_bytes(path)
    if len(note) < _HEAD.size:
        return None
    magic, offset, length, check = _HEAD.unpack_from(note)
    data = note[_HEAD.size :]
    fits = offset >= 0 and length == len(data) and offset + length <= MAX_I32
    if magic != _MAGIC or not fits or check != _check(offset, data):
        return None
    return offset, data


def _check(offset: int, data: bytes) -> int:
    return zlib.crc32(data, offset)
