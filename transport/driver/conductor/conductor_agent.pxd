"""The native part of the driver's conductor."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.driver.receive.receiver cimport Receiver
from aerolog.transport.driver.send.sender cimport Sender
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.memory.heartbeat cimport heartbeat_t
from aerolog.transport.memory.ring_buffer cimport ManyToOneRingBuffer


# A stream's turn in the cycle.
ctypedef struct turn_t:
    void* stream
    int64_t quiet_cycles            # consecutive duty cycles without work


# A client whose heartbeat is watched.
ctypedef struct client_t:
    const int64_t* counter
    heartbeat_t heartbeat


cdef class ConductorAgent(Agent):
    cdef Clock _clock
    cdef ManyToOneRingBuffer _commands
    cdef CountersReader _counters
    cdef object _conductor
    cdef Sender _sender
    cdef Receiver _receiver
    cdef list _streams              # keeps the streams alive to which the native entries point
    cdef turn_t* _turns
    cdef int64_t _cycle
    cdef int _stream_count
    cdef int _stream_capacity
    cdef dict _client_slots
    cdef client_t* _watched
    cdef int _client_count
    cdef int _client_capacity
    cdef int64_t* _unblocked_commands
    cdef int64_t _timer_interval_ns
    cdef int64_t _timer_deadline_ns
    cdef int64_t _client_liveness_ns
    cdef int64_t _now_ns
    cdef int64_t _now_ms
    cdef int64_t _epoch_read_ns
    cdef int64_t _last_head
    cdef int64_t _head_since_ns
    cdef bint _timer_due
    cdef bint _called_again
    cdef bint _called_at_timer
    cdef int32_t _rung
    cdef bint _allocation_due
    cdef bint _asks_at_timers
    cdef bint _more_to_hand_over    # sender or receiver had no room for a command
    cdef int _turn_streams(self, int64_t now_ns) noexcept nogil
    cdef void _on_timer(self) noexcept nogil
    cdef bint _a_client_is_due(self) noexcept nogil
    cdef bint _is_due(self, client_t* client) noexcept nogil
    cdef void _check_blocked_commands(self) noexcept nogil
