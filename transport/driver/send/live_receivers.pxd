"""Who receives a publication: receiver ids and when they were last heard; the sender's."""

from libc.stdint cimport int32_t, int64_t

cdef enum:
    # Receivers that one publication knows; more are not let in, so that forged ids cost a
    # bounded amount of work and memory.
    MAX_LIVE_RECEIVERS = 1024

ctypedef struct live_receiver_t:
    int64_t receiver_id
    int64_t last_heard_ns


cdef class LiveReceivers:
    cdef int32_t count
    cdef int64_t first_expiry_ns        # nobody is overdue before; no meaning without receivers
    cdef int32_t _capacity
    cdef live_receiver_t* _items
    cdef int64_t _timeout_ns
    cdef void heard(self, int64_t receiver_id, int64_t now_ns) noexcept nogil
    # Whether the receiver was known.
    cdef bint forget(self, int64_t receiver_id) noexcept nogil
    # Forget those who were not heard for longer than the timeout.
    cdef void expire(self, int64_t now_ns) noexcept nogil
