"""Appenders to a publication log (spec log-buffers 7 to 12). Native methods run without the GIL.

Several threads may share a ConcurrentAppender; an ExclusiveAppender belongs to one thread.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.logbuffer.base_appender cimport (
    ADMIN_ACTION,
    BACK_PRESSURED,
    BAD_BLOCK,
    CLOSED,
    MAX_POSITION_EXCEEDED,
    NOT_CONNECTED,
    TOO_LONG,
    Appender,
    claim_t,
    records_t,
    slice_t,
    values_t,
)
from aerolog.transport.logbuffer.descriptor cimport LogBuffers, log_buffer_t
from aerolog.transport.logbuffer.frame_writer cimport place_t, reserved_t
from aerolog.transport.memory.counter cimport counter_t


cdef void commit_claim(claim_t* claim) noexcept nogil
cdef void abort_claim(claim_t* claim) noexcept nogil


cdef class ConcurrentAppender(Appender):
    cdef int64_t _end_of_term(self, int64_t raw_tail, int64_t resulting) noexcept nogil


cdef class ExclusiveAppender(Appender):
    cdef int32_t active_index
    cdef int32_t term_id
    cdef int32_t term_offset
    cdef int64_t term_begin_position
    cdef int64_t append_padding(self, int64_t length) noexcept nogil
    # The block must hold whole aligned frames, as a block poll returns or a recording holds them.
    cdef int64_t append_block(self, const uint8_t* block, int64_t length) noexcept nogil
    cdef bint _continues(self, const uint8_t* block, int64_t length) noexcept nogil
    cdef int64_t _end_of_term(self) noexcept nogil
    cdef void _rotate(self) noexcept nogil


cdef ConcurrentAppender concurrent_appender(
    LogBuffers logs, const counter_t* limit, object counter_owner
)
cdef ExclusiveAppender exclusive_appender(
    LogBuffers logs, const counter_t* limit, object counter_owner
)
