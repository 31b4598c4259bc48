"""Room on disk for an image, made piece by piece before data may arrive there.

One agent writes an image, and never past the limit, so that the limit may stand inside a term: a
SETUP of 40 bytes that promises terms of 1 GiB takes a piece, and a large term is not made at once
while the conductor has other things to do. Behind a limit inside a term there is one page more,
because a reader that has come to the limit looks there.
"""

from libc.stdint cimport INT64_MAX, int64_t

from aerolog.transport.driver.logs.term_allocation cimport TermRoom
from aerolog.transport.logbuffer.descriptor cimport (
    PARTITION_COUNT,
    LogBuffers,
    index_by_position,
    offset_by_position,
)

cdef int64_t _PIECE = 1 << 18
PIECE_LENGTH = 1 << 18


cdef class ImageRoom(TermRoom):
    """What room the log of an image has; the receiver writes nowhere else."""
    def __init__(self, LogBuffers logs not None, start_position, *, bint sparse):
        super().__init__(logs, start_position, sparse=sparse)
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
