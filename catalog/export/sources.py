"""The archives that an export reads: protocols, and the source for an archive's folder.

The source for a running archive, which reads replays, is ``aerolog.tools.export``.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from aerolog.archive.format.archive_folder import (
    PAYLOAD_CAPACITY,
    ROWS_MAX,
    ArchiveFolder,
    Recording,
    ScanTotals,
)
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.catalog.arrow.arrow_recording import record_batches
from aerolog.catalog.arrow.record_times import UNINDEXED, SettledTimes, settled_times
from aerolog.catalog.locations import open_place
from aerolog.catalog.times import FROM_INDEX, TimeSource
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from aerolog.archive.format.descriptor import RecordingDescriptor

# Batches longer than Spark wants them: they are put together to row groups.
_ROWS_MAX = 32 * 1024
_PAYLOAD_CAPACITY = 4 * 1024 * 1024


class SourceRecording(Protocol):
    """A recording to be exported, as it was when it was opened."""

    @property
    def descriptor(self) -> RecordingDescriptor:
        """The recording's catalog entry."""

    @property
    def start_position(self) -> int:
        """Position of the recording's first frame."""

    @property
    def end_position(self) -> int:
        """Position up to which the recording has complete frames."""

    def batches(
        self,
        columns: tuple[str, ...],
        *,
        from_position: int,
        until_position: int,
        assemble: bool,
        totals: ScanTotals,
        short: bool = False,
        settled: SettledTimes = UNINDEXED,
        skip_damage: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a range; errors are those of ``record_batches``, after the rows before them.

        Args:
            columns: names of the wanted columns.
            from_position: where a frame begins, or a message when assembling.
            until_position: rows that end after it are left out.
            assemble: True for one row per message, False for one row per fragment.
            totals: counts that are updated while the recording is read.
            short: for a decoder, which may make much more of a batch than it was.
            settled: what of the time index counts; without it, rows get no times from the index.
            skip_damage: True goes on behind damage and notes the gap in ``totals``.
        """

    def settled_times(self) -> SettledTimes:
        """The part of the time index that counts for rows that are read now."""


class Source(Protocol):
    """An archive to export from.

    Attributes:
        threaded: whether batches may be read by another thread than this one.
    """

    threaded: bool

    @property
    def archive_id(self) -> int | None:
        """The archive's id, None where it is unknown."""

    @property
    def place(self) -> str | None:
        """Where its folder is, None for a running archive's replays."""

    def ids(self) -> list[int]:
        """Ids of all recordings of the archive."""

    def recording(self, recording_id: int, time_source: TimeSource = FROM_INDEX) -> SourceRecording:
        """One of the recordings, as it is now, with times from a source.

        Raises:
            ArchiveError: UNKNOWN_RECORDING.
        """


class FolderRecording:
    """A recording of a folder."""

    def __init__(self, recording: Recording, time_source: TimeSource = FROM_INDEX) -> None:
        self._recording = recording
        self._time_source = time_source

    @property
    def descriptor(self) -> RecordingDescriptor:
        """The recording's catalog entry."""
        return self._recording.descriptor

    @property
    def start_position(self) -> int:
        """Position of the recording's first frame."""
        return self._recording.start_position

    @property
    def end_position(self) -> int:
        """Position up to which the recording has complete frames."""
        return self._recording.end_position

    def batches(
        self,
        columns: tuple[str, ...],
        *,
        from_position: int,
        until_position: int,
        assemble: bool,
        totals: ScanTotals,
        short: bool = False,
        settled: SettledTimes = UNINDEXED,
        skip_damage: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """See the protocol."""
        return record_batches(
            self._recording,
            columns=columns,
            assemble=assemble,
            from_position=from_position,
            until_position=until_position,
            rows_max=ROWS_MAX if short else _ROWS_MAX,
            payload_capacity=PAYLOAD_CAPACITY if short else _PAYLOAD_CAPACITY,
            compact=True,
            totals=totals,
            time_source=self._time_source,
            settled=settled,
            skip_damage=skip_damage,
        )

    def settled_times(self) -> SettledTimes:
        """See the protocol."""
        return settled_times(self._recording, self._time_source)


def last_message_end(
    recording: SourceRecording, from_position: int, until_position: int, *, skip_damage: bool
) -> int:
    """The last position in a range that is behind a message and before the next one.

    Looks at the frames of one term at most: no message goes from one term into the next.
    """
    term_length = recording.descriptor.term_buffer_length
    found = max(from_position, until_position - until_position % term_length)
    totals = ScanTotals(found)
    try:
        for batch in recording.batches(
            ("position",),
            from_position=found,
            until_position=until_position,
            assemble=True,
            totals=totals,
            skip_damage=skip_damage,
        ):
            found = batch.column(0)[-1].as_py()
    except FileFormatError:
        # The export itself will come to the damage, and tell it.
        return until_position
    return max([found, *(gap.until_position for gap in totals.gaps)])


class FolderSource:
    """Recordings of an archive's folder, wherever it is. Closed by its owner."""

    threaded = True

    def __init__(self, folder: ArchiveFolder, place: str) -> None:
        self._folder = folder
        self.place = place

    @property
    def archive_id(self) -> int | None:
        """The archive's id in its mark file."""
        try:
            return ArchiveMarkFile.open(
                self._folder.path, files=self._folder.files
            ).header.archive_id
        except (FileNotFoundError, FileFormatError):
            # A copy of a folder may lack the mark file.
            return None

    def ids(self) -> list[int]:
        """Ids of the VALID recordings."""
        return list(self._folder.catalog.ids())

    def recording(self, recording_id: int, time_source: TimeSource = FROM_INDEX) -> FolderRecording:
        """One of them, read anew from the folder's catalog."""
        return FolderRecording(self._folder.recording(recording_id), time_source)


@contextmanager
def folder_source(place: str | Path | ArchiveFolder) -> Iterator[FolderSource]:
    """The source of a folder, by path or URL, or of one that is open and stays so."""
    if isinstance(place, ArchiveFolder):
        yield FolderSource(place, place.path)
        return
    with open_place(str(place)) as folder:
        yield FolderSource(folder, str(place))
