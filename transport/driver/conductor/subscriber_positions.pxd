"""The positions of a stream's subscribers (or spies): which count, how far they are.

The conductor owns them, and its duty cycle reads them without the GIL.
"""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.memory.counters cimport CountersReader

# Where a subscriber stands: the last two are states of untethered ones.
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
    cdef int count                  # resting ones included
    cdef int in_flow                # those that count for flow control: not resting
    cdef int _capacity
    cdef int64_t _window_limit_timeout_ns
    cdef int64_t _linger_timeout_ns
    cdef int64_t _resting_timeout_ns
    # Lowest and highest position of those that count; -1 (both) when there is none.
    cdef int64_t lowest(self, int64_t* highest) noexcept nogil
    # Whether all that count are at a position or past it; True without any.
    cdef bint all_reached(self, int64_t position) noexcept nogil
    # Whether an untethered one has to change its state; window_limit is the position to be past.
    cdef bint any_due(self, int64_t window_limit, int64_t now_ns) noexcept nogil
    # Note who is past the window limit; a timer event does it after the changes of state.
    cdef void note_active(self, int64_t window_limit, int64_t now_ns) noexcept nogil
    cdef bint _is_due(
        self, const subscriber_t* subscriber, int64_t window_limit, int64_t now_ns
    ) noexcept nogil
    cdef int _find(self, int32_t counter_id) noexcept
