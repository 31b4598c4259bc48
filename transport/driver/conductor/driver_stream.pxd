"""What the conductor turns: one stream of any medium.

Sub-classes: IpcStream, SendStream, ReceiveStream. The conductor's thread calls everything.
"""

from libc.stdint cimport int64_t

from aerolog.transport.driver.logs.term_allocation cimport TermAllocation


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
