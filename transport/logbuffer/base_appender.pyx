"""The base of concurrent and exclusive appenders (spec log-buffers 8 to 12).

It appends messages, claims and batches. The two kinds of appender differ only in how they reserve
room in the active term; frame_writer writes the frames into that room.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport (
    load_acquire_i32,
    load_acquire_i64,
    store_release_i32,
)
from aerolog.transport.logbuffer.descriptor cimport LogBuffers, framed_length, log_is_connected
from aerolog.transport.logbuffer.frame_writer cimport (
    begin_frame,
    commit_frame,
    place_t,
    reserved_t,
    set_reserved_value,
    write_frame,
    write_padding,
)
from aerolog.transport.memory.counter cimport counter_is_live, counter_t
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FLAGS_OFFSET,
    FLAG_BEGIN,
    FLAG_END,
    align_frame,
)

# How many rotations and lost races a batch retries before it returns the code, so that a log whose
# metadata contradicts itself cannot hold a caller for ever.
cdef int32_t _MAX_RETRIES = 64
cdef int64_t _MAX_TOTAL = 0x7FFFFFFF


cdef void _write_fragments(
    const log_buffer_t* log,
    const place_t* place,
    const slice_t* slices,
    int64_t total,
    const reserved_t* reserved,
) noexcept nogil:
    """Write the frames of one message in increasing order, its pieces divided among them."""
    cdef uint8_t* frame = place.frame
    cdef uint8_t* out
    cdef int32_t term_offset = place.term_offset
    cdef int64_t left = total
    cdef int64_t within = 0
    cdef int64_t room, piece
    cdef int32_t length
    cdef uint8_t flags = FLAG_BEGIN
    while True:
        room = min(left, <int64_t> log.max_payload_length)
        left -= room
        length = <int32_t> room + DATA_HEADER_LENGTH
        begin_frame(log, frame, length, place.term_id, term_offset)
        out = frame + DATA_HEADER_LENGTH
        while room > 0:
            piece = min(room, slices.length - within)
            if piece > 0:
                memcpy(out, slices.address + within, piece)
            out += piece
            room -= piece
            within += piece
            if room > 0:
                slices += 1
                within = 0
        if left == 0:
            flags |= FLAG_END
        frame[FLAGS_OFFSET] = flags
        if reserved != NULL:
            set_reserved_value(frame, length, reserved)
        commit_frame(frame, length)
        if left == 0:
            return
        flags = 0
        frame += align_frame(length)
        term_offset += <int32_t> align_frame(length)


cdef inline const uint8_t* _write_frames(
    const log_buffer_t* log,
    const records_t* records,
    const uint8_t* data,
    int64_t count,
    const place_t* place,
    const reserved_t* reserved,
    int32_t front,
) noexcept nogil:
    """Write records, one frame each, with `front` bytes of their header.

    It is inline, so that the compiler makes a loop of its own where there is none.
    """
    cdef uint8_t* frame = place.frame
    cdef int32_t term_offset = place.term_offset
    cdef int32_t length = <int32_t> records.record_length + front + DATA_HEADER_LENGTH
    cdef int32_t aligned = <int32_t> align_frame(length)
    for _ in range(count):
        begin_frame(log, frame, length, place.term_id, term_offset)
        if front > 0:
            memcpy(frame + DATA_HEADER_LENGTH, records.header.address, front)
        memcpy(frame + DATA_HEADER_LENGTH + front, data, length - DATA_HEADER_LENGTH - front)
        if reserved != NULL:
            set_reserved_value(frame, length, reserved)
        commit_frame(frame, length)
        frame += aligned
        term_offset += aligned
        data += records.stride
    return data


cdef class Appender:
    """Base of the two appenders: it appends to one log, up to one position limit."""

    cdef int bind(self, LogBuffers logs, const counter_t* limit, object counter_owner) except -1:
        self.logs = logs
        self.log = &logs.log
        self.limit = limit[0]
        self._counter_owner = counter_owner
        return 0

    cdef int64_t append(
        self, const uint8_t* data, int64_t length, const reserved_t* reserved
    ) noexcept nogil:
        cdef slice_t whole
        cdef place_t place
        cdef int64_t result
        if 0 <= length <= self.log.max_payload_length:
            result = self._reserve(
                length,
                self.log.max_message_length,
                align_frame(length + DATA_HEADER_LENGTH),
                &place,
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
        whole.address = data
        whole.length = length
        return self._append_gathered(&whole, length, reserved)

    cdef int64_t append_slices(
        self, const slice_t* slices, int32_t count, const reserved_t* reserved
    ) noexcept nogil:
        cdef int64_t total = 0
        cdef int32_t index
        for index in range(count):
            # Each length is bounded, so that the sum of 2^31 of them does not overflow.
            if slices[index].length < 0 or slices[index].length > _MAX_TOTAL:
                return TOO_LONG
            total += slices[index].length
        return self._append_gathered(slices, total, reserved)

    cdef int64_t _append_gathered(
        self, const slice_t* slices, int64_t total, const reserved_t* reserved
    ) noexcept nogil:
        cdef place_t place
        cdef int64_t result
        # A length that is refused below takes no room; that check has to come after the others.
        cdef int64_t needed = (
            framed_length(self.log, total) if 0 <= total <= self.log.max_message_length else 0
        )
        result = self._reserve(total, self.log.max_message_length, needed, &place)
        if result >= 0:
            _write_fragments(self.log, &place, slices, total, reserved)
        return result

    cdef int64_t claim(self, int64_t length, claim_t* claim) noexcept nogil:
        cdef place_t place
        cdef int64_t result
        claim.frame = NULL
        if length < 0 or length > self.log.max_payload_length:
            return TOO_LONG
        result = self._reserve(
            length,
            self.log.max_payload_length,
            align_frame(length + DATA_HEADER_LENGTH),
            &place,
        )
        if result >= 0:
            begin_frame(
                self.log,
                place.frame,
                <int32_t> length + DATA_HEADER_LENGTH,
                place.term_id,
                place.term_offset,
            )
            claim.frame = place.frame
            claim.payload = place.frame + DATA_HEADER_LENGTH
            claim.length = <int32_t> length
            claim.position = result
        return result

    cdef int64_t append_records(
        self, const records_t* records, int64_t first, const reserved_t* reserved, int64_t* result
    ) noexcept nogil:
        cdef const log_buffer_t* log = self.log
        cdef int64_t length = records.record_length
        cdef int64_t aligned, taken, status
        cdef int64_t index = first
        cdef int32_t retries = 0
        cdef place_t place
        cdef slice_t parts[2]
        cdef const uint8_t* data = records.data + first * records.stride
        result[0] = self.position()
        if length < 0 or length > log.max_message_length - records.header.length:
            result[0] = TOO_LONG
            return 0
        length += records.header.length
        aligned = framed_length(log, length)
        while index < records.count:
            taken = 1
            if length <= log.max_payload_length:
                taken = self._batch_size(self.position(), aligned, records.count - index)
                status = self._reserve(length, length, taken * aligned, &place)
                if status >= 0:
                    data = self._write_records(records, data, taken, &place, reserved)
            else:
                parts[0] = records.header
                parts[1].address = data
                parts[1].length = records.record_length
                status = self.append_slices(parts, 2, reserved)
                if status >= 0:
                    data += records.stride
            result[0] = status
            if status >= 0:
                index += taken
                retries = 0
            elif not self.is_retried(status, &retries):
                break
        return index - first

    cdef const uint8_t* _write_records(
        self,
        const records_t* records,
        const uint8_t* data,
        int64_t count,
        const place_t* place,
        const reserved_t* reserved,
    ) noexcept nogil:
        """Write records into claimed space, one frame each; returns where the next record is."""
        if records.header.length == 0:
            return _write_frames(self.log, records, data, count, place, reserved, 0)
        return _write_frames(
            self.log, records, data, count, place, reserved, <int32_t> records.header.length
        )

    cdef int64_t append_values(
        self, const values_t* values, int64_t first, const reserved_t* reserved, int64_t* result
    ) noexcept nogil:
        cdef int64_t index = first
        cdef int64_t taken, status
        cdef int32_t retries = 0
        cdef slice_t value
        cdef place_t place
        cdef int64_t needed
        result[0] = self.position()
        while index < values.count:
            taken = self._values_that_fit(values, index, &needed, &value)
            if taken > 0:
                status = self._reserve(0, 0, needed, &place)
                if status >= 0:
                    self._write_values(values, index, taken, &place, needed, reserved)
            elif value.length < 0:
                status = BAD_BLOCK
            else:
                taken = 1
                status = self.append(value.address, value.length, reserved)
            result[0] = status
            if status >= 0:
                index += taken
                retries = 0
            elif not self.is_retried(status, &retries):
                break
        return index - first

    cdef int64_t _values_that_fit(
        self, const values_t* values, int64_t first, int64_t* needed, slice_t* value
    ) noexcept nogil:
        """How many single-frame messages one tail update may claim, and their room in the term.

        If the result is 0, the first value has to be appended by itself; *value is that value, with
        a negative length if its offsets are wrong.
        """
        cdef const log_buffer_t* log = self.log
        cdef int64_t index = first
        cdef int64_t position = self.position()
        cdef int64_t limit = self.position_limit()
        cdef int64_t room = self.free_room(position)
        cdef int64_t aligned
        cdef slice_t each
        needed[0] = 0
        _value_at(values, first, value)
        while index < values.count and position + needed[0] < limit:
            _value_at(values, index, &each)
            if each.length < 0 or each.length > log.max_payload_length:
                break
            aligned = align_frame(each.length + DATA_HEADER_LENGTH)
            if needed[0] + aligned > room:
                break
            needed[0] += aligned
            index += 1
        return index - first

    cdef void _write_values(
        self,
        const values_t* values,
        int64_t first,
        int64_t count,
        const place_t* place,
        int64_t claimed,
        const reserved_t* reserved,
    ) noexcept nogil:
        cdef uint8_t* frame = place.frame
        cdef int32_t term_offset = place.term_offset
        cdef int32_t end = place.term_offset + <int32_t> claimed
        cdef int64_t aligned
        cdef int64_t index
        cdef slice_t value
        for index in range(first, first + count):
            _value_at(values, index, &value)
            aligned = align_frame(value.length + DATA_HEADER_LENGTH)
            if value.length < 0 or aligned > end - term_offset:
                break
            write_frame(
                self.log,
                frame,
                place.term_id,
                term_offset,
                value.address,
                <int32_t> value.length,
                reserved,
            )
            frame += aligned
            term_offset += <int32_t> aligned
        if term_offset < end:
            # Another thread changed the offsets meanwhile: the rest of the claim becomes padding.
            write_padding(self.log, frame, end - term_offset, place.term_id, term_offset)

    cdef int64_t free_room(self, int64_t position) noexcept nogil:
        """Bytes that one tail update of a batch may claim."""
        if position < 0:
            return 0
        return self.log.term_length - (position & self.log.term_mask)

    cdef int64_t _batch_size(
        self, int64_t position, int64_t aligned, int64_t count
    ) noexcept nogil:
        """How many messages one tail update may claim: all below the limit and in this term."""
        cdef int64_t by_limit = (self.position_limit() - position + aligned - 1) // aligned
        cdef int64_t by_room = self.free_room(position) // aligned
        return max(<int64_t> 1, min(count, min(by_limit, by_room)))

    cdef bint is_retried(self, int64_t status, int32_t* retries) noexcept nogil:
        """Whether to try again at once; `retries` counts from 0 for each message or claim."""
        retries[0] += 1
        return status == ADMIN_ACTION and retries[0] < _MAX_RETRIES

    cdef int64_t _reserve(
        self, int64_t length, int64_t max_length, int64_t needed, place_t* place
    ) noexcept nogil:
        return CLOSED

    cdef int64_t _back_pressure(self, int64_t position, int64_t length) noexcept nogil:
        if position + align_frame(length + DATA_HEADER_LENGTH) >= self.log.max_position:
            return MAX_POSITION_EXCEEDED
        return BACK_PRESSURED if log_is_connected(self.log) else NOT_CONNECTED

    cdef int64_t position(self) noexcept nogil:
        return CLOSED

    cdef int64_t position_limit(self) noexcept nogil:
        cdef int64_t limit = load_acquire_i64(self.limit.value)
        return CLOSED if self.is_closed() or not counter_is_live(&self.limit) else limit

    cdef int64_t available_window(self) noexcept nogil:
        cdef int64_t position = self.position()
        cdef int64_t limit = load_acquire_i64(self.limit.value)
        return CLOSED if self.is_closed() or not counter_is_live(&self.limit) else limit - position

    cdef bint is_closed(self) noexcept nogil:
        return load_acquire_i32(&self._closed) != 0

    cdef void close(self) noexcept nogil:
        store_release_i32(&self._closed, 1)


cdef inline void _value_at(
    const values_t* values, int64_t index, slice_t* value
) noexcept nogil:
    """Find a value of a batch; its length is -1 if its offsets reach outside the data."""
    cdef int64_t start, end
    if values.offsets_i32 != NULL:
        start, end = values.offsets_i32[index], values.offsets_i32[index + 1]
    else:
        start, end = values.offsets_i64[index], values.offsets_i64[index + 1]
    if start < 0 or end < start or end > values.data_length:
        value.address = NULL
        value.length = -1
    else:
        value.address = values.data + start
        value.length = end - start
