"""The positions of a stream's subscribers or spies, and which of them hold the stream back.

The conductor owns them, and its duty cycle reads them without the GIL.
"""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.memory.counters cimport CountersReader

# The state of a subscriber: only untethered subscribers have the last two.
cdef enum subscriber_state:
    IN_ACTIVE = 0
    IN_LINGER = 1
    IN_RESTING = 2

ctypedef struct subscriber_t:
    int64_t* position       # the counter that the client writes
    int64_t since_ns        # when the state was entered, or the window limit was last kept
    int32_t counter_id
    int32_t state
    bint tethered


cdef class SubscriberPositions:
    cdef CountersReader _counters
    cdef subscriber_t* _items
    cdef int count                  # all subscribers, those at rest included
    cdef int in_flow                # subscribers that count for flow control: those not at rest
    cdef int _capacity
    cdef int64_t _window_limit_timeout_ns
    cdef int64_t _linger_timeout_ns
    cdef int64_t _resting_timeout_ns
    # Lowest and highest position of those in flow; both are -1 when there is none.
    cdef int64_t lowest(self, int64_t* highest) noexcept nogil
    # Whether all in flow are at a position or past it; True when there is none.
    cdef bint all_reached(self, int64_t position) noexcept nogil
    # Whether an untethered one has to change its state; it should be past window_limit.
    cdef bint any_due(self, int64_t window_limit, int64_t now_ns) noexcept nogil
    # Note the time of those past the window limit; a timer event does it after changes of state.
    cdef void note_active(self, int64_t window_limit, int64_t now_ns) noexcept nogil
    cdef bint _is_due(
        self, const subscriber_t* subscriber, int64_t window_limit, int64_t now_ns
    ) noexcept nogil
    cdef int _find(self, int32_t counter_id) noexcept
