"""Concurrent and exclusive appenders to a publication log (spec log-buffers 8 to 12).

Every store that other processes see is made in the order that the spec gives; frame_writer writes
the frames themselves. Values read from the shared metadata are bounded before they are used.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport (
    get_and_add_i64,
    get_i32,
    get_i64,
    get_u16,
    load_acquire_i32,
    load_acquire_i64,
    store_plain_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.logbuffer.base_appender cimport (
    ADMIN_ACTION,
    BAD_BLOCK,
    CLOSED,
    MAX_POSITION_EXCEEDED,
    TOO_LONG,
    Appender,
    claim_t,
)
from aerolog.transport.logbuffer.descriptor cimport (
    META_ACTIVE_TERM_COUNT,
    PARTITION_COUNT,
    LogBuffers,
    active_term_count,
    compute_position,
    framed_length,
    index_by_term_count,
    log_buffer_t,
    pack_tail,
    producer_position,
    rotate_log,
    tail_address,
    tail_offset,
    tail_term_id,
    term_begin_position,
    wrapping_add,
    wrapping_sub,
)
from aerolog.transport.logbuffer.frame_writer cimport (
    commit_frame,
    place_t,
    reserved_t,
    set_frame_type,
    write_frame,
    write_padding,
)
from aerolog.transport.memory.counter cimport counter_is_live, counter_t
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FRAME_ALIGNMENT,
    FRAME_DATA,
    FRAME_PAD,
    RESERVED_VALUE_OFFSET,
    SESSION_ID_OFFSET,
    STREAM_ID_OFFSET,
    TERM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
    TYPE_OFFSET,
    align_frame,
)

from aerolog.transport.errors import FileFormatError
from aerolog.transport.logbuffer.base_appender import Appender  # noqa: F401 (its public name)


cdef void commit_claim(claim_t* claim) noexcept nogil:
    """Make a claimed frame visible to readers."""
    if claim.frame != NULL:
        commit_frame(claim.frame, claim.length + DATA_HEADER_LENGTH)
        claim.frame = NULL


cdef void abort_claim(claim_t* claim) noexcept nogil:
    """Turn a claimed frame into padding."""
    if claim.frame != NULL:
        set_frame_type(claim.frame, FRAME_PAD)
        commit_frame(claim.frame, claim.length + DATA_HEADER_LENGTH)
        claim.frame = NULL


cdef class ConcurrentAppender(Appender):
    """An appender for a log that any number of threads and processes share; it caches nothing."""

    cdef int64_t _reserve(
        self, int64_t length, int64_t max_length, int64_t needed, place_t* place
    ) noexcept nogil:
        cdef const log_buffer_t* log = self.log
        cdef int64_t limit, raw, position, resulting
        cdef int32_t count, index, term_id
        if self.is_closed():
            return CLOSED
        limit = load_acquire_i64(self.limit.value)
        if not counter_is_live(&self.limit):
            return CLOSED
        count = active_term_count(log)
        index = index_by_term_count(count)
        raw = load_acquire_i64(tail_address(log, index))
        term_id = tail_term_id(raw)
        if count != wrapping_sub(term_id, log.initial_term_id):
            # The term count is older than the tail: the log was rotated between the two loads.
            return ADMIN_ACTION
        position = compute_position(log, term_id, tail_offset(raw, log.term_length))
        if position >= limit:
            return self._back_pressure(position, length)
        if length < 0 or length > max_length:
            return TOO_LONG
        raw = get_and_add_i64(tail_address(log, index), needed)
        place.term_id = tail_term_id(raw)
        place.term_offset = tail_offset(raw, log.term_length)
        resulting = place.term_offset + needed
        if resulting > log.term_length or place.term_offset % FRAME_ALIGNMENT:
            return self._end_of_term(raw, resulting)
        place.frame = log.terms[index] + place.term_offset
        return compute_position(log, place.term_id, resulting)

    cdef int64_t _end_of_term(self, int64_t raw_tail, int64_t resulting) noexcept nogil:
        cdef const log_buffer_t* log = self.log
        cdef int32_t term_id = tail_term_id(raw_tail)
        cdef int32_t offset = tail_offset(raw_tail, log.term_length)
        cdef int32_t count = wrapping_sub(term_id, log.initial_term_id)
        # Only one publisher gets an offset inside the term. One off the frame grid is no
        # publisher's: nothing is written there, the rest of that term is given up.
        if offset < log.term_length and offset % FRAME_ALIGNMENT == 0:
            write_padding(
                log,
                log.terms[index_by_term_count(count)] + offset,
                log.term_length - offset,
                term_id,
                offset,
            )
        if compute_position(log, term_id, resulting) >= log.max_position:
            return MAX_POSITION_EXCEEDED
        rotate_log(log, count, term_id)
        return ADMIN_ACTION

    cdef int64_t free_room(self, int64_t position) noexcept nogil:
        # No more than one message may take: other publishers' frames wait behind these, and the
        # driver has to unblock the whole if this process dies here.
        return min(Appender.free_room(self, position), <int64_t> self.log.max_message_length)

    cdef int64_t position(self) noexcept nogil:
        return CLOSED if self.is_closed() else producer_position(self.log)


cdef inline int64_t _reserve_exclusive(
    ExclusiveAppender self, int64_t length, int64_t max_length, int64_t needed, place_t* place
) noexcept nogil:
    """Reserve room for a message.

    This is a function and not a method, so that the compiler can inline it into append.
    """
    cdef const log_buffer_t* log = self.log
    cdef int64_t position = self.term_begin_position + self.term_offset
    cdef int64_t limit, resulting
    if load_acquire_i32(&self._closed):
        return CLOSED
    limit = load_acquire_i64(self.limit.value)
    if not counter_is_live(&self.limit):
        return CLOSED
    if position >= limit:
        return self._back_pressure(position, length)
    if length < 0 or length > max_length:
        return TOO_LONG
    resulting = self.term_offset + needed
    store_release_i64(
        tail_address(log, self.active_index), pack_tail(self.term_id, <int32_t> resulting)
    )
    if resulting > log.term_length:
        return self._end_of_term()
    place.frame = log.terms[self.active_index] + self.term_offset
    place.term_id = self.term_id
    place.term_offset = self.term_offset
    self.term_offset = <int32_t> resulting
    return self.term_begin_position + resulting


cdef class ExclusiveAppender(Appender):
    """The only writer of its log; it keeps the tail here and publishes it in the metadata."""

    cdef int bind(self, LogBuffers logs, const counter_t* limit, object counter_owner) except -1:
        Appender.bind(self, logs, limit, counter_owner)
        cdef int32_t count = active_term_count(self.log)
        cdef int64_t raw
        self.active_index = index_by_term_count(count)
        raw = load_acquire_i64(tail_address(self.log, self.active_index))
        self.term_id = tail_term_id(raw)
        self.term_offset = tail_offset(raw, self.log.term_length)
        self.term_begin_position = term_begin_position(self.log, self.term_id)
        if (
            count < 0
            or count != wrapping_sub(self.term_id, self.log.initial_term_id)
            or self.term_offset % FRAME_ALIGNMENT
        ):
            raise FileFormatError(
                f"{logs.file.path}: active term count {count} contradicts the tail: term id"
                f" {self.term_id}, offset {self.term_offset}, initial term id"
                f" {self.log.initial_term_id}"
            )
        return 0

    cdef int64_t append(
        self, const uint8_t* data, int64_t length, const reserved_t* reserved
    ) noexcept nogil:
        cdef place_t place
        cdef int64_t result
        if length < 0 or length > self.log.max_payload_length:
            return Appender.append(self, data, length, reserved)
        place.frame = NULL
        place.term_id = 0
        place.term_offset = 0
        result = _reserve_exclusive(
            self, length, length, align_frame(length + DATA_HEADER_LENGTH), &place
        )
        if result >= 0:
            write_frame(
                self.log,
                place.frame,
                place.term_id,
                place.term_offset,
                data,
                <int32_t> length,
                reserved,
            )
        return result

    cdef int64_t _reserve(
        self, int64_t length, int64_t max_length, int64_t needed, place_t* place
    ) noexcept nogil:
        return _reserve_exclusive(self, length, max_length, needed, place)

    cdef int64_t _end_of_term(self) noexcept nogil:
        cdef const log_buffer_t* log = self.log
        if self.term_offset < log.term_length:
            write_padding(
                log,
                log.terms[self.active_index] + self.term_offset,
                log.term_length - self.term_offset,
                self.term_id,
                self.term_offset,
            )
        if self.term_begin_position + log.term_length >= log.max_position:
            return MAX_POSITION_EXCEEDED
        self._rotate()
        return ADMIN_ACTION

    cdef void _rotate(self) noexcept nogil:
        cdef const log_buffer_t* log = self.log
        self.active_index = (self.active_index + 1) % PARTITION_COUNT
        self.term_id = wrapping_add(self.term_id, 1)
        self.term_offset = 0
        self.term_begin_position += log.term_length
        store_plain_i64(tail_address(log, self.active_index), pack_tail(self.term_id, 0))
        store_release_i32(
            log.meta + META_ACTIVE_TERM_COUNT, wrapping_sub(self.term_id, log.initial_term_id)
        )

    cdef int64_t append_padding(self, int64_t length) noexcept nogil:
        cdef place_t place
        cdef int64_t max_length = framed_length(self.log, self.log.max_message_length)
        cdef int64_t needed = (
            align_frame(length + DATA_HEADER_LENGTH) if 0 <= length <= max_length else 0
        )
        cdef int64_t result = self._reserve(length, max_length, needed, &place)
        if result >= 0:
            write_padding(
                self.log,
                place.frame,
                <int32_t> length + DATA_HEADER_LENGTH,
                place.term_id,
                place.term_offset,
            )
        return result

    cdef int64_t append_block(self, const uint8_t* block, int64_t length) noexcept nogil:
        cdef const log_buffer_t* log = self.log
        cdef uint8_t* frame
        cdef int64_t position, limit
        if self.is_closed() or not counter_is_live(&self.limit):
            return CLOSED
        if self.term_offset >= log.term_length:
            if self.term_begin_position + log.term_length >= log.max_position:
                return MAX_POSITION_EXCEEDED
            self._rotate()
        position = self.term_begin_position + self.term_offset
        limit = self.position_limit()
        if limit == CLOSED:
            return CLOSED
        if position >= limit:
            return self._back_pressure(position, length)
        if not self._continues(block, length):
            return BAD_BLOCK
        store_release_i64(
            tail_address(log, self.active_index),
            pack_tail(self.term_id, self.term_offset + <int32_t> length),
        )
        frame = log.terms[self.active_index] + self.term_offset
        # The first eight bytes are stored last: they make the whole block visible at once.
        memcpy(
            frame + DATA_HEADER_LENGTH, block + DATA_HEADER_LENGTH, length - DATA_HEADER_LENGTH
        )
        store_plain_i64(
            frame + RESERVED_VALUE_OFFSET, get_i64(block + RESERVED_VALUE_OFFSET)
        )
        store_plain_i64(frame + STREAM_ID_OFFSET, get_i64(block + STREAM_ID_OFFSET))
        store_plain_i64(frame + TERM_OFFSET_OFFSET, get_i64(block + TERM_OFFSET_OFFSET))
        store_release_i64(frame, get_i64(block))
        self.term_offset += <int32_t> length
        return position + length

    cdef bint _continues(self, const uint8_t* block, int64_t length) noexcept nogil:
        """Whether a block of whole frames begins exactly at the tail of this stream."""
        cdef const log_buffer_t* log = self.log
        if length < DATA_HEADER_LENGTH or length % FRAME_ALIGNMENT:
            return False
        return (
            length <= log.term_length - self.term_offset
            and get_i32(block + TERM_OFFSET_OFFSET) == self.term_offset
            and get_i32(block + SESSION_ID_OFFSET) == log.session_id
            and get_i32(block + STREAM_ID_OFFSET) == log.stream_id
            and get_i32(block + TERM_ID_OFFSET) == self.term_id
            and get_u16(block + TYPE_OFFSET) == FRAME_DATA
        )

    cdef int64_t position(self) noexcept nogil:
        return CLOSED if self.is_closed() else self.term_begin_position + self.term_offset


cdef ConcurrentAppender concurrent_appender(
    LogBuffers logs, const counter_t* limit, object counter_owner
):
    """An appender for a shared publication; `counter_owner` keeps the limit's memory alive."""
    cdef ConcurrentAppender appender = ConcurrentAppender.__new__(ConcurrentAppender)
    appender.bind(logs, limit, counter_owner)
    return appender


cdef ExclusiveAppender exclusive_appender(
    LogBuffers logs, const counter_t* limit, object counter_owner
):
    """An appender for an exclusive publication; it starts at the tail in the log's metadata."""
    cdef ExclusiveAppender appender = ExclusiveAppender.__new__(ExclusiveAppender)
    appender.bind(logs, limit, counter_owner)
    return appender
