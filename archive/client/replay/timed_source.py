"""Where the messages of a replay by time come from: a folder, or a running archive."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.client.replay.time_range import TimedRange, notes_of
from aerolog.archive.client.replay.timed_message import column_positions, timed_columns
from aerolog.archive.time_index import SOURCE_DESCRIPTOR, TimeIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.archive.client.caller import Parts
    from aerolog.archive.client.client_base import ArchiveClientBase
    from aerolog.archive.client.replay.time_range import Wanted
    from aerolog.archive.client.replay.timed_message import TimedMessage
    from aerolog.archive.format.archive_folder import ArchiveFolder, Recording

#: Messages made at a time where a pace is kept: the next one may be due meanwhile.
SMALL_PART: Final = 64
#: Messages made at a time otherwise.
LARGE_PART: Final = 256
_ROWS: Final = 1024
_PAYLOAD_CAPACITY: Final = 256 * 1024


class TimedSource(ABC):
    """Messages of one recording with their times, in parts.

    Attributes:
        range: what is replayed, None before the first part was asked for.
        notes: what one should know of the times.
        has_index: whether times are from an index, not spread between start and stop.
        part: messages given at a time at most.
    """

    def __init__(self) -> None:
        self.range: TimedRange | None = None
        self.notes: tuple[str, ...] = ()
        self.has_index = False
        self.part = SMALL_PART

    @abstractmethod
    def parts(self) -> Parts[TimedMessage]:
        """Lists of messages, or how much was done where there are none now; never waits."""

    @abstractmethod
    def turn(self) -> None:
        """Keep up connections while nobody takes messages, without waiting."""

    @abstractmethod
    def close(self) -> None:
        """End it; idempotent."""


def open_source(
    archive: ArchiveClientBase | ArchiveFolder | str | Path,
    wanted: Wanted,
    timeout: float | None = None,
) -> TimedSource:
    """The messages that are wanted, of a running archive's client or of a folder.

    Raises:
        FileNotFoundError: the folder has no catalog.
        FileFormatError: the catalog is damaged.
    """
    from aerolog.archive.format.archive_folder import ArchiveFolder

    if isinstance(archive, str | Path):
        return FolderSource(ArchiveFolder(archive), wanted, owned=True)
    if isinstance(archive, ArchiveFolder):
        return FolderSource(archive, wanted)
    from aerolog.archive.client.replay.timed_archive import ArchiveSource

    return ArchiveSource(archive, wanted, timeout)


def bounds_of(index: TimeIndex, wanted: Wanted) -> tuple[int | None, int | None]:
    """Where the wanted times lie."""
    return (
        None if wanted.start_ns is None else index.position_at(wanted.start_ns),
        None if wanted.end_ns is None else index.end_position_at(wanted.end_ns),
    )


class FolderSource(TimedSource):
    """Messages of a folder's recording."""

    def __init__(self, folder: ArchiveFolder, wanted: Wanted, *, owned: bool = False) -> None:
        super().__init__()
        self._folder = folder
        self._wanted = wanted
        self._owned = owned

    def parts(self) -> Parts[TimedMessage]:
        """Lists of messages.

        Raises:
            ArchiveError: there is no such recording.
            ConfigurationError: a position outside the recording.
            RecordingDamagedError: a segment is missing or damaged, after the messages before.
        """
        recording = self._folder.recording(self._wanted.recording_id)
        with TimeIndex.of(recording) as index:
            end_ns = time.time_ns() if recording.is_live else index.time_at(recording.end_position)
            wanted = self._wanted.before(end_ns)
            bounds = bounds_of(index, wanted)
            self.notes = notes_of(index, recording.descriptor)
            self.has_index = index.source != SOURCE_DESCRIPTOR
            self.range = part = TimedRange.of(
                recording.descriptor, wanted, recording.end_position, bounds
            )
            yield 1
            yield from self._read(recording, index, part)

    def _read(
        self, recording: Recording, index: TimeIndex, part: TimedRange
    ) -> Iterator[list[TimedMessage]]:
        descriptor = recording.descriptor
        by_position = self._wanted.position is not None
        batches = recording.batches(
            from_position=part.start_position if by_position else None,
            # A time's position may lie within a message, which is then left out.
            after_position=None if by_position else part.start_position,
            until_position=part.read_until,
            rows_max=_ROWS,
            payload_capacity=_PAYLOAD_CAPACITY,
        )
        for batch in batches:
            positions = column_positions(
                batch, descriptor.initial_term_id, descriptor.term_buffer_length
            )
            times = array("q", bytes(8 * len(positions)))
            index.fill_times(positions, times)
            size = self.part
            for row in range(0, batch.rows, size):
                made = timed_columns(batch, times, descriptor.recording_id, row, size)
                kept, over = part.kept(made, positions[row : row + size], index)
                yield kept
                if over:
                    return

    def turn(self) -> None:
        """Nothing: a folder has no connections."""

    def close(self) -> None:
        """Let go of a folder that was named by its path."""
        if self._owned:
            self._folder.close()
