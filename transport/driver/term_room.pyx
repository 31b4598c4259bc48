"""Room on disk for the terms of a sparse log, made before anybody may write there.

A sparse log gets its room term by term, always before its writers may enter the term: a limit is
withheld at the end of the last term that has room. The first page of every term has room from the
start, because a reader that has come to the end of a term looks there.
"""

from libc.stdint cimport INT64_MAX, int64_t

from aerolog.transport.logbuffer.descriptor cimport (
    PARTITION_COUNT,
    LogBuffers,
    index_by_position,
)


cdef class TermRoom:
    """What room a log has. The conductor owns it.

    Args:
        logs: the log; its file makes the room.
        start_position: of the log, in its first term.
        sparse: whether room is still to be made; else there is room for everything.
    """

    def __init__(self, LogBuffers logs not None, start_position, *, bint sparse):
        self._logs = logs
        self._first_term_begin = <int64_t> start_position & ~<int64_t> logs.log.term_mask
        self.limit = self._first_term_begin if sparse else INT64_MAX

    cdef int64_t granted(self, int64_t position_limit) noexcept nogil:
        cdef int64_t term_length = self._logs.log.term_length
        cdef int result
        while position_limit > self.limit and self.error == 0:
            result = self._logs.file.allocate(
                index_by_position(&self._logs.log, self.limit) * term_length, term_length
            )
            if result < 0:
                self.error = -result
                break
            self.limit += term_length
            if self.limit - self._first_term_begin >= PARTITION_COUNT * term_length:
                self.limit = INT64_MAX
        return min(position_limit, self.limit)

    cdef void retry(self) noexcept nogil:
        self.error = 0

    @property
    def room_limit(self) -> int:
        """Positions below this have room; 2^63-1 once every term has."""
        return self.limit

    def grant(self, position_limit: int) -> int:
        """Make room below a position as far as the disk has it; returns how far there is."""
        return self.granted(position_limit)
