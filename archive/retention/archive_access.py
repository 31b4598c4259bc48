"""Access to the archive that a plan is applied to: by requests, or to the files of a stopped one.

Both ways change the catalog first and remove files after it. Independently of the plan, a running
archive refuses to delete what a replay or the recorder still needs.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.format.layout import CATALOG_NAME, SEGMENT_SUFFIX
from aerolog.archive.format.mark_claim import borrowed_folder
from aerolog.archive.format.segment import parse_segment_name, segment_file_name
from aerolog.archive.protocol import RecordingSignal
from aerolog.archive.protocol.enums import NULL_POSITION, RecordingState
from aerolog.archive.protocol.extension_query import REPLAY, REPLICATION
from aerolog.archive.retention.errors import RetentionError
from aerolog.archive.retention.facts import Need
from aerolog.transport.errors import (
    ArchiveError,
    ArchiveErrorCode,
    FileFormatError,
    NotConnectedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.archive.client import AeronArchive
    from aerolog.archive.format.checksum import Checksum
    from aerolog.archive.format.descriptor import CatalogEntry, RecordingDescriptor
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.memory.filesystem import FileSystem


#: Suffix with which older archives rename a file before they delete it.
DELETED_SUFFIX: Final = ".del"


def names_of(files: FileSystem, folder: str | Path, recording_id: int) -> list[str]:
    """Return all file names of a recording, including files renamed before their deletion."""
    prefix = f"{recording_id}-"
    return [
        name
        for name in files.scan_dir(str(folder))
        if name.startswith(prefix) and name.endswith((SEGMENT_SUFFIX, DELETED_SUFFIX))
    ]


def base_of(name: str) -> int:
    """Return the start position in a file's name, -1 when the name has none."""
    try:
        return parse_segment_name(name.removesuffix(DELETED_SUFFIX)).base_position
    except FileFormatError:
        return NULL_POSITION


_UPPER_BOUND: Final = re.compile(r"replay in progress .*?upperBound=([0-9]+)")
_CHECKSUMS: Final = ("CRC-32C", "CRC-32")
_SYNC_ALL: Final = 2


class RefusedError(RetentionError):
    """The archive refuses a step.

    Attributes:
        upper_bound: highest start position that the archive would accept, None for none.
    """

    def __init__(self, text: str, upper_bound: int | None = None) -> None:
        super().__init__(text)
        self.upper_bound = upper_bound


class ArchiveAccess(Protocol):
    """Access to the archive in which steps are carried out."""

    def descriptor(self, recording_id: int) -> RecordingDescriptor | None:
        """Return a recording's present descriptor, None when it does not exist (any more)."""

    def purge_segments(self, recording_id: int, new_start: int) -> None:
        """Move a recording's start to the start of a segment and remove the files before it.

        Raises:
            RefusedError: the archive refuses; nothing has changed.
        """

    def purge_recording(self, recording_id: int) -> None:
        """Delete a recording with all its files.

        Raises:
            RefusedError: the archive refuses; nothing has changed.
        """

    def wait_gone(self) -> None:
        """Return when the files of the last request are removed."""

    def needs(self) -> list[Need]:
        """Return the recordings that the archive itself is reading or making."""


class RunningArchive:
    """A running archive, which is asked by a client.

    Args:
        client: a client with a control session.
    """

    def __init__(self, client: AeronArchive) -> None:
        self._client = client
        self._asked = -1

    def descriptor(self, recording_id: int) -> RecordingDescriptor | None:
        """Ask the archive for a recording's descriptor, None when it does not exist."""
        return self._client.list_recording(recording_id)

    def purge_segments(self, recording_id: int, new_start: int) -> None:
        """Send a PurgeSegments request, see ``ArchiveAccess``."""
        with _refusals():
            self._client.purge_segments(recording_id, new_start)
        self._asked = self._client.last_correlation_id

    def purge_recording(self, recording_id: int) -> None:
        """Send a PurgeRecording request, see ``ArchiveAccess``."""
        with _refusals():
            self._client.purge_recording(recording_id)
        self._asked = self._client.last_correlation_id

    def wait_gone(self) -> None:
        """Wait for the archive's signal that the files of the last request are removed.

        Raises:
            ArchiveError: a file could not be removed.
            NotConnectedError: the connection was lost before.
        """
        wanted = RecordingSignal.DELETE
        for _ in self._client.signals(correlation_id=self._asked, kinds=wanted):
            self._client.check_for_error()
            return
        raise NotConnectedError("the archive is gone while it deleted files: run this again")

    def needs(self) -> list[Need]:
        """Ask for replays and replications; an archive without the query refuses steps later."""
        texts = {REPLAY: "a replay reads it", REPLICATION: "a replication is making it"}
        return [
            Need(one.recording_id, one.position, one.kind, texts.get(one.kind, one.kind))
            for one in self._client.recording_readers() or ()
        ]


class StoppedArchive:
    """The files of a stopped archive; ``borrow`` gives it as a context manager.

    Args:
        archive_dir: the archive's folder.
        files: the file system to use.
        beat: called between files, to keep archives out of the folder.
    """

    def __init__(
        self, archive_dir: str | Path, files: FileSystem, beat: Callable[[], None]
    ) -> None:
        self._folder = str(archive_dir)
        self._files = files
        self._beat = beat

    @classmethod
    @contextmanager
    def borrow(
        cls, archive_dir: str | Path, files: FileSystem, clock: Clock | None = None
    ) -> Iterator[StoppedArchive]:
        """Open the files and keep archives out of the folder until the end.

        Raises:
            ActiveArchiveError: an archive runs in the folder.
        """
        with borrowed_folder(archive_dir, files, clock) as beat:
            yield cls(archive_dir, files, beat)

    def descriptor(self, recording_id: int) -> RecordingDescriptor | None:
        """Read a recording's descriptor from the catalog, None when it does not exist."""
        with CatalogReader.open(self._folder, self._files) as catalog:
            if recording_id not in catalog:
                return None
            return catalog.checked_entry(recording_id).descriptor

    def purge_segments(self, recording_id: int, new_start: int) -> None:
        """Change the catalog, then remove the files, see ``ArchiveAccess``."""
        with self._changing(recording_id) as (catalog, entry):
            found = entry.descriptor
            lowest = found.segment_base(found.start_position) + found.segment_file_length
            highest = found.segment_base(found.stop_position)
            if found.segment_base(new_start) != new_start or not lowest <= new_start <= highest:
                raise RefusedError(
                    f"recording {recording_id} cannot begin at {new_start}: between {lowest} and"
                    f" {highest}, where a segment begins"
                )
            catalog.update_start_position(recording_id, new_start)
        first = lowest - found.segment_file_length
        for base in range(first, new_start, found.segment_file_length):
            self._remove(segment_file_name(recording_id, base))
        self._files.sync_dir(self._folder)

    def purge_recording(self, recording_id: int) -> None:
        """Change the catalog, then remove the files, see ``ArchiveAccess``."""
        with self._changing(recording_id) as (catalog, _):
            catalog.change_state(recording_id, RecordingState.DELETED)
        for name in names_of(self._files, self._folder, recording_id):
            self._remove(name)
        self._files.sync_dir(self._folder)

    @contextmanager
    def _changing(self, recording_id: int) -> Iterator[tuple[CatalogFile, CatalogEntry]]:
        """Open the catalog to change a stopped recording, and sync the change at the end."""
        self._beat()
        path = str(Path(self._folder) / CATALOG_NAME)
        size = self._files.size(path)
        with CatalogReader.open(self._folder, self._files) as seen:
            if recording_id not in seen:
                raise RefusedError(f"there is no recording {recording_id} any more")
            entry = seen.checked_entry(recording_id)
            checksum = _checksum_of(seen, entry)
        if entry.descriptor.is_active:
            raise RefusedError(f"recording {recording_id} has no end: start its archive first")
        with CatalogFile.open(
            self._folder,
            files=self._files,
            capacity=size,
            sync_level=_SYNC_ALL,
            checksum=checksum,
        ) as catalog:
            yield catalog, entry

    def _remove(self, name: str) -> None:
        self._beat()
        path = str(Path(self._folder) / name)
        try:
            self._files.remove(path)
        except FileNotFoundError:
            return

    def wait_gone(self) -> None:
        """Return at once: every method has removed its files when it returns."""

    def needs(self) -> list[Need]:
        """Return an empty list, because a stopped archive reads nothing."""
        return []


def _checksum_of(catalog: CatalogReader, entry: CatalogEntry) -> Checksum | None:
    """Return the checksum that an entry has, None when it has none or an unknown one."""
    if entry.checksum == 0:
        return None
    for name in _CHECKSUMS:
        checksum = checksum_for(name)
        if checksum is None:
            continue
        if catalog.checksum_of(entry.descriptor.recording_id, checksum) == entry.checksum:
            return checksum
    return None


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn an archive's refusal into a RefusedError.

    Raises:
        RefusedError: the archive refuses.
    """
    try:
        yield
    except ArchiveError as error:
        if error.code == ArchiveErrorCode.UNAUTHORISED_ACTION:
            raise
        bound = _UPPER_BOUND.search(str(error))
        raise RefusedError(str(error), int(bound[1]) if bound else None) from error
