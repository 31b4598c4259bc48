"""``TimeIndex`` maps wall-clock times to positions and back, for one recording."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final, Self

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.layout import MAX_I64
from aerolog.archive.protocol.extension_query import NO_MORE, TimesPage
from aerolog.archive.time_index.blocks import TimeBlocks, encode_blocks
from aerolog.archive.time_index.index_file import blocks_of
from aerolog.archive.time_index.known_part import (
    RecordedFrames,
    entries_between,
    in_place_of_lost,
    joined,
    known_part,
    repeated,
    unknown_entries,
)
from aerolog.archive.time_index.layout import (
    BLOCK_LENGTH,
    SOURCE_CHANNEL,
    IndexHeader,
    index_path,
)
from aerolog.archive.time_index.search import TimeCursor
from aerolog.transport.config.times import datetime_ns
from aerolog.transport.config.values import INT64_MIN
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode, FileFormatError
from aerolog.transport.resource import Resource
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from typing_extensions import Buffer

    from aerolog.archive.format.archive_folder import Recording
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.time_index.known_part import Entries
    from aerolog.transport.memory.data_file import DataFile
    from aerolog.transport.memory.filesystem import FileSystem

SOURCE_DESCRIPTOR: Final = "descriptor"
#: Parts without times that are named.
_GAPS_MAX: Final = 8


def epoch_ns(time: int | datetime) -> int:
    """Convert a time to nanoseconds since the Unix epoch.

    Args:
        time: epoch nanoseconds, or a datetime; one without a zone is UTC.
    """
    return time if isinstance(time, int) else datetime_ns(time)


class TimeIndex(Resource):
    """The times and positions of one recording, for one thread at a time; a context manager.

    An entry (time, position) says that at that time the recording had come to that position. Times
    are epoch nanoseconds. What is missing or damaged costs precision, never an error: ``problems``
    tells of it, and at worst the times are those of the recording's descriptor.

    Attributes:
        recording_id: the id of the recording.
        source: the origin of the times: ``clock`` of the archive, ``channel`` for timestamps in the
            messages, ``descriptor`` without an index.
        is_rebuilt: whether the index was made afterwards and not while recording.
        problems: the faults of the index file that were met so far; see ``check``.
        is_joined: whether segments of another recording came into this one, so that the times of
            the descriptor do not bound those of the entries.
        error: why the index file, which may be sound, cannot be read; None when it can.
        start_position: answers lie between it and end_position.
        size_bytes: the length of the index file, 0 without one.
    """

    def __init__(
        self,
        blocks: TimeBlocks,
        *,
        recording_id: int,
        source: str,
        start_position: int,
        end_position: int,
        head_time_ns: int,
        tail_time_ns: int | None,
        is_rebuilt: bool = False,
        problems: tuple[str, ...] = (),
        error: OSError | None = None,
        file: DataFile | None = None,
        first_length: int = 0,
        look_again: Callable[[], TimeBlocks] | None = None,
        is_joined: bool = False,
    ) -> None:
        """Use ``open``, ``of`` or ``from_entries``."""
        self._blocks = blocks
        self._look_again = look_again
        self._file = file
        self._first_length = first_length
        self.recording_id = recording_id
        self.source = source
        self.is_rebuilt = is_rebuilt
        self.is_joined = is_joined
        self.problems = problems
        self.error = error
        self.start_position = start_position
        self.end_position = end_position
        self._head_time_ns = head_time_ns
        self._tail_time_ns = tail_time_ns
        self._cursor = self.cursor()
        self._ends = self._cursor.ends()
        if (source == SOURCE_CHANNEL or is_joined) and self._ends is not None:
            # The descriptor has times of another clock, or of another recording.
            self._head_time_ns, self._tail_time_ns = INT64_MIN, None
            self._cursor = self.cursor()
        for begin, end in self._blocks.gaps()[:_GAPS_MAX]:
            until = min(end, self.end_position)
            if max(begin, self.start_position) < until:
                self._note(
                    f"the times of positions {max(begin, self.start_position)} to {until} are not"
                    " known: what is recorded there came without an index"
                )

    # -- making one -------------------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        folder: ArchiveFolder | str | Path,
        recording_id: int,
        *,
        files: FileSystem | None = None,
    ) -> Self:
        """The index of a recording in an archive's folder, running or not.

        Raises:
            FileNotFoundError: the folder has no catalog.
            FileFormatError: its catalog is damaged.
            ArchiveError: UNKNOWN_RECORDING.
        """
        if isinstance(folder, ArchiveFolder):
            return cls.of(folder.recording(recording_id))
        with ArchiveFolder(folder, files) as opened:
            return cls.of(opened.recording(recording_id))

    @classmethod
    def of(cls, recording: Recording) -> Self:
        """The index of an open recording, up to the end that the recording has now."""
        return cls.beside(
            recording.folder.path,
            recording.descriptor,
            recording.start_position,
            recording.end_position,
            recording.files,
        )

    @classmethod
    def beside(
        cls,
        archive_dir: str,
        descriptor: RecordingDescriptor,
        start_position: int,
        end_position: int,
        files: FileSystem,
    ) -> Self:
        """The index of a recording whose start and end the caller knows."""
        error = None
        try:
            file, header, length, problems = _open_file(archive_dir, descriptor, files)
        except OSError as unread:
            error, file, header, length = unread, None, None, 0
            problems = (f"the index cannot be read: {unread}",)
        blocks, look_again = TimeBlocks(b"", descriptor.recording_id, 0), None
        if file is not None and header is not None:
            blocks = blocks_of(file, header)
            frames = RecordedFrames(archive_dir, descriptor, files)
            begin, end = known_part(blocks, header, frames, start_position, end_position)
            if begin == end and blocks.ends() is not None and start_position < end_position:
                problems += ("the index is not used: it is of other segments than are there now",)
                header, blocks = None, TimeBlocks(b"", descriptor.recording_id, 0)
            elif (begin, end) != (start_position, end_position) and begin < end:
                in_file = blocks

                def look_again() -> TimeBlocks:
                    in_file.look_again()
                    known_end = MAX_I64 if end == end_position else end
                    return _only_known(in_file, start_position, begin, known_end)

                blocks = look_again()
        tail = None
        if not descriptor.is_active:
            tail = (descriptor.stop_timestamp + 1) * NS_PER_MS
        return cls(
            blocks,
            recording_id=descriptor.recording_id,
            source=SOURCE_DESCRIPTOR if header is None else header.source,
            start_position=start_position,
            end_position=end_position,
            head_time_ns=descriptor.start_timestamp * NS_PER_MS,
            tail_time_ns=tail,
            is_rebuilt=header is not None and header.rebuilt,
            problems=problems,
            error=error,
            file=file,
            first_length=length,
            look_again=look_again,
            is_joined=header is not None and header.joined,
        )

    @classmethod
    def from_entries(
        cls,
        times: Buffer | Sequence[int],
        positions: Buffer | Sequence[int],
        *,
        recording_id: int = 0,
        source: str = "clock",
        is_rebuilt: bool = False,
        start_position: int | None = None,
        end_position: int | None = None,
        start_time_ns: int | None = None,
        end_time_ns: int | None = None,
    ) -> Self:
        """An index in memory.

        Args:
            times: epoch ns of the entries, a sequence or a buffer of int64.
            positions: the positions of the entries, never descending.
            recording_id: the id of the recording.
            source: the origin of the times, see the attribute.
            is_rebuilt: whether the entries were made after the recording.
            start_position: the recording's start; that of the first entry by default.
            end_position: the recording's end; that of the last entry by default.
            start_time_ns: a time before which nothing was recorded; the first entry's by default.
            end_time_ns: a time by which everything up to ``end_position`` was recorded; None for a
                recording that goes on.

        Raises:
            ValueError: there are not as many positions as times, or the positions descend.
        """
        all_times, all_positions = _int64s(times), _int64s(positions)
        image = bytes(BLOCK_LENGTH) + encode_blocks(all_times, all_positions, recording_id, 0)
        first = all_positions[0] if all_positions else 0
        return cls(
            TimeBlocks(image, recording_id, 0),
            recording_id=recording_id,
            source=source,
            is_rebuilt=is_rebuilt,
            start_position=first if start_position is None else start_position,
            end_position=(
                (all_positions[-1] if all_positions else first)
                if end_position is None
                else end_position
            ),
            head_time_ns=(
                (all_times[0] if all_times else 0) if start_time_ns is None else start_time_ns
            ),
            tail_time_ns=end_time_ns,
        )

    @classmethod
    def from_pages(cls, recording_id: int, pages: Sequence[TimesPage]) -> Self:
        """Make an index from the pages that an archive sent, of which there is at least one.

        Raises:
            ValueError: their positions are not in order.
        """
        words = memoryview(b"".join(page.entries for page in pages)).cast("q")
        last = pages[-1]
        return cls.from_entries(
            array("q", words[::2]),
            array("q", words[1::2]),
            recording_id=recording_id,
            source=last.source,
            is_rebuilt=last.is_rebuilt,
            start_position=last.start_position,
            end_position=last.end_position,
            start_time_ns=last.start_time_ns,
            end_time_ns=last.end_time_ns,
        )

    # -- what it holds ----------------------------------------------------------------------------

    @property
    def entries(self) -> int:
        """The number of entries; 0 when the times are those of the descriptor."""
        return self._cursor.count()

    @property
    def has_times(self) -> bool:
        """Whether the time of some position is known, at least by its bounds."""
        return self._ends is not None

    @property
    def size_bytes(self) -> int:
        """Bytes of the index file, 0 without one."""
        return 0 if self._file is None else self._file.file_size()

    @property
    def first_time_ns(self) -> int:
        """Time of the first entry; without entries the time at which the recording started."""
        return self._head_time_ns if self._ends is None else self._ends[0]

    @property
    def last_time_ns(self) -> int:
        """Time of the last entry; without entries the last known time of the recording."""
        if self._ends is not None:
            return self._ends[2]
        return self._head_time_ns if self._tail_time_ns is None else self._tail_time_ns

    @property
    def last_position(self) -> int:
        """Position of the last entry, within the recording; its start without entries."""
        return self.start_position if self._ends is None else self._clamp(self._ends[3])

    @property
    def clock_steps_back(self) -> int:
        """Number of entries whose time is before that of the preceding entry."""
        return self._cursor.steps_back() - len(self._blocks.gaps())

    def entry_blocks(self) -> Iterator[tuple[memoryview, memoryview]]:
        """Times and positions of the entries, block by block, as strided views of int64.

        Entries behind the end of the recording, those before its start but the last of them, and
        damaged blocks are left out.
        """
        for number in range(self._blocks.first, self._blocks.limit):
            words = memoryview(self._blocks.entries_of(number)).cast("q")
            times, positions = words[::2], words[1::2]
            first = sum(1 for position in positions if position < self.start_position)
            limit = sum(1 for position in positions if position <= self.end_position)
            # The last entry before the start is kept: it bounds the time of the start.
            first = max(first - 1, 0) if first < len(positions) else first
            if first < limit:
                yield times[first:limit], positions[first:limit]

    def part(self, source: str) -> Entries:
        """All that is known of the times of the recording, with nothing left to its ends.

        What precedes the first entry, or follows the last one, is known by its bounds alone.

        Args:
            source: the origin of the times that are wanted; others count as unknown.
        """
        if self.source != source or self._ends is None:
            return unknown_entries(self.start_position)
        times, positions = entries_between(self._blocks, self.start_position, self.end_position)
        if not times:
            return unknown_entries(self.start_position)
        parts = [(times, positions)]
        if positions[0] > self.start_position:
            head = unknown_entries(self.start_position)
            if self._head_time_ns != INT64_MIN and self._blocks.entries_of(self._blocks.first):
                head = repeated((self._head_time_ns, self.start_position))
            parts.insert(0, head)
        if positions[-1] < self.end_position and times[-1] != INT64_MIN:
            parts += self._tail(times[-1], positions[-1])
        return joined(*parts)

    def _tail(self, time_ns: int, position: int) -> list[Entries]:
        """Entries that follow the last one of the recording, before its end."""
        ends = self._blocks.ends()
        is_followed = ends is not None and ends[1] > position  # it is from before a truncation
        if self._tail_time_ns is None and not is_followed:
            return [unknown_entries(position)]
        end_ns = max(time_ns, self._cursor.find_time(self.end_position))
        parts = [(array("q", [end_ns]), array("q", [self.end_position]))]
        if not self.knows(position + 1):
            parts.insert(0, (array("q", [time_ns]), array("q", [position])))
        return parts

    def page(
        self, number: int = NO_MORE, from_position: int = 0, until_position: int = MAX_I64
    ) -> TimesPage:
        """A part of the index, for clients that have no access to the folder.

        Args:
            number: the number of the page, taken from ``next_page`` of the one before.
            from_position: the position from which on times are wanted, for the first page.
            until_position: the position up to which times are wanted; the last page passes it.
        """
        if number < 0:
            number = self._blocks.block_of(from_position)
        number = asked = max(number, self._blocks.first)
        entries = b""
        while number < self._blocks.limit and not entries:
            entries = self._blocks.entries_of(number)
            number += 1
        if entries and number - 1 > asked:
            entries = self._lost_before(number - 1) + entries
        last = int.from_bytes(entries[-8:], "little", signed=True)
        is_last = not entries or number >= self._blocks.limit or last >= until_position
        return TimesPage(
            entries=entries,
            next_page=NO_MORE if is_last else number,
            source=self.source,
            is_rebuilt=self.is_rebuilt,
            start_position=self.start_position,
            end_position=self.end_position,
            start_time_ns=self._head_time_ns,
            end_time_ns=self._tail_time_ns,
        )

    def _lost_before(self, number: int) -> bytes:
        """Entries in place of the damaged blocks before one, for who does not see that they are."""
        before = number - 1
        while before >= self._blocks.first and not self._blocks.entries_of(before):
            before -= 1
        if before < self._blocks.first:
            return b""
        lost = in_place_of_lost(self._blocks, before, number)
        return b"".join(array("q", pair).tobytes() for pair in zip(*lost, strict=True))

    def check(self) -> tuple[str, ...]:
        """Read the whole index and return its faults, which are added to ``problems``."""
        damaged = self._blocks.damaged()
        if damaged:
            text = ", ".join(str(number) for number in damaged[:8])
            more = f" and {len(damaged) - 8} more" if len(damaged) > 8 else ""
            self._note(f"damaged blocks of entries: {text}{more}")
        try:
            self.check_length()
        except FileFormatError as error:
            self._note(str(error))
        return self.problems

    def check_length(self) -> None:
        """Check that the index file has all that it had when it was opened.

        Raises:
            FileFormatError: it became shorter, so that times are known less precisely.
        """
        if self._file is not None and self._file.file_size() < self._first_length:
            raise FileFormatError(
                f"{self._file.path} became shorter while it was read: it had"
                f" {self._first_length} bytes"
            )

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems += (problem,)

    # -- finding ----------------------------------------------------------------------------------

    def position_at(self, time: int | datetime) -> int:
        """The largest known position that skips nothing recorded at or after a time.

        Nothing that was recorded at ``time`` or later lies before it, also where the clock stepped.

        Args:
            time: epoch ns, or a datetime; one without a zone is UTC.
        """
        return self._clamp(self._cursor.find_position(epoch_ns(time)))

    def end_position_at(self, time: int | datetime) -> int:
        """The smallest known position with nothing from it on recorded before a time.

        Args:
            time: epoch ns, or a datetime; one without a zone is UTC.
        """
        return self._clamp(self._cursor.find_end_position(epoch_ns(time)))

    def time_at(self, position: int) -> int:
        """The time at which the frame at a position was recorded, interpolated; epoch ns.

        Raises:
            ArchiveError: the time of this position is not known, see ``knows``.
        """
        if not self.knows(position):
            raise ArchiveError(
                ArchiveErrorCode.GENERIC,
                f"when position {position} of recording {self.recording_id} was recorded is not"
                " known: its time index has no times there",
            )
        return self._cursor.find_time(position)

    def knows(self, position: int) -> bool:
        """Whether the time of a position is known, at least as one between those of two entries."""
        return self._cursor.knows(position)

    def estimate_at(self, position: int) -> int:
        """As ``time_at``; where no time is known, that of the nearest position that has one."""
        return self._cursor.find_time(position)

    def fill_times(self, positions: Buffer, out: Buffer) -> None:
        """As ``time_at`` for many positions; without the GIL, fast for positions that ascend.

        Times that are not known are 0.

        Args:
            positions: the positions of the messages' first frames, int64.
            out: receives the times, int64; at least as long as ``positions``.

        Raises:
            ValueError: ``out`` is too short.
        """
        self.cursor().fill_times(positions, out)

    def cursor(self) -> TimeCursor:
        """A cursor for native users; each thread needs its own. It keeps the file open."""
        ends_known = self._tail_time_ns is not None
        return TimeCursor(
            self._blocks,
            head_time=self._head_time_ns,
            head_position=self.start_position,
            tail_time=self._tail_time_ns or 0 if ends_known else MAX_I64,
            tail_position=self.end_position,
        )

    def _clamp(self, position: int) -> int:
        return max(self.start_position, min(position, self.end_position))

    # -- life -------------------------------------------------------------------------------------

    def refresh(self, end_position: int | None = None) -> None:
        """Take in what was added to an index that is being written.

        Args:
            end_position: the recording's end now; unchanged when None.
        """
        if end_position is not None:
            self.end_position = end_position
        self._blocks.look_again()
        if self._look_again is not None:
            self._blocks = self._look_again()
        self._cursor = self.cursor()
        self._ends = self._cursor.ends()

    def close(self) -> None:
        """Close the file; idempotent. The index and its cursors may not be used afterwards."""
        if self._file is not None:
            self._file.close()

    def __repr__(self) -> str:
        return f"<TimeIndex of {self.recording_id} by {self.source}, {self.entries} entries>"


def _only_known(blocks: TimeBlocks, start: int, begin: int, end: int) -> TimeBlocks:
    """The blocks of an index of which a part alone is known.

    Args:
        blocks: the blocks of the index file.
        start: the start of the recording.
        begin: from which position on times are known.
        end: up to which position they are, 2^63 - 1 for all that follow.
    """
    parts = [entries_between(blocks, begin, end)]
    if start < begin:
        parts.insert(0, unknown_entries(start))
    if end < MAX_I64:
        parts.append(unknown_entries(end))
    times, positions = joined(*parts)
    identity, recording_id = blocks.identity, blocks.recording_id
    image = bytes(BLOCK_LENGTH) + encode_blocks(times, positions, recording_id, identity)
    return TimeBlocks(image, recording_id, identity)


def _int64s(values: Buffer | Sequence[int]) -> array[int]:
    try:
        view = memoryview(values)  # type: ignore[arg-type]
    except TypeError:
        return array("q", values)  # type: ignore[arg-type]
    found = array("q")
    found.frombytes(view.cast("B"))
    return found


def _open_file(
    archive_dir: str, descriptor: RecordingDescriptor, files: FileSystem
) -> tuple[DataFile | None, IndexHeader | None, int, tuple[str, ...]]:
    """Open the index file of a recording; returns it with its header, length and faults.

    Raises:
        OSError: the file exists but cannot be read.
    """
    path = index_path(archive_dir, descriptor.recording_id)
    try:
        file = files.open_data_file(path)
    except FileNotFoundError:
        return None, None, 0, ()
    try:
        length = file.file_size()
        header = IndexHeader.decode(file.read_at(BLOCK_LENGTH, 0))
        foreign = header.why_foreign(descriptor)
        if foreign is not None:
            raise FileFormatError(foreign)
        rest = length % BLOCK_LENGTH
    except FileFormatError as error:
        file.close()
        return None, None, 0, (f"the index is not used: {error}",)
    except OSError:
        file.close()
        raise
    problems = (f"the index ends within a block, {rest} bytes of it",) if rest else ()
    return file, header, length, problems
