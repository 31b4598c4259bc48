"""Disk space for the terms of a sparse log, allocated before anybody may write there.

A sparse log gets its space term by term, always before its writers may enter the term: a limit is
withheld at the end of the last term that is allocated. The first page of every term has space from
the start, because a reader that has come to the end of a term looks there.

A large term takes milliseconds to allocate and to free. Where only one writer can go beyond a
limit, space is allocated in smaller steps, at most as far ahead of the writer as it has already
come, and the space behind the limit exceeds the longest message. On a disk with plenty of space
there is less of it at first: timer events allocate the rest before the disk can be full.

Only one agent writes an image, and never past the limit, so the limit may stand inside a term: for
a SETUP of 40 bytes that announces terms of 1 GiB only a piece is allocated, and a large term is not
allocated at once while the conductor has other work. One more page is allocated behind a limit
inside a term, because a reader that has come to the limit looks there.

A driver with threads allocates large terms that are not taken by steps beside its conductor: the
conductor asks for a term (`wants_term`, `begin_term`), a thread allocates it (`allocate_term`), and
the conductor moves the limit (`end_term`).
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t

from aerolog.transport.logbuffer.descriptor cimport (
    PARTITION_COUNT,
    LogBuffers,
    index_by_position,
    log_buffer_t,
    offset_by_position,
)


cdef enum:
    PAGE = 4096
    STEP = 1 << 20
    # The space behind a limit at first, where the disk has plenty.
    LITTLE_MARGIN = STEP // 2


cdef class TermAllocation:
    """The disk space of a log, which the conductor owns.

    Args:
        logs: the log, whose file is allocated.
        start_position: the position at which the log starts, in its first term.
        sparse: whether space is still to be allocated; if not, all of it already is.
        single_writer: whether only one writer of messages goes beyond the limit, by one message
            at most.
        plenty: whether the disk has so much space that it cannot become full in a moment.
    """

    def __cinit__(
        self,
        LogBuffers logs not None,
        start_position,
        *,
        bint sparse,
        bint single_writer=False,
        bint plenty=False,
    ):
        cdef int64_t start = start_position
        cdef int64_t margin = logs.log.max_message_length + PAGE
        self._logs = logs
        if not single_writer or margin + STEP >= logs.log.term_length:
            margin = 0
        self._full_margin = margin
        self._margin = min(margin, <int64_t> LITTLE_MARGIN) if plenty else margin
        self.begin = start
        self.made = start & -PAGE if margin > 0 else start & ~<int64_t> logs.log.term_mask
        self._all = self.made + PARTITION_COUNT * <int64_t> logs.log.term_length
        self.limit = INT64_MAX
        if sparse:
            self.limit = start if margin > 0 else self.made

    cdef int64_t needed(self, int64_t position_limit, int64_t position) noexcept nogil:
        if self._full_margin == 0 or self.limit == INT64_MAX:
            return position_limit
        return min(
            position_limit,
            max(self.limit, position + max(<int64_t> STEP, position - self.begin)),
        )

    cdef int64_t granted(self, int64_t position_limit) noexcept nogil:
        while position_limit > self.limit and self.error == 0:
            if self._apart:
                self.wants_term = not self._is_under_way
                break
            self._make()
            self._move_limit()
            if self._full_margin > 0:
                break
        return min(position_limit, self.limit)

    cdef void settle(self) noexcept nogil:
        if (
            self.begin < self.limit < INT64_MAX
            and self.made - self.limit < self._full_margin
            and self.made & self._logs.log.term_mask
        ):
            self._make()

    cdef void _move_limit(self) noexcept nogil:
        if self.made >= self._all:
            self.limit = INT64_MAX
        elif self.made & self._logs.log.term_mask == 0:
            # No writer goes beyond the end of a term.
            self.limit = max(self.limit, self.made)
        else:
            self.limit = max(self.limit, self.made - self._margin)

    cdef void _make(self) noexcept nogil:
        """Allocate space for the next term, or the next step in it."""
        cdef const log_buffer_t* log = &self._logs.log
        cdef int32_t offset = offset_by_position(log, self.made)
        cdef int64_t length = log.term_length - offset
        cdef int result
        if self._full_margin > 0:
            length = min(length, <int64_t> STEP)
        result = self._logs.file.allocate(
            index_by_position(log, self.made) * <int64_t> log.term_length + offset, length
        )
        if result < 0:
            self.error = -result
        else:
            self.made += length

    cdef void retry(self) noexcept nogil:
        self.error = 0

    def allocate_apart(self) -> None:
        """Allocate large terms only by `allocate_term` from now on, if they are not in steps."""
        self._apart = self._full_margin == 0 and self._logs.log.term_length > STEP

    def begin_term(self) -> None:
        """Note that the term that is wanted is about to be allocated."""
        self.wants_term = False
        self._is_under_way = True

    def allocate_term(self) -> int:
        """Allocate the term that is wanted, on any thread; return 0 or a negative errno."""
        cdef const log_buffer_t* log = &self._logs.log
        cdef int result
        with nogil:
            result = self._logs.file.allocate(
                index_by_position(log, self.made) * <int64_t> log.term_length, log.term_length
            )
        return result

    def end_term(self, result: int) -> None:
        """Move the limit behind the term that was allocated, or note the negative errno."""
        self._is_under_way = False
        if result < 0:
            self.error = -result
        else:
            self.made += self._logs.log.term_length
            self._move_limit()

    @property
    def room_limit(self) -> int:
        """Positions below this have space; 2^63-1 once every term has."""
        return self.limit

    def grant(self, position_limit: int) -> int:
        """Allocate space below a position as far as the disk has it; return the new limit."""
        return self.granted(position_limit)


cdef int64_t _PIECE = 1 << 18
PIECE_LENGTH = 1 << 18


cdef class ImageAllocation(TermAllocation):
    """The disk space of an image's log, of which the receiver writes nothing else."""
    def __cinit__(self, LogBuffers logs not None, start_position, *, bint sparse):
        self._start = <int64_t> start_position & ~<int64_t> (logs.log.page_size - 1)
        if sparse:
            self.limit = self._start

    cdef int64_t granted(self, int64_t position_limit) noexcept nogil:
        cdef int64_t term_length = self._logs.log.term_length
        cdef int64_t offset, piece, beyond
        cdef int result
        while position_limit > self.limit and self.error == 0:
            offset = offset_by_position(&self._logs.log, self.limit)
            # Up to the next multiple of a piece, so that pieces end where terms do.
            piece = min(_PIECE - (offset & (_PIECE - 1)), term_length - offset)
            beyond = min(piece + self._logs.log.page_size, term_length - offset)
            result = self._logs.file.allocate(
                index_by_position(&self._logs.log, self.limit) * term_length + offset, beyond
            )
            if result < 0:
                self.error = -result
                break
            self.limit += piece
            if self.limit - self._start >= PARTITION_COUNT * term_length:
                self.limit = INT64_MAX
        return min(position_limit, self.limit)
