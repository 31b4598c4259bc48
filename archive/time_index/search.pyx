"""Binary search in a time index, block by block, skipping damaged blocks.

An entry (time, position) says that at that time the recording had come to that position: what lies
before it was recorded before, what lies at or behind it then or later. Times of entries ascend
within a run; a clock that steps back begins another one, and a search by time uses what trailers
say of all times before a block, and of all from it on.
"""

from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc

from aerolog.archive.time_index.blocks cimport TimeBlocks


cdef class TimeCursor:
    """Finds times and positions in the blocks of an index; one thread at a time may use it.

    Args:
        blocks: the blocks of the index.
        head_time: a time before which nothing was recorded, epoch ns.
        head_position: the start of the recording.
        tail_time: a time by which everything before ``tail_position`` was recorded, epoch ns.
        tail_position: the end of the recording.
    """

    def __cinit__(
        self,
        TimeBlocks blocks not None,
        *,
        int64_t head_time,
        int64_t head_position,
        int64_t tail_time,
        int64_t tail_position,
    ):
        self.blocks = blocks
        self._head_time = head_time
        self._head_position = head_position
        self._tail_time = tail_time
        self._tail_position = tail_position
        self.forget()

    def __dealloc__(self) -> None:
        free(self._suffix_min)

    def forget(self) -> None:
        """Forget the blocks that were read, because the index has grown."""
        self._number = -1
        self._low_position, self._high_position = INT64_MAX, INT64_MIN
        free(self._suffix_min)
        self._suffix_min = NULL

    # -- blocks -----------------------------------------------------------------------------------

    cdef int32_t _load(self, int64_t number) noexcept nogil:
        """Make a block the current one; returns its number of entries, 0 when it is damaged."""
        if number != self._number:
            self._count = self.blocks.read(number, &self._block)
            self._number = number
        return self._count

    cdef int64_t _valid_at_or_after(self, int64_t number, int64_t limit) noexcept nogil:
        """Load the first valid block in a range of numbers; returns its number or -1."""
        while number < limit:
            if self._load(number) > 0:
                return number
            number += 1
        return -1

    cdef int64_t _valid_before(self, int64_t number) noexcept nogil:
        """Load the last valid block before a number; returns its number or -1."""
        number -= 1
        while number >= self.blocks.first:
            if self._load(number) > 0:
                return number
            number -= 1
        return -1

    cdef int64_t _block_of(self, int64_t position) noexcept nogil:
        """Load the last valid block that begins at or before a position; its number or -1."""
        cdef int64_t low = self.blocks.first, high = self.blocks.limit, found = -1
        cdef int64_t middle, number
        if self._number >= low and self._count > 0 and self._block.words[1] <= position:
            # It is the current block or a later one, most often the next.
            found = self._number
            low = found + 1
            number = self._valid_at_or_after(low, min(low + 2, high))
            if number >= 0:
                if self._block.words[1] > position:
                    high = number
                else:
                    found = number
                    low = number + 1
                    number = self._valid_at_or_after(low, min(low + 2, high))
                    if number >= 0 and self._block.words[1] > position:
                        high = number
        while low < high:
            middle = low + (high - low) // 2
            number = self._valid_at_or_after(middle, high)
            if number < 0:
                high = middle
            elif self._block.words[1] <= position:
                found = number
                low = number + 1
            else:
                high = middle
        if found >= 0:
            self._load(found)
        return found

    cdef int64_t _first_reaching(self, int64_t time_ns) noexcept nogil:
        """Load the first valid block up to whose end a time was reached; its number or -1."""
        cdef int64_t low = self.blocks.first, high = self.blocks.limit, found = -1
        cdef int64_t middle, number
        while low < high:
            middle = low + (high - low) // 2
            number = self._valid_at_or_after(middle, high)
            if number < 0:
                high = middle
            elif self._block.max >= time_ns or self._block.prior_max >= time_ns:
                found = number
                high = middle
            else:
                low = number + 1
        if found >= 0:
            self._load(found)
        return found

    cdef bint _is_repeated(self, int64_t number, int32_t index) noexcept nogil:
        """Whether an entry of the current block has the time and position of the one before it."""
        cdef int64_t time_ns = self._block.words[2 * index]
        cdef int64_t position = self._block.words[2 * index + 1]
        if index > 0:
            return (
                self._block.words[2 * index - 2] == time_ns
                and self._block.words[2 * index - 1] == position
            )
        index = self.blocks.read(number - 1, &self._next) - 1
        return (
            index >= 0
            and self._next.words[2 * index] == time_ns
            and self._next.words[2 * index + 1] == position
        )

    # -- from positions to times ------------------------------------------------------------------

    cdef void _seek(self, int64_t position) noexcept nogil:
        """Find the entries around a position; where times are not known, take the nearest one."""
        self._is_vague = self._is_repeat = False
        self._seek_entries(position)
        self._is_unknown = self._low_time == INT64_MIN
        if self._is_unknown:
            if not INT64_MIN < self._high_time < INT64_MAX:
                self._high_time = self._known_before(position)
            self._low_time = self._high_time
        elif self._high_time == INT64_MAX:
            self._high_time = self._low_time

    cdef int64_t _known_before(self, int64_t position) noexcept nogil:
        """Return the time of the last entry with a known time up to a position, 0 without one."""
        cdef int64_t number = self._block_of(position)
        cdef int32_t index
        while number >= self.blocks.first:
            index = self._load(number) - 1
            while index >= 0:
                if self._block.words[2 * index + 1] <= position and (
                    INT64_MIN < self._block.words[2 * index] < INT64_MAX
                ):
                    return self._block.words[2 * index]
                index -= 1
            number -= 1
        return 0

    cdef void _seek_entries(self, int64_t position) noexcept nogil:
        """Find the entries around a position."""
        cdef int64_t number = self._block_of(position), following
        cdef int32_t low = 0, high, middle
        if number < 0:
            self._low_time, self._low_position = self._head_time, self._head_position
            following = self._valid_at_or_after(self.blocks.first, self.blocks.limit)
            # The head's time is a bound, as frames may have come long after it. An index that is
            # whole has an entry where its recording begins.
            self._is_repeat = self._is_vague = True
        else:
            high = self._count
            while high - low > 1:
                middle = (low + high) // 2
                if self._block.words[2 * middle + 1] <= position:
                    low = middle
                else:
                    high = middle
            self._low_time = self._block.words[2 * low]
            self._low_position = self._block.words[2 * low + 1]
            # What is repeated may be the end of what was recorded before, and no frame's time.
            self._is_repeat = self._is_vague = self._is_repeated(number, low)
            if low + 1 < self._count:
                self._high_time = self._block.words[2 * low + 2]
                self._high_position = self._block.words[2 * low + 3]
                return
            following = number + 1
            while following < self.blocks.limit and not self.blocks.read(following, &self._next):
                following += 1
            self._is_vague = self._is_vague or following != number + 1
            if following < self.blocks.limit:
                self._high_time = self._next.words[0]
                self._high_position = self._next.words[1]
                return
            following = -1
        if following >= 0:
            self._high_time = self._block.words[0]
            self._high_position = self._block.words[1]
            if self._low_position > position or self._low_time == INT64_MIN:
                # The position is before everything that is known.
                self._low_time, self._low_position = self._high_time, INT64_MIN
        elif self._tail_time == INT64_MAX:
            # The recording goes on, and there are no times yet of what follows the last entry.
            self._high_time, self._high_position = self._low_time, INT64_MAX
        elif self._tail_position > position:
            # An index has an entry where its recording ended, unless its end is lost.
            self._is_vague = True
            self._high_time, self._high_position = self._tail_time, self._tail_position
        else:
            if self._tail_position > self._low_position:
                self._low_time, self._low_position = self._tail_time, self._tail_position
            self._high_time, self._high_position = self._low_time, INT64_MAX
        if self._low_position > position:
            self._low_position = INT64_MIN
            self._high_time = self._low_time

    cdef bint _knows(self, int64_t position) noexcept nogil:
        """Whether the time of the position that was asked for last is known."""
        if self._is_unknown or self._is_repeat:
            return False
        return not self._is_vague or position == self._low_position

    cdef int64_t time_at(self, int64_t position) noexcept nogil:
        cdef uint64_t span, part
        if not self._low_position <= position < self._high_position:
            self._seek(position)
        if self._high_time <= self._low_time or position <= self._low_position:
            return self._low_time
        span = <uint64_t> self._high_time - <uint64_t> self._low_time
        part = <uint64_t> (
            <double> span
            * (<double> (position - self._low_position))
            / (<double> (self._high_position - self._low_position))
        )
        # The time stays below that of the next entry, so that a search by it finds the position.
        return self._low_time + <int64_t> (part if part < span else span - 1)

    # -- from times to positions ------------------------------------------------------------------

    cdef int64_t _last_position(self) noexcept nogil:
        """Return the position of the current block's last entry."""
        return self._block.words[2 * self._count - 1]

    cdef bint _has_head(self) noexcept nogil:
        """Whether something was recorded before the first entry: it has the head's time."""
        return (
            self._valid_at_or_after(self.blocks.first, self.blocks.limit) < 0
            or self._block.words[1] > self._head_position
        )

    cdef int64_t _position_at(self, int64_t time_ns) noexcept nogil:
        cdef int64_t number, position
        cdef int32_t index = 0
        if self._head_time >= time_ns and self._has_head():
            return self._head_position
        number = self._first_reaching(time_ns)
        if number < 0:
            if self._valid_before(self.blocks.limit) < 0:
                position = self._head_position
            else:
                position = self._last_position()
            if self._tail_position > position and self._tail_time <= time_ns:
                position = self._tail_position
            return position
        if self._block.prior_max < time_ns:
            while index < self._count and self._block.words[2 * index] < time_ns:
                index += 1
            if index < self._count and self._block.words[2 * index] == time_ns:
                return self._block.words[2 * index + 1]
            if index > 0:
                return self._block.words[2 * index - 1]
        # The preceding entry is in an earlier block, or is lost with a damaged one.
        if self._valid_before(number) < 0:
            return self._head_position
        return self._last_position()

    cdef int64_t _end_position_at(self, int64_t time_ns) noexcept nogil:
        cdef int64_t number
        cdef int32_t index = 0
        if self._valid_before(self.blocks.limit) < 0:
            return self._head_position if self._head_time >= time_ns else self._tail_position
        if self._block.runs_after > 0:
            return self._end_in_runs(time_ns)
        number = self._first_reaching(time_ns)
        if number < 0:
            return self._tail_position
        if self._block.prior_max < time_ns:
            while index < self._count and self._block.words[2 * index] < time_ns:
                index += 1
        if index == 0 and self._head_time >= time_ns:
            if self._valid_before(number) < 0:
                return self._head_position
            self._load(number)
        return self._entry_behind(number, index - 1)

    cdef int64_t _end_in_runs(self, int64_t time_ns) noexcept nogil:
        """The end position for a time where the times of entries are not in order."""
        cdef int64_t low = self.blocks.first, high = self._suffix_limit, middle
        cdef int32_t index
        # This finds the last block that is followed by, or has, an earlier time.
        while low < high:
            middle = low + (high - low) // 2
            if self._suffix_min[middle - self.blocks.first] < time_ns:
                low = middle + 1
            else:
                high = middle
        low -= 1
        if low < self.blocks.first:
            if self._head_time >= time_ns or (
                self._valid_at_or_after(self.blocks.first, self._suffix_limit) < 0
            ):
                return self._head_position
            return self._block.words[1]
        self._load(low)
        index = self._count - 1
        while index >= 0 and self._block.words[2 * index] >= time_ns:
            index -= 1
        return self._entry_behind(low, index)

    cdef int64_t _entry_behind(self, int64_t number, int32_t index) noexcept nogil:
        """Return the position of the entry after one, or the recording's end after the last."""
        if -1 <= index < self._count - 1:
            return self._block.words[2 * index + 3]
        if self._valid_at_or_after(number + 1, self.blocks.limit) < 0:
            return self._tail_position
        return self._block.words[1]

    cdef int _make_suffixes(self) except -1:
        """Compute for each block the least time in it and all later ones, reading every block."""
        cdef int64_t first = self.blocks.first, behind = self.blocks.limit
        cdef int64_t number, gap, least = INT64_MAX
        cdef int32_t runs = -1
        if self._suffix_min != NULL:
            return 0
        self._suffix_limit = self.blocks.limit
        self._suffix_min = <int64_t*> malloc(max(behind - first, 1) * sizeof(int64_t))
        if self._suffix_min == NULL:
            raise MemoryError()
        with nogil:
            while behind > first:
                number = self._valid_before(behind)
                if number + 1 < behind and (
                    number < first or runs < 0 or self._block.runs_after != runs
                ):
                    # The clock went back within a damaged block, by an unknown amount.
                    least = INT64_MIN
                for gap in range(max(number, first - 1) + 1, behind):
                    self._suffix_min[gap - first] = least
                if number < first:
                    break
                least = min(least, self._block.min)
                self._suffix_min[number - first] = least
                runs = self._block.runs_before
                behind = number
        return 0

    # -- for Python -------------------------------------------------------------------------------

    def find_time(self, int64_t position) -> int:
        """Return the time at which a frame was recorded, epoch ns, linear between entries."""
        return self.time_at(position)

    def knows(self, int64_t position) -> bool:
        """Whether the time of a position is known, at least between those of two entries."""
        self.time_at(position)
        return self._knows(position)

    def find_position(self, int64_t time_ns) -> int:
        """The largest known position with nothing before it that was recorded then or later."""
        return self._position_at(time_ns)

    def find_end_position(self, int64_t time_ns) -> int:
        """The smallest known position with nothing from it on that was recorded before."""
        if self._valid_before(self.blocks.limit) >= 0 and self._block.runs_after > 0:
            self._make_suffixes()
        return self._end_position_at(time_ns)

    def fill_times(self, const int64_t[::1] positions not None, int64_t[::1] out not None) -> None:
        """Times of many positions, int64 to int64; fast for runs that ascend. Without the GIL.

        Where times are not known, they are 0.

        Raises:
            ValueError: ``out`` is too short.
        """
        cdef int64_t index, count = positions.shape[0]
        if out.shape[0] < count:
            raise ValueError(f"room for {out.shape[0]} times of {count} positions")
        with nogil:
            for index in range(count):
                out[index] = self.time_at(positions[index])
                if not self._knows(positions[index]):
                    out[index] = 0

    def ends(self) -> tuple[int, int, int, int] | None:
        """Time and position of the first and the last entry with known times; None without any.

        Where times are not known from the last entry on, its position is 2^63 - 1.
        """
        first = self._end(1)
        last = self._end(-1)
        if first is None or last is None:
            return None
        self._valid_before(self.blocks.limit)
        is_open = self._block.words[2 * self._count - 2] == INT64_MIN
        return *first, last[0], INT64_MAX if is_open else last[1]

    def _end(self, int64_t step) -> tuple[int, int] | None:
        """The first or last entry that has a known time."""
        cdef int64_t number = self.blocks.first if step > 0 else self.blocks.limit - 1
        cdef int32_t index, each, count
        while self.blocks.first <= number < self.blocks.limit:
            count = self._load(number)
            for each in range(count):
                index = each if step > 0 else count - 1 - each
                if INT64_MIN < self._block.words[2 * index] < INT64_MAX:
                    return self._block.words[2 * index], self._block.words[2 * index + 1]
            number += step
        return None

    def count(self) -> int:
        """Return the number of entries, exact as long as no block is damaged."""
        number = self._valid_before(self.blocks.limit)
        if number < 0:
            return 0
        return self.blocks.entries_before(number) + self._block.count

    def steps_back(self) -> int:
        """How often the clock went back between two entries."""
        if self._valid_before(self.blocks.limit) < 0:
            return 0
        return self._block.runs_after
