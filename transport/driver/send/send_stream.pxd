"""A UDP publication: what the conductor does for it; the sender's part is its base."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.driver.send.outbound_stream cimport OutboundStream
from aerolog.transport.driver.conductor.subscriber_positions cimport SubscriberPositions

cdef enum publication_state:
    PUBLICATION_ACTIVE = 0
    PUBLICATION_DRAINING = 1
    PUBLICATION_LINGER = 2
    PUBLICATION_DONE = 3


cdef class NetworkPublication(OutboundStream):
    # What the last cycle found; there is nothing to do while it holds.
    cdef int32_t _count_seen
    cdef int32_t _connected_seen
    cdef bint _is_settled
    cdef bint _is_caught_up             # the sender has sent all there is
    cdef int _state
    cdef int64_t* _tail                 # of the active term
    cdef int64_t _tail_seen
    cdef int64_t _sender_seen
    cdef const void* _count             # of terms, in the log
    cdef readonly SubscriberPositions spies
    cdef int64_t* _pub_pos
    cdef int64_t* _pub_lmt
    cdef int64_t* _unblocked_publications
    cdef int64_t _publisher_seen
    cdef bint _exclusive
    cdef int64_t _references
    cdef int64_t _window
    cdef int64_t _publisher_limit
    cdef int64_t _clean_position
    cdef int64_t _unblock_timeout_ns
    cdef int64_t _last_sender_position
    cdef int64_t _last_sender_change_ns
    cdef bint _has_nothing_new(self, int64_t sender_position) noexcept nogil
    cdef int64_t _sample(self) noexcept nogil
    cdef bint _move_limit(self, int64_t sender_position, int64_t producer) noexcept nogil
    cdef bint _store_limit(self, int64_t limit) noexcept nogil
    cdef void _show_spies(self, int64_t producer) noexcept nogil
    cdef int64_t _window_limit(self) noexcept nogil
    cdef void _check_blocked(self, int64_t now_ns) noexcept nogil
    cdef bint _unblock(self) noexcept nogil
    cdef void _settle(self) noexcept nogil
    cdef bint _is_over(self) noexcept nogil
