"""Gathers the facts for a plan from an archive's folder, whether or not an archive runs in it.

Nothing is written. A recording that cannot be read is reported, and nothing of it is deleted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.live_position import live_positions
from aerolog.archive.format.segment import parse_segment_name, recording_id_of
from aerolog.archive.retention.clock import (
    PLAUSIBLE_MS,
    TOLERANCE_MS,
    ArchiveAge,
    process_age_ns,
)
from aerolog.archive.retention.facts import (
    Facts,
    RecordingFacts,
    UnknownTimeline,
    sorted_bases,
)
from aerolog.archive.retention.holds import Holds
from aerolog.archive.time_index import (
    SOURCE_CHANNEL,
    SOURCE_CLOCK,
    SOURCE_DESCRIPTOR,
    TimeIndex,
)
from aerolog.transport.config.values import INT64_MAX
from aerolog.transport.errors import ArchiveError, FileFormatError
from aerolog.transport.memory.error_text import format_time
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.format.mark_file import ArchiveMarkFile
    from aerolog.archive.retention.facts import Need

_OPEN_MAX: Final = 64


def look(
    archive_dir: str | Path,
    now_ms: int,
    files: FileSystem | None = None,
    *,
    labels: Mapping[int, Mapping[str, str]] | None = None,
    needs: Iterable[Need] = (),
    problems: Iterable[str] = (),
    total_bytes: int | None = None,
) -> Facts:
    """Gather the facts of a folder.

    Args:
        archive_dir: the archive's folder.
        now_ms: the time at which holds are evaluated, epoch milliseconds.
        files: the file system to read from.
        labels: labels in the SQL catalog, by recording id.
        needs: needs other than holds.
        problems: problems met while gathering the other arguments.
        total_bytes: the file system's size, None when it is not known.

    Raises:
        FileNotFoundError: the folder has no catalog.
        FileFormatError: the catalog is damaged.
        HoldsDamagedError: the holds cannot be read.
    """
    files = files or RealFileSystem()
    holds = Holds.open(archive_dir, files)
    held = [hold.need() for hold in holds if not hold.is_over(now_ms)]
    found: list[RecordingFacts] = []
    told = list(problems)
    timelines = _Timelines(str(archive_dir), files, now_ms)
    with CatalogReader.open(archive_dir, files) as catalog:
        bases = _bases(files.scan_dir(str(archive_dir)))
        live = live_positions(archive_dir, files)
        for recording_id in catalog.ids():
            try:
                descriptor = catalog.checked_entry(recording_id).descriptor
            except (FileFormatError, ArchiveError) as error:
                told.append(f"recording {recording_id} is left alone: {error}")
                continue
            end = live.get((recording_id, descriptor.session_id))
            found.append(_facts(descriptor, end, bases.get(recording_id, ()), timelines))
    if labels:
        found = [replace(one, labels=labels.get(one.recording_id, {})) for one in found]
    return Facts(
        recordings=tuple(found),
        needs=(*held, *needs),
        usable_bytes=files.usable_space(str(archive_dir)),
        total_bytes=total_bytes,
        problems=tuple(told),
    )


def newest_ms(facts: Facts) -> int | None:
    """Return the latest time in the recordings, epoch milliseconds, None without any."""
    times = [max(one.start_ms, one.stop_ms or 0) for one in facts.recordings]
    return max(times, default=None)


def archive_age(mark: ArchiveMarkFile | None, uptime_ns: int) -> ArchiveAge | None:
    """Return the age of a running archive at an uptime, None when its process is not visible."""
    if mark is None:
        return None
    header = mark.header
    age = process_age_ns(header.pid, uptime_ns)
    return None if age is None else ArchiveAge(header.start_timestamp, age)


def _bases(names: Iterable[str]) -> dict[int, list[int]]:
    """Return the start positions of each recording's segments, from the names in a folder."""
    found: dict[int, list[int]] = {}
    for name in names:
        if recording_id_of(name) is None:
            continue
        try:
            parsed = parse_segment_name(name)
        except FileFormatError:
            continue
        if str(parsed) == name:
            found.setdefault(parsed.recording_id, []).append(parsed.base_position)
    return found


def _facts(
    descriptor: RecordingDescriptor,
    live_end: int | None,
    bases: Iterable[int],
    timelines: _Timelines,
) -> RecordingFacts:
    start = descriptor.start_position
    first = start - start % descriptor.term_buffer_length
    there = sorted_bases([base for base in bases if base >= first])
    end = _end(descriptor, live_end, there)
    return RecordingFacts(
        recording_id=descriptor.recording_id,
        channel=descriptor.original_channel,
        stripped_channel=descriptor.stripped_channel,
        stream_id=descriptor.stream_id,
        start_position=start,
        end_position=end,
        is_active=descriptor.is_active,
        start_ms=descriptor.start_timestamp,
        stop_ms=None if descriptor.is_active else descriptor.stop_timestamp,
        segment_length=descriptor.segment_file_length,
        term_length=descriptor.term_buffer_length,
        segments=there,
        timeline=_LazyTimeline(timelines, descriptor, end),
    )


def _end(descriptor: RecordingDescriptor, live_end: int | None, there: array[int]) -> int:
    """Return how far a recording is known to reach; without an end its last segment is kept."""
    start = descriptor.start_position
    if not descriptor.is_active:
        return descriptor.stop_position
    if live_end is not None:
        return max(live_end, start)
    return max(there[-1], start) if there else start


class _Timelines:
    """The time indexes of a folder's recordings, of which a few are open at a time."""

    def __init__(self, archive_dir: str, files: FileSystem, now_ms: int) -> None:
        self._archive_dir = archive_dir
        self._files = files
        self._now_ms = now_ms
        self._open: dict[int, TimeIndex | UnknownTimeline] = {}

    def of(self, descriptor: RecordingDescriptor, end: int) -> TimeIndex | UnknownTimeline:
        """Return the timeline of a recording."""
        recording_id = descriptor.recording_id
        found = self._open.pop(recording_id, None)
        if found is None:
            while len(self._open) >= _OPEN_MAX:
                self._drop(next(iter(self._open)))
            found = self._opened(descriptor, end)
        self._open[recording_id] = found  # the index used last comes last
        return found

    def _drop(self, recording_id: int) -> None:
        gone = self._open.pop(recording_id)
        if isinstance(gone, TimeIndex):
            gone.close()

    def _opened(self, descriptor: RecordingDescriptor, end: int) -> TimeIndex | UnknownTimeline:
        start, recording_id = descriptor.start_position, descriptor.recording_id
        make = (
            f"aerolog recordings times {recording_id} --archive-dir {self._archive_dir} --rebuild"
        )
        try:
            index = TimeIndex.beside(self._archive_dir, descriptor, start, end, self._files)
        except (OSError, FileFormatError) as error:
            return UnknownTimeline(start, f"its time index cannot be read: {error}")
        why: str | None
        if index.source == SOURCE_DESCRIPTOR or not index.entries:
            problems = "; ".join(index.problems)
            after = " once it has stopped" if descriptor.is_active else ""
            why = (
                f"it has no time index{problems and f' ({problems})'}: {make} makes one{after}"
                " where its messages carry times"
            )
        elif index.is_rebuilt and index.source == SOURCE_CLOCK:
            why = (
                "its time index was made of the times in its catalog entry, which are not those of"
                " its messages: let it go by its size, or by hand (aerolog recordings purge"
                f" {recording_id})"
            )
        else:
            why = self._why_odd(index, descriptor)
        if why is None:
            return index
        index.close()
        return UnknownTimeline(start, why)

    def _why_odd(self, index: TimeIndex, descriptor: RecordingDescriptor) -> str | None:
        """Return why an index has impossible times, as a channel's own timestamps may be."""
        latest = (self._now_ms + TOLERANCE_MS) * NS_PER_MS
        earliest = PLAUSIBLE_MS * NS_PER_MS
        if index.source == SOURCE_CHANNEL:
            earliest = (descriptor.start_timestamp - TOLERANCE_MS) * NS_PER_MS
        first, last = index.first_time_ns, index.last_time_ns
        if earliest <= first <= latest and earliest <= last <= latest:
            return None
        recording_id = index.recording_id
        whose = "the channel's" if index.source == SOURCE_CHANNEL else "its time index's"
        return (
            f"{whose} times, {format_time(first // NS_PER_MS)} to {format_time(last // NS_PER_MS)},"
            " do not go with those of the catalog and the clock: let it go by its size, or by hand"
            f" (aerolog recordings purge {recording_id})"
        )


class _LazyTimeline:
    """A recording's timeline, which is looked up at each question."""

    def __init__(self, timelines: _Timelines, descriptor: RecordingDescriptor, end: int) -> None:
        self._get: Callable[[], TimeIndex | UnknownTimeline] = lambda: timelines.of(descriptor, end)

    def position_at(self, time_ns: int) -> int:
        return self._get().position_at(time_ns)

    def time_at(self, position: int) -> int:
        found = self._get()
        if isinstance(found, TimeIndex) and not found.knows(position):
            return INT64_MAX
        return found.time_at(position)

    def why_unknown(self, position: int) -> str | None:
        found = self._get()
        if isinstance(found, UnknownTimeline):
            return found.why_unknown(position)
        if found.knows(position):
            return None
        return (
            f"when position {position} was recorded is not known, as the time index has no times"
            " there: let it go by its size, or by hand (aerolog recordings purge-segments"
            f" {found.recording_id})"
        )
