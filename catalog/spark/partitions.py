"""Plans the ranges of recordings that are read, and the partitions that read them.

Partitions are few and large, as each one costs about 0.1 s whatever it contains. A recording is cut
where a segment begins, or where a term begins when segments are larger than the wanted partitions.
No message crosses the boundary of a segment or a term; as a safeguard, a cut is left out when the
frame behind it does not begin a message.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.segment import segment_file_name
from aerolog.catalog.arrow.record_times import UNINDEXED, RowTimes, SettledTimes
from aerolog.catalog.locations import OpenPlaces, recordings_of
from aerolog.transport.errors import ArchiveError, FileFormatError
from aerolog.transport.protocol.fixed_layout import offsets
from aerolog.transport.protocol.frame_header import FRAME_HEADER
from aerolog.transport.protocol.frames import FLAG_BEGIN, FRAME_PAD
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aerolog.archive.format.archive_folder import ArchiveFolder, Recording
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.catalog.locations import PlacedRecording
    from aerolog.catalog.spark.filters import RowBounds
    from aerolog.catalog.spark.options import ReadOptions

PARTITION_BYTES_MIN = 16 * 1024 * 1024
PARTITIONS_EACH = 2  # for each concurrent task, so that none waits long for another
_OFFSET = offsets(FRAME_HEADER)
_FRAME_HEAD = 8


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class Range:
    """A part of a recording, which is sent to the executors.

    Attributes:
        place: the archive's place.
        recording_id: the recording's id in that archive.
        from_position: the position where the first frame begins.
        until_position: the position where the last frame ends.
        after_position: rows up to this position are left out.
        problem: why the range cannot be read, if that is known already; it gives one row of the
            rejects.
        settled: the part of the recording's time index that is used, the same for all of its
            ranges.
    """

    place: str
    recording_id: int
    from_position: int
    until_position: int
    after_position: int = -1
    problem: str = ""
    settled: SettledTimes = UNINDEXED

    @property
    def length(self) -> int:
        """The range's bytes of stream."""
        return self.until_position - self.from_position


def plan(options: ReadOptions, bounds: RowBounds) -> list[tuple[Range, ...]]:
    """Plan the partitions of a batch.

    Args:
        options: the options of the read.
        bounds: the bounds of filters that were pushed down.

    Raises:
        Exception: whatever ``recordings_of`` and ``open_place`` raise; a recording that cannot be
            opened is an error, or with ``skip_damage`` a range with a problem.
    """
    return split_ranges(options, _ranges(options, bounds))


def partition_bytes(options: ReadOptions, total: int) -> int:
    """The bytes of stream that a partition should have, for a total of bytes to read."""
    size = options.partition_bytes
    if options.min_partitions is not None:
        share = -(-total // (options.min_partitions * PARTITIONS_EACH))
        size = min(size, max(share, PARTITION_BYTES_MIN))
    return max(size, 1)


def split_ranges(options: ReadOptions, ranges: Iterable[Range]) -> list[tuple[Range, ...]]:
    """Make partitions of given ranges, in their order."""
    wanted = list(ranges)
    size = partition_bytes(options, sum(each.length for each in wanted))
    parts: list[Range] = []
    with OpenPlaces(options.open) as places:
        for each in wanted:
            if each.length <= size:
                parts.append(each)
            else:
                parts += _split(places.folder(each.place), each, size)
    return pack(parts, size)


def chosen(options: ReadOptions) -> dict[str, list[int]]:
    """Places -> ids of the selected recordings there, in the order in which they were found."""
    found: dict[str, list[int]] = {}
    for recording in _chosen(options):
        found.setdefault(recording.place, []).append(recording.recording_id)
    return found


def pack(parts: Iterable[Range], size: int) -> list[tuple[Range, ...]]:
    """Combine ranges to partitions in order, several small ones in one partition."""
    found: list[tuple[Range, ...]] = []
    pending: list[Range] = []
    length = 0
    for part in parts:
        if pending and length + part.length > size:
            found.append(tuple(pending))
            pending, length = [], 0
        if pending and _continues(pending[-1], part):
            pending[-1] = replace(pending[-1], until_position=part.until_position)
        else:
            pending.append(part)
        length += part.length
    if pending:
        found.append(tuple(pending))
    return found


def _continues(first: Range, second: Range) -> bool:
    return (
        (first.place, first.recording_id, first.until_position)
        == (second.place, second.recording_id, second.from_position)
        and not first.problem
        and not second.problem
    )


def _chosen(options: ReadOptions) -> list[PlacedRecording]:
    # Session ids are compared in the frames: a recording that was extended has several.
    return recordings_of(options.archive, replace(options.choice, session_ids=None))


def _ranges(options: ReadOptions, bounds: RowBounds) -> Iterator[Range]:
    after = max(options.from_position or -1, bounds.after_position)
    until = bounds.until_position
    if options.until_position is not None:
        until = min(until, options.until_position)
    for place, ids in chosen(options).items():
        wanted = [each for each in ids if bounds.has_recording(each)]
        if not wanted:
            continue
        with options.open(place) as folder:
            for recording_id in wanted:
                try:
                    recording = folder.recording(recording_id)
                except (ArchiveError, FileFormatError) as error:
                    if not options.skip_damage:
                        raise
                    problem = f"the recording cannot be opened: {error}"
                    yield Range(place, recording_id, 0, 0, problem=problem)
                    continue
                if not bounds.has_stream(recording.descriptor.stream_id):
                    continue
                found = _range(options, bounds, recording, after, until)
                if found is not None:
                    yield replace(found, place=place)


def _range(
    options: ReadOptions, bounds: RowBounds, recording: Recording, after: int, until: int
) -> Range | None:
    """The part of a recording that is within bounds of positions and times; None for nothing."""
    last = min(recording.end_position, until)
    term = recording.descriptor.term_buffer_length
    settled = UNINDEXED
    if options.wants_times or bounds.within:
        times = RowTimes.of(recording, options.time_source)
        settled = times.settled
        within = options.within & bounds.within
        if bounds.within and not times.known:
            return None  # a comparison with a null time is never true
        if within and times.known:
            begin, end = times.narrowed(within, recording.start_position, recording.end_position)
            if begin >= end:
                return None
            # A message that begins before the end may extend to the end of its term.
            last = min(last, -(-end // term) * term)
            after = max(after, begin) if begin > recording.start_position else after
    first = max(recording.start_position, after - after % term)
    if first >= last:
        return None
    return Range("", recording.recording_id, first, last, after, settled=settled)


def _split(folder: ArchiveFolder, whole: Range, size: int) -> list[Range]:
    """Cut a range to parts of about a size at segments, or at terms where those are too large."""
    descriptor = folder.catalog.checked_entry(whole.recording_id).descriptor
    step, is_local = descriptor.segment_file_length, Path(folder.path).is_dir()
    if step > size and is_local:  # An object store fetches whole segments.
        step = descriptor.term_buffer_length
    first = descriptor.segment_base(whole.from_position)
    step *= max(size // step, 1)
    edges = [whole.from_position]
    for cut in range(first + step, whole.until_position - step // 2 + 1, step):
        is_segment = cut == descriptor.segment_base(cut)
        if cut > edges[-1] and (is_segment or _begins(folder, descriptor, cut)):
            edges.append(cut)
    edges.append(whole.until_position)
    return [
        replace(whole, from_position=first, until_position=last) for first, last in pairwise(edges)
    ]


def _begins(folder: ArchiveFolder, descriptor: RecordingDescriptor, position: int) -> bool:
    """Whether the frame at a position begins a message or is padding."""
    base = descriptor.segment_base(position)
    path = str(Path(folder.path) / segment_file_name(descriptor.recording_id, base))
    try:
        with folder.files.open_data_file(path) as file:
            head = file.read_at(_FRAME_HEAD, position - base)
    except OSError:
        return False  # The reader of this range reports the damage.
    if len(head) < _FRAME_HEAD:
        return False
    kind = int.from_bytes(head[_OFFSET["type"] : _OFFSET["type"] + 2], "little")
    return kind == FRAME_PAD or bool(head[_OFFSET["flags"]] & FLAG_BEGIN)
