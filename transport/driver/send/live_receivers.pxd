"""The receivers of a publication, by receiver id and time last heard; the sender owns them."""

from libc.stdint cimport int32_t, int64_t

cdef enum:
    # The number of receivers that one publication tracks; further ones are not admitted, so that
    # forged ids cost a bounded amount of work and memory.
    MAX_LIVE_RECEIVERS = 1024

ctypedef struct live_receiver_t:
    int64_t receiver_id
    int64_t last_heard_ns


cdef class LiveReceivers:
    cdef int32_t count
    cdef int64_t first_expiry_ns        # no receiver expires before; meaningless without receivers
    cdef int32_t _capacity
    cdef live_receiver_t* _items
    cdef int64_t _timeout_ns
    cdef void heard(self, int64_t receiver_id, int64_t now_ns) noexcept nogil
    # Returns whether the receiver was known.
    cdef bint forget(self, int64_t receiver_id) noexcept nogil
    # Forgets receivers that were silent for longer than the timeout.
    cdef void expire(self, int64_t now_ns) noexcept nogil
