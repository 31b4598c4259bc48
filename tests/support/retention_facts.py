"""Recordings to plan with, made of numbers alone, and folders of recordings that begin recently."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.retention.clock import ClockReading
from aerolog.archive.retention.facts import (
    Facts,
    RecordingFacts,
    sorted_bases,
)
from aerolog.archive.time_index.index_file import write_index
from aerolog.archive.time_index.layout import IndexHeader
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.transport.memory.filesystem import FileSystem

SEGMENT = 64 * 1024
DAY_MS = 86_400_000
NOW_MS = 1_795_000_000_000


class SteadyTimeline:
    """A recording that grew evenly from its start time to its end time."""

    def __init__(self, start: int, end: int, start_ms: int, end_ms: int) -> None:
        self.start, self.end = start, end
        self.start_ns, self.end_ns = start_ms * NS_PER_MS, end_ms * NS_PER_MS

    def time_at(self, position: int) -> int:
        """Linear."""
        if self.end == self.start:
            return self.start_ns
        part = (self.end_ns - self.start_ns) * (position - self.start)
        return self.start_ns + part // (self.end - self.start)

    def why_unknown(self, position: int) -> None:
        """All times are known."""

    def position_at(self, time_ns: int) -> int:
        """Where the first frame of 32 bytes was written at that time or later."""
        if time_ns <= self.start_ns:
            return self.start
        if time_ns > self.end_ns:
            return self.end
        part = (self.end - self.start) * (time_ns - self.start_ns)
        return self.start + part // (self.end_ns - self.start_ns) // 32 * 32


@dataclass(frozen=True, slots=True)
class EndTimeline:
    """All of a recording is as young as its end.

    Attributes:
        start_position: the recording's start position.
        end_position: the recording's end position.
        start_ms: when it began.
        stop_ms: when it ended, None while it is active.
    """

    start_position: int
    end_position: int
    start_ms: int
    stop_ms: int | None

    def why_unknown(self, position: int) -> None:
        """All times are known."""

    def position_at(self, time_ns: int) -> int:
        """Return the end when the recording ended before ``time_ns``, otherwise the start."""
        if self.stop_ms is not None and (self.stop_ms + 1) * NS_PER_MS <= time_ns:
            return self.end_position
        return self.start_position

    def time_at(self, position: int) -> int:
        """Return the end's time; the start's for the first position and while it is active."""
        last = self.start_ms if self.stop_ms is None else self.stop_ms
        return (self.start_ms if position <= self.start_position else last) * NS_PER_MS


def recording(
    recording_id: int = 0,
    *,
    segments: float = 4,
    start: int = 0,
    start_ms: int = NOW_MS - 10 * DAY_MS,
    end_ms: int = NOW_MS - 6 * DAY_MS,
    active: bool = False,
    steady: bool = True,
    missing: Sequence[int] = (),
    **fields: Any,
) -> RecordingFacts:
    """A recording of so many segments, all of its files there but the missing ones."""
    end = start + int(segments * SEGMENT) // 32 * 32
    first = start - start % SEGMENT
    bases = [base for base in range(first, max(end, first + 1), SEGMENT) if base not in missing]
    stop_ms = None if active else end_ms
    timeline: Any = EndTimeline(start, end, start_ms, stop_ms)
    if steady:
        timeline = SteadyTimeline(start, end, start_ms, end_ms)
    return RecordingFacts(
        recording_id=recording_id,
        start_position=start,
        end_position=end,
        is_active=active,
        start_ms=start_ms,
        stop_ms=stop_ms,
        segment_length=SEGMENT,
        term_length=SEGMENT,
        segments=sorted_bases(bases),
        timeline=timeline,
        **{"channel": "aeron:ipc", "stripped_channel": "aeron:ipc", "stream_id": 10, **fields},
    )


def facts(*recordings: RecordingFacts, **fields: Any) -> Facts:
    """Facts of recordings."""
    return Facts(recordings=recordings, **fields)


def reading(now_ms: int = NOW_MS, *, boot: str = "boot", up_ms: int | None = None) -> ClockReading:
    """A clock that is right: the machine has been up since the beginning of its time."""
    return ClockReading(now_ms, boot, (now_ms if up_ms is None else up_ms) * NS_PER_MS)


def write_recording(
    folder: str,
    files: FileSystem,
    *,
    segments: float = 3.5,
    stream_id: int = 10,
    age_ms: int = 10 * DAY_MS,
    stopped: bool = True,
    checksum: Any = None,
    with_times: bool = True,
) -> int:
    """Add a recording to a folder of any file system: its catalog entry, and files of its length.

    Returns:
        Its recording id.
    """
    builder = RecordingBuilder(stream_id=stream_id)
    end = int(segments * SEGMENT) // 1024 * 1024
    while builder.position < end:
        builder.add(b"x" * (1024 - 32))
    descriptor = builder.descriptor(stopped=stopped).with_changes(
        start_timestamp=NOW_MS - age_ms,
        stop_timestamp=NOW_MS - age_ms + 1000 if stopped else -1,
    )
    with CatalogFile.open(folder, files=files, capacity=4096, checksum=checksum) as catalog:
        recording_id = catalog.add_recording(descriptor)
    for base in range(0, end, SEGMENT):
        name = f"{folder}/{segment_file_name(recording_id, base)}"
        with files.open_data_file(name, writable=True, create=True) as file:
            file.set_length(SEGMENT)
            file.write_at(bytes(builder.data[base : base + 64]), 0)
    start_ns, end_ns = (NOW_MS - age_ms) * NS_PER_MS, (NOW_MS - age_ms + 1001) * NS_PER_MS
    header = IndexHeader.of(descriptor.with_changes(recording_id=recording_id))
    times, positions = array("q", (start_ns, end_ns)), array("q", (0, builder.position))
    if not stopped:
        times, positions = times[:1], positions[:1]
    if with_times:
        write_index(folder, header, times, positions, files)
    return recording_id
