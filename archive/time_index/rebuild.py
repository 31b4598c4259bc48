"""Rebuilding the index of a recording that has none, or whose index is damaged."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from aerolog.archive.time_index.index import TimeIndex
from aerolog.archive.time_index.index_file import source_of, write_index
from aerolog.archive.time_index.known_part import RecordedFrames, repeated
from aerolog.archive.time_index.layout import IndexHeader
from aerolog.archive.time_index.notes import TIME_OF_CLOCK, TIME_OF_RESERVED
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.archive.format.archive_folder import Recording
    from aerolog.archive.format.scan_columns import ScanColumns

_ENTRY_DISTANCE = 4096
_PAUSE_NS = 10 * NS_PER_MS
_TIME_LENGTH = 8


def rebuild_index(recording: Recording, time_offset: int = TIME_OF_CLOCK) -> str:
    """Write the index of a stopped recording anew, from the best times that are left.

    The times that an index still has are kept. Without them the times in the messages are used.
    Without those the index has the times at which the recording started and stopped: between them
    a search finds whatever may lie there, and no position has a known time.

    Args:
        recording: a recording of an archive's folder.
        time_offset: the place of times in messages, see `TimeNotes`; TIME_OF_CLOCK for none.

    Returns:
        Path of the index file.

    Raises:
        ArchiveError: ACTIVE_RECORDING, the recording's archive is still writing the index.
        RecordingDamagedError: the messages have to be read, and a segment is damaged.
        OSError: the index cannot be written, or the existing one cannot be read.
    """
    descriptor = recording.descriptor
    if descriptor.is_active:
        raise ArchiveError(
            ArchiveErrorCode.ACTIVE_RECORDING,
            f"recording {recording.recording_id} is active: its archive keeps the index, and makes"
            " it anew when the recording goes on",
        )
    with TimeIndex.of(recording) as old:
        if old.error is not None:
            raise old.error  # the index may be sound, and a new one would lose its times
        if old.has_times:
            times, positions = old.part(old.source)
            facts = {"source": old.source, "rebuilt": old.is_rebuilt, "joined": old.is_joined}
        else:
            is_guess = time_offset == TIME_OF_CLOCK
            entries = (
                _of_descriptor(recording) if is_guess else _of_messages(recording, time_offset)
            )
            columns = zip(*entries, strict=True)
            times, positions = (array("q", column) for column in columns)
            facts = {"source": source_of(time_offset), "rebuilt": True}
    header = IndexHeader.of(descriptor, **facts)
    frames = RecordedFrames(recording.folder.path, descriptor, recording.files)
    return write_index(recording.folder.path, header, times, positions, recording.files, frames)


def _of_descriptor(recording: Recording) -> Iterator[tuple[int, int]]:
    descriptor = recording.descriptor
    start = descriptor.start_timestamp * NS_PER_MS, descriptor.start_position
    yield from zip(*repeated(start), strict=True)
    yield (descriptor.stop_timestamp + 1) * NS_PER_MS, descriptor.stop_position


def _of_messages(recording: Recording, offset: int) -> Iterator[tuple[int, int]]:
    """Yield the entries that a recorder would have made of the times in the messages."""
    begin, due, noted, before = recording.start_position, recording.start_position, 0, 0
    columns: tuple[str, ...] = ("position", "flags", "reserved_value")
    if offset != TIME_OF_RESERVED:
        columns += ("payload",)
    for batch in recording.batches(assemble=False, columns=columns):
        ends, flags = batch.column("position"), batch.column("flags")
        for row, end in enumerate(ends):
            time_ns = _time_of(batch, row, offset) if flags[row] & 0x80 else 0
            if time_ns > 0:
                is_apart = not before <= time_ns < before + _PAUSE_NS
                if before and is_apart and before != noted:
                    yield before, begin
                if begin >= due or is_apart or time_ns >= noted + _PAUSE_NS:
                    yield time_ns, begin
                    due, noted = begin + _ENTRY_DISTANCE, time_ns
                before = time_ns
            begin = end
    if before:
        yield before, recording.end_position


def _time_of(batch: ScanColumns, row: int, offset: int) -> int:
    if offset == TIME_OF_RESERVED:
        return int(batch.column("reserved_value")[row])
    at = batch.column("payload_offset")
    begin, end = at[row] + offset, at[row + 1]
    if begin + _TIME_LENGTH > end:
        return 0
    data = batch.column("payload")[begin : begin + _TIME_LENGTH]
    return int.from_bytes(data, "little", signed=True)
