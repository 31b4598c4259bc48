"""``archive-mark.dat``: who owns an archive folder, and its error log (spec archive-files 13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.format.layout import MARK_FILE_NAME, SEMANTIC_VERSION
from aerolog.archive.protocol.mark_header import MarkFileHeader
from aerolog.transport.errors import ActiveArchiveError, FileFormatError
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.mark_file import MarkFile, has_no_owner, linked_folder

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.memory.filesystem import FileSystem


class ArchiveMarkFile(MarkFile[MarkFileHeader]):
    """The mark file of an archive."""

    HEADER = MarkFileHeader
    NAME = MARK_FILE_NAME
    CLASS_NAME = "ArchiveMarkFile"
    VERSION = SEMANTIC_VERSION
    OWNER = "archive"
    LOSS = "it has stopped recording"
    DIR_PROPERTY = "aeron.archive.dir"
    ACTIVE_ERROR = ActiveArchiveError
    ERROR_PREFIX = "archive"


def mark_file_dir(archive_dir: str | Path, files: FileSystem | None = None) -> str:
    """Return the folder of an archive's mark file: the link file's, else the archive's own."""
    return linked_folder(archive_dir, MARK_FILE_NAME, files)


def owner_is_gone(archive_dir: str | Path, files: FileSystem) -> bool:
    """Return whether it is certain that no process has a folder's mark file open."""
    return has_no_owner(archive_dir, MARK_FILE_NAME, files)


def running_archive(
    archive_dir: str | Path, files: FileSystem | None = None, clock: Clock | None = None
) -> ArchiveMarkFile | None:
    """Return the mark file of the archive that runs in a folder, None when none runs."""
    if owner_is_gone(archive_dir, files or RealFileSystem()):
        return None
    try:
        mark = ArchiveMarkFile.open(archive_dir, files=files, clock=clock)
    except (FileNotFoundError, FileFormatError):
        return None
    return mark if mark.is_active() else None
