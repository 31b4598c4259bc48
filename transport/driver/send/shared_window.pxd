"""What all streams of a send endpoint may have under way, and send again (decision 0007)."""

from libc.stdint cimport int64_t

cpdef enum:
    SHARED_PERIOD_NS = 10_000_000
    SHARED_JUDGED_NS = 100_000_000      # so long it is watched before the limit is cut
    SHARED_START = 1024 * 1024          # bytes under way, before anything is known
    SHARED_LEAST = 256 * 1024
    SHARED_MOST = 1 << 30
    RESEND_FLOOR = 4 * 1024 * 1024      # bytes that may be sent again in any period


cdef class SharedWindow:
    cdef readonly int64_t in_flight     # sent and not consumed, as far as receivers have said
    cdef readonly int64_t longest       # the widest window of a stream
    cdef int64_t _limit                 # of in_flight
    cdef int64_t _period_end_ns
    cdef int64_t _judged_at_ns
    cdef int64_t _overflowed_at         # the limit when it was cut last, 0 for never
    cdef int64_t _peak                  # of in_flight in this period
    cdef int64_t _sent                  # in this period, for the first time
    cdef int64_t _granted               # in this period, to be sent again
    cdef int64_t _consumed              # in this period
    cdef int64_t _granted_since         # it was judged
    cdef int64_t _consumed_since
    cdef int64_t _peak_since
    # Bytes that a stream may send now, 0 or less for none. Once a cycle and stream.
    cdef int64_t room(self, int64_t now_ns) noexcept nogil
    cdef void sent(self, int64_t length) noexcept nogil
    # Receivers have consumed so much of what a stream with such a window has under way.
    cdef void consumed(self, int64_t length, int64_t window) noexcept nogil
    # A stream lets go of what it has under way: nobody receives it any more.
    cdef void forget(self, int64_t length) noexcept nogil
    # Whether so much may be sent again now. The longest retransmission always fits a period.
    cdef bint grant(self, int64_t length, int64_t longest, int64_t now_ns) noexcept nogil
    cdef int64_t _current(self) noexcept nogil
    cdef int64_t _growth(self) noexcept nogil
    cdef void _judge(self) noexcept nogil
    cdef void _next_period(self, int64_t now_ns) noexcept nogil
