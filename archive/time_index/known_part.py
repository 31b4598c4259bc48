"""Which part of a recording an index knows, when segments may have come, gone or been replaced.

An archive that keeps no indexes may have moved segments to either end of a recording since its
index was written. What an index does not cover shows by its ends. What was replaced shows by the
samples in its blocks: whole segments come and go, so that the frame at a sample's position is still
the one that was recorded, or its segment is another one.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.checksum import Checksum, checksum_for
from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.time_index.blocks import SAMPLE_LENGTH, UNKNOWN_TIMES, sample_of
from aerolog.transport.protocol.fixed_layout import align, offsets
from aerolog.transport.protocol.frame_header import FRAME_HEADER
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH, FRAME_ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.time_index.blocks import TimeBlocks
    from aerolog.archive.time_index.layout import IndexHeader
    from aerolog.transport.memory.filesystem import FileSystem

_SESSION_AT: Final = offsets(FRAME_HEADER)["session_id"]
_CHECKSUMS: Final = ("CRC-32C", "CRC-32")
#: Blocks in a row that may lack a sample, as those of older indexes do; then nothing is compared.
_LOOKED_AT_MAX: Final = 4


@dataclass(frozen=True, slots=True)
class RecordedFrames:
    """The frames of a recording as they are now in its segments.

    Attributes:
        archive_dir: the archive's folder.
        descriptor: the recording's descriptor.
        files: the file system to use.
    """

    archive_dir: str
    descriptor: RecordingDescriptor
    files: FileSystem

    def _read(self, position: int, length: int) -> bytes:
        descriptor = self.descriptor
        base = descriptor.segment_base(position)
        name = segment_file_name(descriptor.recording_id, base)
        with self.files.open_data_file(str(Path(self.archive_dir) / name)) as file:
            return file.read_at(length, position - base)

    def sample_at(self, position: int) -> int:
        """The sample of the frame that begins at a position, 0 when there is none to be read."""
        try:
            return sample_of(self._read(position, SAMPLE_LENGTH))
        except OSError:
            return 0

    def is_same(self, position: int, sample: int) -> bool:
        """Whether the frame at a position is the one that a sample was taken of.

        A segment that is not there or cannot be read says nothing against it.
        """
        try:
            frame = self._read(position, SAMPLE_LENGTH)
            found = sample_of(frame)
            return found == sample or (found != 0 and self._is_stamped(position, frame, sample))
        except OSError:
            return True

    def _is_stamped(self, position: int, frame: bytes, sample: int) -> bool:
        """Whether only a checksum has taken the place of the frame's session id."""
        field = slice(_SESSION_AT, _SESSION_AT + 4)
        session_id = self.descriptor.session_id.to_bytes(4, "little", signed=True)
        if sample_of(frame[: field.start] + session_id + frame[field.stop :]) != sample:
            return False
        length = int.from_bytes(frame[:4], "little", signed=True)
        room = align(length, FRAME_ALIGNMENT) - DATA_HEADER_LENGTH
        body = self._read(position + DATA_HEADER_LENGTH, room)
        sums = (checksum_for(name) for name in _CHECKSUMS)
        stamps = {one.compute(body) for one in sums if isinstance(one, Checksum)}
        return int.from_bytes(frame[field], "little", signed=True) in stamps


def known_part(
    blocks: TimeBlocks,
    header: IndexHeader,
    frames: RecordedFrames,
    start_position: int,
    end_position: int,
) -> tuple[int, int]:
    """The positions between which an index knows the times of a recording; equal when nowhere.

    Args:
        blocks: the blocks of the index.
        header: its header.
        frames: the recording's frames.
        start_position: the recording's start.
        end_position: its end, or the position up to which it is looked at.
    """
    ends = blocks.ends()
    if ends is None:
        return start_position, start_position
    first, last = ends
    begin = max(start_position, header.start_position)
    if header.first_block > 0:
        begin = max(begin, first)
    end = end_position
    is_bounded = header.is_bounded or frames.descriptor.is_active
    if last < end_position and (
        not is_bounded or _may_be_stop(blocks, frames.descriptor, first, last)
    ):
        end = last
    if begin >= end:
        return start_position, start_position
    return _Samples(blocks, frames, begin, end).narrowed(begin, end)


def _may_be_stop(
    blocks: TimeBlocks, descriptor: RecordingDescriptor, first: int, last: int
) -> bool:
    """Whether a recording may have stopped at its index's last entry, so that segments were joined.

    Segments can only be joined at a segment's beginning. An entry elsewhere is the last one because
    the index was cut short, and so is one with the sample of a frame that was recorded there.
    """
    if descriptor.is_active or last == first or descriptor.segment_base(last) != last:
        return False
    found = blocks.sample(blocks.block_of(last))
    return found is None or found[0] != last


class _Samples:
    """Compares samples of the blocks that begin in a part of a recording."""

    def __init__(self, blocks: TimeBlocks, frames: RecordedFrames, begin: int, end: int) -> None:
        self._blocks = blocks
        self._frames = frames
        self._begin = begin
        self._end = end

    def _near(self, number: int, step: int) -> tuple[int, int, int] | None:
        """The first block from one on that has a sample in the part: number, position, sample."""
        for _ in range(_LOOKED_AT_MAX):
            found = self._blocks.sample(number)
            if found is not None and self._begin <= found[0] < self._end:
                return number, *found
            number += step
            if not self._blocks.first <= number < self._blocks.limit:
                break
        return None

    def narrowed(self, begin: int, end: int) -> tuple[int, int]:
        """The part of it that was not replaced."""
        first = self._near(self._blocks.block_of(begin), 1)
        last = self._near(self._blocks.block_of(end - 1), -1)
        if first is None or last is None:
            return begin, end
        first_is_same = self._frames.is_same(*first[1:])
        last_is_same = first_is_same if first == last else self._frames.is_same(*last[1:])
        if first_is_same and last_is_same:
            return begin, end
        if not first_is_same and not last_is_same:
            return begin, begin
        same, other = self._border(first, last, is_first=first_is_same)
        descriptor = self._frames.descriptor
        base, other_base = descriptor.segment_base(same), descriptor.segment_base(other)
        if first_is_same:
            return begin, same if base == other_base else base + descriptor.segment_file_length
        return (same if base == other_base else base), end

    def _border(
        self, low: tuple[int, int, int], high: tuple[int, int, int], *, is_first: bool
    ) -> tuple[int, int]:
        """Positions of two neighbouring samples of which one is the same, the other is not."""
        while high[0] - low[0] > 1:
            middle = (low[0] + high[0]) // 2
            found = self._near(middle, 1)
            if found is None or found[0] >= high[0]:
                found = self._near(middle, -1)
            if found is None or found[0] <= low[0]:
                break
            if self._frames.is_same(*found[1:]) == is_first:
                low = found
            else:
                high = found
        return (low[1], high[1]) if is_first else (high[1], low[1])


Entries = tuple["array[int]", "array[int]"]


def unknown_entries(begin: int) -> Entries:
    """Entries from which on times are not known, until the next entry."""
    return array("q", UNKNOWN_TIMES), array("q", (begin, begin))


def repeated(entry: tuple[int, int]) -> Entries:
    """An entry twice: from it on times are known by their bounds alone, until the next entry."""
    time_ns, position = entry
    return array("q", (time_ns, time_ns)), array("q", (position, position))


def entries_between(blocks: TimeBlocks, begin: int, end: int) -> Entries:
    """Times and positions of the entries that tell the times between two positions.

    The last entry before the first position is kept, and moved there: it bounds the time of what
    is recorded from there on. In place of damaged blocks stands what is left to know of them.
    """
    times, positions = array("q"), array("q")
    before: tuple[int, ...] = ()
    last: tuple[int, int] | None = None

    def move() -> None:
        times.extend(before)
        positions.extend((begin,) * len(before))

    for entry in _entries(blocks):
        time_ns, position = entry
        if position > end:
            break
        if position < begin:
            is_second = entry == last or (UNKNOWN_TIMES[0], position) == last
            before = (last[0], time_ns) if last is not None and is_second else (time_ns,)
            last = entry
            continue
        if position > begin:
            move()
        before = ()
        times.append(time_ns)
        positions.append(position)
    move()
    return times, positions


def _entries(blocks: TimeBlocks) -> Iterator[tuple[int, int]]:
    """The entries of blocks as pairs; where blocks are damaged, the one before them is repeated.

    Where times went back within them, or it cannot be known, times are unknown up to the next.
    """
    valid = -1
    for number in range(blocks.first, blocks.limit):
        words = memoryview(blocks.entries_of(number)).cast("q")
        if not words:
            continue
        if 0 <= valid < number - 1:
            yield from zip(*in_place_of_lost(blocks, valid, number), strict=True)
        yield from zip(words[::2], words[1::2], strict=True)
        valid = number
    if 0 <= valid < blocks.limit - 1:
        yield from zip(*unknown_entries(_last_of(blocks, valid)[1]), strict=True)


def in_place_of_lost(blocks: TimeBlocks, before: int, after: int) -> Entries:
    """Entries that say of the damaged blocks between two valid ones what is left to know."""
    last = _last_of(blocks, before)
    is_bounded = blocks.steps_back(before)[1] == blocks.steps_back(after)[0]
    return repeated(last) if is_bounded else unknown_entries(last[1])


def _last_of(blocks: TimeBlocks, number: int) -> tuple[int, int]:
    words = memoryview(blocks.entries_of(number)).cast("q")
    return words[-2], words[-1]


def joined(*parts: Entries) -> Entries:
    """Entries of parts that follow each other."""
    times, positions = array("q"), array("q")
    for more, places in parts:
        is_open = bool(times) and times[-1] == UNKNOWN_TIMES[1]
        skipped = len(UNKNOWN_TIMES) if is_open and more and more[0] == UNKNOWN_TIMES[0] else 0
        times += more[skipped:]
        positions += places[skipped:]
    return times, positions
