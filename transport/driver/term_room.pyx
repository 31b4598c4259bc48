"""Room on disk for the terms of a sparse log, made before anybody may write there.

A sparse log gets its room term by term, always before its writers may enter the term: a limit is
withheld at the end of the last term that has room. The first page of every term has room from the
start, because a reader that has come to the end of a term looks there.

A large term takes milliseconds to get its room. Where one writer alone can go beyond a limit, room
is made by smaller steps, and there is more of it behind the limit than the longest message takes.
The first step alone lets such a writer begin, if the disk has so much room that it cannot be full
before the next steps are made.
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


cdef class TermRoom:
    """What room a log has. The conductor owns it.

    Args:
        logs: the log; its file makes the room.
        start_position: of the log, in its first term.
        sparse: whether room is still to be made; else there is room for everything.
        single_writer: whether nobody but one writer of messages goes beyond the limit, and that by
            one message at most.
        plenty: the disk cannot be full in a moment.
    """

    def __init__(
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
        self._margin = margin if single_writer and margin + STEP < logs.log.term_length else 0
        self.made = start & -PAGE if self._margin > 0 else start & ~<int64_t> logs.log.term_mask
        self._all = self.made + PARTITION_COUNT * <int64_t> logs.log.term_length
        self.limit = INT64_MAX
        if sparse:
            self.limit = start if self._margin > 0 else self.made
        self._first_limit = self.made + STEP // 2 if self._margin > 0 and plenty else 0

    cdef int64_t granted(self, int64_t position_limit) noexcept nogil:
        while position_limit > self.limit and self.error == 0:
            self._make()
            if self._margin > 0:
                break
        return min(position_limit, self.limit)

    cdef void _make(self) noexcept nogil:
        """Make room for the next term, or the next step in it, and move the limit."""
        cdef const log_buffer_t* log = &self._logs.log
        cdef int32_t offset = offset_by_position(log, self.made)
        cdef int64_t length = log.term_length - offset
        cdef int result
        if self._margin > 0:
            length = min(length, <int64_t> STEP)
        result = self._logs.file.allocate(
            index_by_position(log, self.made) * <int64_t> log.term_length + offset, length
        )
        if result < 0:
            self.error = -result
            return
        self.made += length
        if self.made >= self._all:
            self.limit = INT64_MAX
        elif offset + length == log.term_length:
            # Nobody goes beyond the end of a term.
            self.limit = self.made
        else:
            self.limit = max(self.limit, self.made - self._margin, self._first_limit)

    cdef void retry(self) noexcept nogil:
        self.error = 0

    @property
    def room_limit(self) -> int:
        """Positions below this have room; 2^63-1 once every term has."""
        return self.limit

    def grant(self, position_limit: int) -> int:
        """Make room below a position as far as the disk has it; returns how far there is."""
        return self.granted(position_limit)
