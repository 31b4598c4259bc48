"""The index of a recording that gets all segments of another, which come with their times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.archive.format.layout import MAX_I64
from aerolog.archive.time_index.index import SOURCE_DESCRIPTOR, TimeIndex
from aerolog.archive.time_index.index_file import blocks_of, write_index
from aerolog.archive.time_index.known_part import RecordedFrames, joined, unknown_entries
from aerolog.archive.time_index.layout import IndexHeader

if TYPE_CHECKING:
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.time_index.known_part import Entries
    from aerolog.archive.time_index.notes import TimeNotes
    from aerolog.transport.memory.filesystem import FileSystem


def join_indexes(
    archive_dir: str,
    source: RecordingDescriptor,
    target: RecordingDescriptor,
    notes: TimeNotes | None,
    files: FileSystem,
) -> None:
    """Write the index that a recording has when it gets all segments of another.

    It is right before the segments move as well as after it: entries outside a recording are
    ignored. What comes without an index has unknown times in it.

    Args:
        archive_dir: the archive's folder, in which no segment has moved yet.
        source: the recording whose segments move to an end of the other.
        target: the recording that gets them.
        notes: the notes of the target, which go on in the new index; None when it has stopped, or
            has none.
        files: the file system to use.

    Raises:
        OSError: the index cannot be written; the one before is unchanged.
    """
    is_front = source.stop_position == target.start_position
    end = MAX_I64 if target.is_active else target.stop_position
    with (
        TimeIndex.beside(
            archive_dir, source, source.start_position, source.stop_position, files
        ) as moved,
        TimeIndex.beside(archive_dir, target, target.start_position, end, files) as stays,
    ):
        kind = moved.source if stays.source == SOURCE_DESCRIPTOR else stays.source
        if kind == SOURCE_DESCRIPTOR:
            return  # none of the two has an index
        is_rebuilt = moved.is_rebuilt or stays.is_rebuilt
        parts = [moved.part(kind), _of_target(stays, kind, notes)]
        times, positions = joined(*(parts if is_front else reversed(parts)))
    start = min(source.start_position, target.start_position)
    header = IndexHeader.of(
        target, source=kind, start_position=start, rebuilt=is_rebuilt, joined=True
    )
    frames = _JoinedFrames(archive_dir, target, files, source)
    path = write_index(archive_dir, header, times, positions, files, frames)
    if notes is not None:
        file = files.open_data_file(path, writable=True)
        notes.move_to(file, blocks_of(file, header))


@dataclass(frozen=True, slots=True)
class _JoinedFrames(RecordedFrames):
    """The frames of two recordings that are about to be one."""

    source: RecordingDescriptor

    def sample_at(self, position: int) -> int:
        if self.source.start_position <= position < self.source.stop_position:
            return RecordedFrames(self.archive_dir, self.source, self.files).sample_at(position)
        return RecordedFrames(self.archive_dir, self.descriptor, self.files).sample_at(position)


def _of_target(index: TimeIndex, kind: str, notes: TimeNotes | None) -> Entries:
    times, positions = index.part(kind)
    if notes is not None and times[-2:].tolist() == list(unknown_entries(0)[0]):
        # What follows the last entry is not unknown: its notes are still to come.
        return times[:-2], positions[:-2]
    return times, positions
