from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.network.drop_rules cimport DropRule
from aerolog.transport.network.port cimport address_t, incoming_t, outgoing_t
from aerolog.transport.network.wrapped_port cimport WrappedPort

cdef enum:
    HELD_LIMIT = 1024

# A datagram that is held back; room of its own in the disturbance's memory.
ctypedef struct held_t:
    held_t* next
    int64_t due_ns
    int32_t length
    address_t address
    uint8_t* data


cdef class Disturbance:
    cdef readonly int64_t passed
    cdef readonly int64_t dropped
    cdef readonly int64_t duplicated
    cdef readonly int64_t delayed
    cdef readonly int64_t overflowed
    cdef DropRule _rule
    cdef uint64_t _state
    cdef double _duplicate
    cdef double _reorder
    cdef int64_t _reorder_ns
    cdef int64_t _delay_ns
    cdef int64_t _jitter_ns
    cdef uint8_t* _memory
    cdef held_t[HELD_LIMIT] _slots
    cdef held_t* _free
    cdef held_t* _first
    cdef double _draw(self) noexcept nogil
    # Whether the datagram passes now; otherwise it is lost, or held back until it is due.
    cdef bint passes(
        self, const uint8_t* data, int32_t length, const address_t* address, int64_t now_ns
    ) noexcept nogil
    cdef void _hold(
        self, const uint8_t* data, int32_t length, const address_t* address, int64_t due_ns
    ) noexcept nogil
    # The first held datagram that is due, or NULL; it stays until it is released.
    cdef held_t* due(self, int64_t now_ns) noexcept nogil
    cdef void let_go(self) noexcept nogil


cdef class RehearsedPort(WrappedPort):
    cdef readonly Disturbance outgoing
    cdef readonly Disturbance incoming
    cdef Clock _clock
    cdef void _flush(self, int64_t now_ns) noexcept nogil
    cdef bint _sift(self, incoming_t* message, int64_t now_ns) noexcept nogil
