"""Writing an index file as a whole: for recordings that were made without one, and for tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.time_index.blocks import encode_blocks
from aerolog.archive.time_index.layout import index_path

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerolog.archive.time_index.layout import IndexHeader
    from aerolog.transport.memory.filesystem import FileSystem

_NEW_SUFFIX = ".new"


def write_index(
    archive_dir: str | Path,
    header: IndexHeader,
    times: Buffer,
    positions: Buffer,
    files: FileSystem,
) -> str:
    """Write the index of a recording, in place of the one that it has; returns its path.

    Args:
        archive_dir: the archive's folder.
        header: the header of the index.
        times: int64, the entries' times in epoch nanoseconds.
        positions: int64, the entries' positions, never descending.
        files: the file system to use.

    Raises:
        ValueError: the positions descend.
        OSError: the index cannot be written; an index that was there is unchanged.
    """
    path = index_path(archive_dir, header.recording_id)
    blocks = encode_blocks(times, positions, header.recording_id, header.identity)
    files.make_dirs(str(Path(path).parent))
    new = path + _NEW_SUFFIX
    try:
        files.write_bytes(new, header.encode_block() + bytes(blocks))
        files.rename(new, path)
    except OSError:
        if files.exists(new):
            files.remove(new)
        raise
    return path
