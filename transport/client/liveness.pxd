from libc.stdint cimport int32_t, int64_t

from cpython.pythread cimport PyThread_type_lock

from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.concurrent.standby_runner cimport duty_t
from aerolog.transport.memory.broadcast cimport BroadcastReceiver
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.memory.heartbeat cimport heartbeat_t
from aerolog.transport.memory.ring_buffer cimport ManyToOneRingBuffer

cdef enum liveness_code:
    LIVENESS_QUIET = 0
    LIVENESS_MESSAGE = 1
    LIVENESS_STOPPED = 2
    LIVENESS_SERVICE_INTERVAL_EXCEEDED = -1
    LIVENESS_DRIVER_SHUT_DOWN = -2
    LIVENESS_DRIVER_SILENT = -3
    LIVENESS_HEARTBEAT_COUNTER_GONE = -4

# Incremented in the child of every fork: whatever was made before it belongs to the parent.
cdef int64_t fork_generation


# What a client does from time to time, whoever has the interpreter.
cdef class Pulse:
    cdef void beat(self, int64_t now_ns) noexcept nogil


cdef class Liveness:
    cdef readonly int64_t client_id
    cdef readonly int64_t driver_timeout_ms
    cdef readonly int64_t keepalive_interval_ns
    cdef readonly int64_t inter_service_timeout_ns
    cdef readonly int64_t driver_age_ms        # how long the driver's heartbeat has stood still
    cdef readonly int64_t service_gap_ns       # the gap that was found too long
    cdef readonly int32_t heartbeat_counter_id
    cdef BroadcastReceiver _receiver
    cdef ManyToOneRingBuffer _ring
    cdef CountersReader _counters
    cdef Clock _clock
    cdef heartbeat_t _driver
    cdef int64_t _last_service_ns
    cdef int64_t _next_keepalive_ns
    cdef int32_t _stop
    cdef int32_t _requested
    cdef bytes _label_suffix
    cdef const char* _suffix
    cdef int32_t _suffix_length
    cdef duty_t _duty
    cdef bint _has_standby
    cdef tuple _pulses
    cdef void** _pulse_array              # borrowed from the tuple
    cdef int32_t _pulse_count
    cdef PyThread_type_lock _pulse_lock   # of the array
    cdef int _set_pulses(self, tuple pulses) except -1
    cdef void _beat_pulses(self, int64_t now_ns) noexcept nogil
    cdef void stand_in(self) noexcept nogil
    cdef int check(self, int64_t now_ns) noexcept nogil
    cdef int _keep_alive(self, int64_t now_ns) noexcept nogil
    cdef int32_t _find_heartbeat_counter(self) noexcept nogil
    cdef bint _is_own_heartbeat(self, int32_t counter_id) noexcept nogil
    cdef void _sign_label(self, int32_t counter_id) noexcept nogil
