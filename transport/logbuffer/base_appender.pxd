"""The interface of both appenders; cimport it from ``appender``, which also has the appenders.

Native methods run without the GIL. A result of 0 or more is the position after the message;
negative results are the codes below.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.logbuffer.descriptor cimport LogBuffers, log_buffer_t
from aerolog.transport.logbuffer.frame_writer cimport place_t, reserved_t
from aerolog.transport.memory.counter cimport counter_t

cdef enum:
    NOT_CONNECTED = -1
    BACK_PRESSURED = -2
    ADMIN_ACTION = -3
    CLOSED = -4
    MAX_POSITION_EXCEEDED = -5
    # Argument errors, which the caller maps to exceptions; they are no part of the protocol.
    TOO_LONG = -6
    BAD_BLOCK = -7

# One of the pieces that make up a message, in their order.
ctypedef struct slice_t:
    const uint8_t* address
    int64_t length

# A claimed frame: the caller fills payload[0:length] and then commits or aborts it, within the
# unblock timeout of the driver.
ctypedef struct claim_t:
    uint8_t* frame
    uint8_t* payload
    int32_t length
    int64_t position    # after the frame

# A batch of messages: `count` records of `record_length` bytes each, `stride` bytes apart, or
# values in `data` between consecutive offsets (as Arrow's binary and large_binary have them).
# The header, which may be empty, is put in front of each record.
ctypedef struct records_t:
    slice_t header
    const uint8_t* data
    int64_t count
    int64_t record_length
    int64_t stride

ctypedef struct values_t:
    const uint8_t* data
    int64_t data_length         # bytes that may be read from data
    const int32_t* offsets_i32  # count + 1 offsets, or NULL
    const int64_t* offsets_i64  # count + 1 offsets, or NULL
    int64_t count


cdef class Appender:
    cdef readonly LogBuffers logs
    cdef const log_buffer_t* log
    cdef counter_t limit        # the driver frees it with the publication: CLOSED from then on
    cdef object _counter_owner
    cdef int32_t _closed
    # Offers, in the order of spec log-buffers 8 and 9. `reserved` may be NULL.
    cdef int64_t append(
        self, const uint8_t* data, int64_t length, const reserved_t* reserved
    ) noexcept nogil
    cdef int64_t append_slices(
        self, const slice_t* slices, int32_t count, const reserved_t* reserved
    ) noexcept nogil
    cdef int64_t claim(self, int64_t length, claim_t* claim) noexcept nogil
    # Batches return the number of messages appended from `first` on; *result is the position after
    # the last of them, or the code that stopped the batch (even when some were appended). They
    # retry ADMIN_ACTION themselves, and claim room for many messages with one tail update.
    cdef int64_t append_records(
        self, const records_t* records, int64_t first, const reserved_t* reserved, int64_t* result
    ) noexcept nogil
    cdef int64_t append_values(
        self, const values_t* values, int64_t first, const reserved_t* reserved, int64_t* result
    ) noexcept nogil
    cdef int64_t position(self) noexcept nogil
    cdef int64_t position_limit(self) noexcept nogil
    cdef int64_t available_window(self) noexcept nogil
    cdef bint is_closed(self) noexcept nogil
    cdef void close(self) noexcept nogil
    cdef int bind(self, LogBuffers logs, const counter_t* limit, object counter_owner) except -1
    # Claim `needed` bytes for a message of `length` bytes. Fills in *place and returns the position
    # after them, or returns a code. The checks come in the order of spec log-buffers 8 and 9.
    cdef int64_t _reserve(
        self, int64_t length, int64_t max_length, int64_t needed, place_t* place
    ) noexcept nogil
    cdef int64_t _back_pressure(self, int64_t position, int64_t length) noexcept nogil
    cdef int64_t _append_gathered(
        self, const slice_t* slices, int64_t total, const reserved_t* reserved
    ) noexcept nogil
    cdef const uint8_t* _write_records(
        self,
        const records_t* records,
        const uint8_t* data,
        int64_t count,
        const place_t* place,
        const reserved_t* reserved,
    ) noexcept nogil
    cdef int64_t _values_that_fit(
        self, const values_t* values, int64_t first, int64_t* needed, slice_t* value
    ) noexcept nogil
    cdef void _write_values(
        self,
        const values_t* values,
        int64_t first,
        int64_t count,
        const place_t* place,
        int64_t claimed,
        const reserved_t* reserved,
    ) noexcept nogil
    cdef int64_t free_room(self, int64_t position) noexcept nogil
    cdef int64_t _batch_size(self, int64_t position, int64_t aligned, int64_t count) noexcept nogil
    cdef bint is_retried(self, int64_t status, int32_t* retries) noexcept nogil
