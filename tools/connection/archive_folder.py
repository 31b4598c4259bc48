"""An archive's folder that a command is given: what is there, and whether an archive runs in it."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.layout import CATALOG_NAME
from aerolog.archive.format.mark_file import running_archive
from aerolog.archive.format.salvage import salvage
from aerolog.tools.connection.clients import open_archive
from aerolog.transport.errors import AerologError, FileFormatError
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from aerolog.archive.client import AeronArchive
    from aerolog.archive.format.archive_folder import Recording
    from aerolog.archive.format.mark_file import ArchiveMarkFile
    from aerolog.tools.command_line.options import ArchiveOptions

T = TypeVar("T")


def check_folder(archive_dir: str) -> None:
    """Whether there is an archive's folder.

    Raises:
        AerologError: there is none; says what to do.
    """
    if not Path(archive_dir).is_dir():
        raise AerologError(
            f"{archive_dir}: there is no such folder: pass --archive-dir DIR, or mount the file"
            " system that it is on"
        )
    if not (Path(archive_dir) / CATALOG_NAME).exists():
        raise AerologError(
            f"{archive_dir} has no {CATALOG_NAME}: pass the folder of an archive (--archive-dir),"
            " or mount the file system that it is on"
        )


def check_recordings(archive_dir: str, recording_ids: Sequence[int]) -> None:
    """Whether a folder has recordings.

    Raises:
        AerologError: it has not.
    """
    with CatalogReader.open(archive_dir) as catalog:
        for recording_id in recording_ids:
            if recording_id not in catalog:
                raise AerologError(f"{archive_dir} has no recording {recording_id}")


def readable_recordings(
    archive_dir: str, on_damage: Callable[[int, Exception], object], *, from_id: int = 0
) -> Iterator[Recording]:
    """The recordings of a folder that can be read, by id.

    Args:
        archive_dir: the folder.
        on_damage: called with the id of a recording that cannot be read, -1 for the catalog, and
            why.
        from_id: the first id wanted.

    Raises:
        FileNotFoundError: there is no catalog.
        FileFormatError: the catalog's header is damaged, or of another version.
    """
    folder = None
    with suppress(FileFormatError):
        folder = ArchiveFolder(archive_dir)
    # An entry without a length looks like the end: ids beyond it tell that it may be none.
    if folder is None or folder.catalog.last_recording_id < folder.catalog.next_recording_id - 1:
        found = salvage(archive_dir)
        for error in found.damages:
            on_damage(-1, error)
        yield from (one for one in found.recordings if one.recording_id >= from_id)
        return
    with folder:
        for recording_id in folder.catalog.ids():
            if recording_id < from_id:
                continue
            try:
                recording = folder.recording(recording_id)
            except (FileFormatError, OSError) as error:
                on_damage(recording_id, error)
            else:
                yield recording


def reached_by(mark: ArchiveMarkFile, options: ArchiveOptions) -> ArchiveOptions:
    """How to reach the archive of a mark file, where the command line does not say."""
    header = mark.header
    stream, untold = options.control_stream, type(options)()
    if (options.control_channel, stream) == (untold.control_channel, untold.control_stream):
        stream = header.local_control_stream_id
    return replace(
        options, aeron_dir=options.aeron_dir or header.aeron_directory, control_stream=stream
    )


@contextmanager
def archive_or_folder(
    archive_dir: str,
    options: ArchiveOptions,
    running: Callable[[AeronArchive], T],
    stopped: Callable[[str, FileSystem], AbstractContextManager[T]],
) -> Iterator[T]:
    """The archive that runs in a folder, or else the folder itself, to be worked on.

    Args:
        archive_dir: the folder.
        options: how to reach the archive, as far as the command line says.
        running: makes it of a client of the archive.
        stopped: makes it of the folder, which no archive may take meanwhile.

    Raises:
        AerologError: the archive does not answer, or starts just now.
    """
    mark = running_archive(archive_dir)
    if mark is None:
        with stopped(archive_dir, RealFileSystem()) as folder:
            yield folder
        return
    with open_archive(reached_by(mark, options)) as client:
        yield running(client)
