"""Rebuilding the index of a recording that has none, or whose index is damaged."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from aerolog.archive.time_index.index import TimeIndex
from aerolog.archive.time_index.index_file import source_of, write_index
from aerolog.archive.time_index.known_part import RecordedFrames
from aerolog.archive.time_index.layout import IndexHeader
from aerolog.archive.time_index.notes import TIME_OF_CLOCK, TIME_OF_RESERVED
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aerolog.archive.format.archive_folder import Recording
    from aerolog.archive.format.scan_columns import ScanColumns

    Entries = Iterable[tuple[int, int]]

_ENTRY_DISTANCE = 4096
_TIME_LENGTH = 8


def rebuild_index(recording: Recording, time_offset: int = TIME_OF_CLOCK) -> str:
    """Write the index of a stopped recording anew, from the best times that are left.

    The times that an index still has are kept. Without them the times in the messages are used, and
    without those the times at which the recording started and stopped.

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
        entries: Entries = _kept(old)
        source, is_rebuilt = old.source, old.is_rebuilt
        if not old.entries:
            source = source_of(time_offset)
            is_rebuilt = True
            entries = (
                _of_descriptor(recording)
                if time_offset == TIME_OF_CLOCK
                else _of_messages(recording, time_offset)
            )
        times, positions = array("q"), array("q")
        for time_ns, position in entries:
            times.append(time_ns)
            positions.append(position)
    header = IndexHeader.of(descriptor, source=source, rebuilt=is_rebuilt)
    frames = RecordedFrames(recording.folder.path, descriptor, recording.files)
    return write_index(recording.folder.path, header, times, positions, recording.files, frames)


def _kept(index: TimeIndex) -> Iterator[tuple[int, int]]:
    for times, positions in index.entry_blocks():
        yield from zip(times, positions, strict=True)


def _of_descriptor(recording: Recording) -> Iterator[tuple[int, int]]:
    descriptor = recording.descriptor
    yield descriptor.start_timestamp * NS_PER_MS, descriptor.start_position
    yield (descriptor.stop_timestamp + 1) * NS_PER_MS, descriptor.stop_position


def _of_messages(recording: Recording, offset: int) -> Iterator[tuple[int, int]]:
    """Yield an entry every 4 KiB and at each step back of the times, which searches need."""
    begin, due, latest = recording.start_position, recording.start_position, 0
    columns: tuple[str, ...] = ("position", "flags", "reserved_value")
    if offset != TIME_OF_RESERVED:
        columns += ("payload",)
    for batch in recording.batches(assemble=False, columns=columns):
        ends, flags = batch.column("position"), batch.column("flags")
        for row, end in enumerate(ends):
            time_ns = _time_of(batch, row, offset) if flags[row] & 0x80 else 0
            if time_ns > 0 and (begin >= due or time_ns < latest):
                yield time_ns, begin
                due = begin + _ENTRY_DISTANCE
            latest = max(time_ns, latest)
            begin = end
    if latest:
        yield latest + 1, recording.end_position


def _time_of(batch: ScanColumns, row: int, offset: int) -> int:
    if offset == TIME_OF_RESERVED:
        return int(batch.column("reserved_value")[row])
    at = batch.column("payload_offset")
    begin, end = at[row] + offset, at[row + 1]
    if begin + _TIME_LENGTH > end:
        return 0
    data = batch.column("payload")[begin : begin + _TIME_LENGTH]
    return int.from_bytes(data, "little", signed=True)
