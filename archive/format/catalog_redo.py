"""The redo file, which makes catalog changes of more than one store safe against a crash.

A crash in the middle would damage an entry that is rewritten, or entries that move because it got
longer. Therefore the new bytes are written to ``archive.catalog.redo`` before they are written to
the catalog, and an archive that finds that file when it starts writes them again. A redo file that
is incomplete is ignored, because the catalog was not changed yet.
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
    """Write the redo file for a change of the catalog.

    Args:
        files: the file system to write to.
        archive_dir: the folder of the catalog.
        offset: where the change starts in the catalog, bytes.
        data: the bytes that the catalog is to hold from there on.
        sync_level: the catalog's sync level; above 0 the redo file is synced to disk.

    Raises:
        StorageSpaceError: there is no room for the redo file; the catalog must not be changed.
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
    """Remove the redo file once the change is made or given up.

    With a sync level above 0 the removal is synced to disk as well, so that a later start does not
    undo later changes with it.
    """
    path = str(Path(archive_dir) / REDO_NAME)
    if files.exists(path):
        files.remove(path)
        if sync_level > 0:
            files.sync_dir(archive_dir)


def noted_change(files: FileSystem, archive_dir: str) -> tuple[int, bytes] | None:
    """Return offset and bytes of a change that a crash interrupted, None when there is none."""
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
