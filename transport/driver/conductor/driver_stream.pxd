"""What the conductor turns: one stream of any medium.

Sub-classes: ReceiveStream and PublicationStream, of which there are IpcStream and SendStream. The
conductor's thread calls everything.
"""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.driver.logs.term_allocation cimport TermAllocation
from aerolog.transport.logbuffer.descriptor cimport LogBuffers, log_buffer_t
from aerolog.transport.memory.counters cimport CountersReader

cdef enum publication_state:
    PUBLICATION_ACTIVE = 0
    PUBLICATION_DRAINING = 1
    PUBLICATION_LINGER = 2
    PUBLICATION_DONE = 3


cdef class DriverStream:
    cdef TermAllocation allocation          # of the log; the sub-class makes it
    cdef bint allocation_refused      # the disk refused space and nobody has been told yet
    # Every duty cycle; returns a work count.
    cdef int update(self, int64_t now_ns) noexcept nogil
    # At a timer event: whether something changes that clients are told about.
    cdef bint needs_control(self, int64_t now_ns) noexcept nogil
    # The share of a timer event that no client is told about.
    cdef void tick(self, int64_t now_ns) noexcept nogil
    # For sub-classes: the part of a limit that is allocated, and asking again at a timer event.
    cdef int64_t granted(self, int64_t limit) noexcept nogil
    cdef void retry_allocation(self) noexcept nogil


cdef class PublicationStream(DriverStream):
    cdef LogBuffers logs
    cdef CountersReader counters
    cdef const log_buffer_t* log
    cdef int64_t* pub_pos
    cdef int64_t* pub_lmt
    cdef int64_t* unblocked_publications
    cdef readonly int state
    cdef bint exclusive
    cdef public int64_t references
    cdef int64_t window
    cdef int64_t unblock_timeout_ns
    cdef int64_t last_read_position     # that readers were at when they last got any further
    cdef int64_t last_read_change_ns
    cdef int64_t* counter(self, int32_t counter_id) except NULL
    # Unblock when data is pending and its readers have been at a position for the timeout.
    cdef void check_blocked(self, int64_t position, int64_t now_ns) noexcept nogil
    # Turn an abandoned claim into padding, only in a term that has disk space; whether it did.
    cdef bint unblock(self, int64_t position) noexcept nogil
