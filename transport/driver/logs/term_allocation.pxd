"""Disk space for the terms of a sparse log, for native code."""

from libc.stdint cimport int64_t

from aerolog.transport.logbuffer.descriptor cimport LogBuffers


cdef class TermAllocation:
    cdef LogBuffers _logs
    cdef int64_t limit              # positions below have space; INT64_MAX once every term has
    cdef int error                  # errno of the first refusal since retry(), else 0
    cdef int64_t made               # positions below have space on disk
    cdef int64_t begin              # the position at which the log starts
    cdef int64_t _all               # the position up to which space is ever allocated
    cdef int64_t _margin            # space behind a limit when it is granted, or 0
    cdef int64_t _full_margin       # space kept there for one message in the long run, or 0
    cdef bint _apart                # terms are allocated beside the conductor
    cdef bint _is_under_way         # a term is being allocated there
    cdef bint wants_term            # one is to be
    cdef void _make(self) noexcept nogil
    cdef void _move_limit(self) noexcept nogil
    # The part of a limit that a writer at a position needs for now.
    cdef int64_t needed(self, int64_t position_limit, int64_t position) noexcept nogil
    # Allocate some of the space that is still missing behind the limit.
    cdef void settle(self) noexcept nogil
    # The part of a limit for which there is space; allocates it term by term, or by steps.
    cdef int64_t granted(self, int64_t position_limit) noexcept nogil
    # Ask the disk again after a refusal.
    cdef void retry(self) noexcept nogil


cdef class ImageAllocation(TermAllocation):
    cdef int64_t _start             # where the first piece begins
