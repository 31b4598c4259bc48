"""What the conductor does for one IPC publication on every cycle and every timer event."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.driver.conductor.driver_stream cimport DriverStream
from aerolog.transport.driver.conductor.subscriber_positions cimport SubscriberPositions
from aerolog.transport.logbuffer.descriptor cimport LogBuffers, log_buffer_t
from aerolog.transport.memory.counters cimport CountersReader

cdef enum stream_state:
    STREAM_ACTIVE = 0
    STREAM_DRAINING = 1
    STREAM_LINGER = 2
    STREAM_DONE = 3


cdef class IpcStream(DriverStream):
    cdef LogBuffers _logs
    cdef CountersReader _counters
    cdef const log_buffer_t* _log
    cdef int64_t* _pub_pos
    cdef int64_t* _pub_lmt
    cdef int64_t* _unblocked_publications
    cdef SubscriberPositions _subscribers
    cdef bint _exclusive
    cdef int _state
    cdef bint _revoked
    cdef int64_t _references
    cdef int64_t _window
    cdef int64_t _trip_gain
    cdef int64_t _trip_limit
    cdef int64_t _consumer_position
    cdef int64_t _clean_position
    cdef int64_t _unblock_timeout_ns
    cdef int64_t _last_consumer_position
    cdef int64_t _last_consumer_change_ns
    cdef bint _cooling_down
    cdef int64_t _cool_down_end_ns
    cdef int64_t _window_limit(self) noexcept nogil
    cdef void _check_blocked(self, int64_t now_ns) noexcept nogil
    cdef void _unblock(self) noexcept nogil
