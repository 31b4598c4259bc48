"""What the conductor does for one IPC publication on every cycle and every timer event."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.logbuffer.descriptor cimport LogBuffers, log_buffer_t
from aerolog.transport.memory.counters cimport CountersReader

cdef enum stream_state:
    STREAM_ACTIVE = 0
    STREAM_DRAINING = 1
    STREAM_LINGER = 2
    STREAM_DONE = 3

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


cdef class IpcStream:
    cdef LogBuffers _logs
    cdef CountersReader _counters
    cdef const log_buffer_t* _log
    cdef int64_t* _pub_pos
    cdef int64_t* _pub_lmt
    cdef int64_t* _unblocked_publications
    cdef subscriber_t* _subscribers
    cdef int _subscriber_count
    cdef int _subscriber_capacity
    cdef bint _exclusive
    cdef int _state
    cdef bint _revoked
    cdef int64_t _references
    cdef int64_t _window
    cdef int64_t _trip_gain
    cdef int64_t _trip_limit
    cdef int64_t _consumer_position
    cdef int64_t _clean_position
    cdef int64_t _first_term_begin
    cdef int64_t _allocated_limit
    cdef int _allocation_error
    cdef bint _allocation_reported
    cdef int64_t _unblock_timeout_ns
    cdef int64_t _window_limit_timeout_ns
    cdef int64_t _linger_timeout_ns
    cdef int64_t _resting_timeout_ns
    cdef int64_t _last_consumer_position
    cdef int64_t _last_consumer_change_ns
    cdef bint _cooling_down
    cdef int64_t _cool_down_end_ns
    cdef int update(self) noexcept nogil
    cdef bint needs_control(self, int64_t now_ns) noexcept nogil
    cdef void tick(self, int64_t now_ns) noexcept nogil
    cdef int64_t _flow_minimum(self, int64_t* maximum) noexcept nogil
    cdef int64_t _granted(self, int64_t limit) noexcept nogil
    cdef bint _drained(self) noexcept nogil
    cdef bint _is_due(self, const subscriber_t* subscriber, int64_t now_ns) noexcept nogil
    cdef int64_t _window_limit(self) noexcept nogil
    cdef void _check_blocked(self, int64_t now_ns) noexcept nogil
    cdef void _unblock(self) noexcept nogil
    cdef int _find(self, int32_t counter_id) noexcept
