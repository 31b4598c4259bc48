from libc.stdint cimport int32_t, uint8_t

from aerolog.transport.events.event_log cimport EventLog
from aerolog.transport.network.port cimport address_t, incoming_t, outgoing_t
from aerolog.transport.network.wrapped_port cimport WrappedPort


cdef class LoggedPort(WrappedPort):
    cdef EventLog _log
    cdef int32_t _in_code
    cdef int32_t _out_code
    cdef int32_t _nak_in_code
    cdef int32_t _nak_out_code
    cdef address_t _peer
    cdef bytes _channel
    cdef const char* _channel_at
    cdef int32_t _channel_length
    cdef void _note(
        self, int32_t frame_code, int32_t nak_code, const address_t* address, const uint8_t* data,
        int32_t length,
    ) noexcept nogil
    cdef void _note_nak(
        self, int32_t code, const uint8_t* address, int32_t address_length, const uint8_t* data,
        int32_t length,
    ) noexcept nogil
