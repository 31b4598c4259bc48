"""All kinds of poll of one image or publication log (spec log-buffers 19 to 23).

A LogReader belongs to the thread that polls; other threads may call only close(). It writes one
shared word, its position counter, with release stores, and reads from its own copy of the position.
Before it hands over what it read it asks whether the counter still holds the log for it
(docs/decisions/0023).
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport (
    get_i32,
    get_i64,
    get_u16,
    load_acquire_i32,
    load_acquire_i64,
    load_plain_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.logbuffer.assembler cimport (
    ASSEMBLE_MESSAGE,
    ASSEMBLE_NO_MEMORY,
    Assembler,
)
from aerolog.transport.logbuffer.cursor cimport (
    cursor_position,
    cursor_t,
    next_fragment,
    open_cursor,
    step_back,
)
from aerolog.transport.logbuffer.descriptor cimport (
    LogBuffers,
    index_by_position,
    offset_by_position,
)
from aerolog.transport.memory.counter cimport counter_is_live, counter_t
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FLAGS_UNFRAGMENTED,
    FLAG_END,
    FRAME_ALIGNMENT,
    FRAME_PAD,
    RESERVED_VALUE_OFFSET,
    SESSION_ID_OFFSET,
    STREAM_ID_OFFSET,
    TERM_ID_OFFSET,
    TYPE_OFFSET,
    align_frame,
)

# The number of terms that one batch reads at most, because a log that a hostile writer fills with
# padding has no end.
cdef int32_t _MAX_TERMS = 3


cdef int32_t scan_fragments(
    const log_buffer_t* log,
    int64_t position,
    int64_t limit_position,
    fragment_t* fragments,
    int32_t limit,
    int64_t* next_position,
) noexcept nogil:
    cdef cursor_t cursor
    cdef int32_t count = 0
    next_position[0] = position
    if not open_cursor(log, position, limit_position, &cursor):
        return 0
    while count < limit and next_fragment(&cursor, &fragments[count]):
        count += 1
    next_position[0] = cursor_position(&cursor)
    return count


cdef int32_t scan_block(
    const log_buffer_t* log, int64_t position, int64_t length_limit, block_t* block
) noexcept nogil:
    cdef int32_t offset = offset_by_position(log, position)
    cdef int32_t index = index_by_position(log, position)
    cdef const uint8_t* term = log.terms[index]
    cdef int32_t end = offset
    cdef int64_t limit, aligned
    cdef int32_t length
    block.length = 0
    if position < 0 or position % FRAME_ALIGNMENT or length_limit <= 0:
        return 0
    limit = offset + min(length_limit, <int64_t> log.term_length - offset)
    block.is_padding = False
    while end < limit:
        length = load_acquire_i32(term + end)
        aligned = align_frame(length)
        if length < DATA_HEADER_LENGTH or aligned > log.term_length - end:
            break
        if get_u16(term + end + TYPE_OFFSET) == FRAME_PAD:
            if end == offset:
                # A padding frame at the start is a block of its own, however long it is.
                block.is_padding = True
                end += <int32_t> aligned
            break
        if end + aligned > limit:
            break
        end += <int32_t> aligned
    if end > offset:
        block.address = term + offset
        block.offset = offset
        block.length = end - offset
        block.session_id = get_i32(term + offset + SESSION_ID_OFFSET)
        block.term_id = get_i32(term + offset + TERM_ID_OFFSET)
        block.file_offset = <int64_t> index * log.term_length + offset
    return block.length


cdef bint is_valid_position(
    const log_buffer_t* log, int64_t position, int64_t new_position
) noexcept nogil:
    cdef int64_t term_begin = position - offset_by_position(log, position)
    return (
        position <= new_position <= term_begin + log.term_length
        and new_position % FRAME_ALIGNMENT == 0
    )


cdef inline void _fill_columns(
    const columns_t* columns, int64_t index, const fragment_t* message
) noexcept nogil:
    if columns.positions != NULL:
        columns.positions[index] = message.position
    if columns.session_ids != NULL:
        columns.session_ids[index] = get_i32(message.frame + SESSION_ID_OFFSET)
    if columns.stream_ids != NULL:
        columns.stream_ids[index] = get_i32(message.frame + STREAM_ID_OFFSET)
    if columns.reserved_values != NULL:
        columns.reserved_values[index] = get_i64(message.frame + RESERVED_VALUE_OFFSET)


# What polls do for each fragment are functions and not methods, so that the compiler puts them into
# the loops and keeps cursor and counter, whose addresses no call sees, in registers. Both loops and
# `take` ask for themselves whether the log is held: one function for the three costs 4 % of a poll
# of short messages.


cdef inline bint _open(LogReader self, int64_t limit_position, cursor_t* cursor) noexcept nogil:
    """Set a cursor to the reader's position; False when nothing may be read there."""
    return (
        not load_acquire_i32(&self._closed)
        and _holds(self)
        and open_cursor(self.log, self._position, limit_position, cursor)
    )


cdef inline bint _holds(LogReader self) noexcept nogil:
    # Only this reader moves the counter: another value says that the driver took it back.
    return counter_is_live(&self.counter) and (
        load_plain_i64(self.counter.value) == self._position
    )


cdef inline bint _is_whole(const fragment_t* fragment) noexcept nogil:
    return fragment.flags & FLAGS_UNFRAGMENTED == FLAGS_UNFRAGMENTED


cdef inline int _assemble(
    LogReader self, const fragment_t* fragment, fragment_t* message
) noexcept nogil:
    """Take a part of a message from a log that was held before."""
    cdef int taken = self.assembler.add(fragment, message)
    if taken == ASSEMBLE_NO_MEMORY:
        return taken
    if not counter_is_live(&self.counter):
        self.assembler.take_back(fragment)
        return TAKE_LOST
    self.frame_end = fragment.position
    return taken


cdef class LogReader:
    """A consumer of one log, at its own position counter."""

    cdef int bind(
        self, LogBuffers logs, const counter_t* counter, object counter_owner
    ) except -1:
        self.logs = logs
        self.log = &logs.log
        self.counter = counter[0]
        self._counter_owner = counter_owner
        self.assembler = Assembler(self.log.max_message_length)
        self._position = load_acquire_i64(counter.value)
        self.frame_end = self._position
        return 0

    cdef int64_t position(self) noexcept nogil:
        return self._position

    cdef bint holds(self) noexcept nogil:
        return _holds(self)

    cdef bint holds_log(self) noexcept nogil:
        return counter_is_live(&self.counter)

    cdef void advance(self, int64_t position) noexcept nogil:
        cdef bint is_stored
        if position <= self._position:
            return
        is_stored = not load_acquire_i32(&self._closed) and _holds(self)
        # Kept even if the reader was closed during the poll: the fragments were delivered.
        self._position = position
        if is_stored:
            store_release_i64(self.counter.value, position)

    cdef bint is_closed(self) noexcept nogil:
        return load_acquire_i32(&self._closed) != 0

    cdef void close(self) noexcept nogil:
        store_release_i32(&self._closed, 1)

    cdef inline void _step_back(
        self, cursor_t* cursor, const fragment_t* fragment
    ) noexcept nogil:
        step_back(cursor, fragment)
        self.frame_end = cursor_position(cursor)

    cdef int64_t delivered_position(self) noexcept nogil:
        cdef int64_t pending = self.assembler.pending_length()
        if pending < 0:
            return self.frame_end
        # All fragments but the last, which is not there yet, are as long as the mtu.
        return self.frame_end - pending // (self.log.mtu - DATA_HEADER_LENGTH) * self.log.mtu

    cdef int take(
        self, const fragment_t* fragment, fragment_t* message, bint assemble
    ) noexcept nogil:
        if not counter_is_live(&self.counter):
            return TAKE_LOST
        if assemble and not _is_whole(fragment):
            return _assemble(self, fragment, message)
        message[0] = fragment[0]
        self.frame_end = fragment.position
        return ASSEMBLE_MESSAGE

    cdef void settle(self, int64_t taken, int64_t end) noexcept nogil:
        self.advance(end if self.holds() else taken)

    cdef int32_t scan(
        self,
        int64_t limit_position,
        fragment_t* fragments,
        int32_t limit,
        int64_t* next_position,
    ) noexcept nogil:
        next_position[0] = self.position()
        if self.is_closed() or not self.holds():
            return 0
        return scan_fragments(
            self.log, next_position[0], limit_position, fragments, limit, next_position
        )

    cdef int32_t poll(
        self,
        fragment_handler_t handler,
        void* context,
        int32_t limit,
        int64_t limit_position,
        bint assemble,
    ) noexcept nogil:
        cdef counter_t counter = self.counter
        cdef cursor_t cursor
        cdef fragment_t fragment, message
        cdef int64_t end = self._position
        cdef int32_t count = 0
        cdef int taken
        if not _open(self, limit_position, &cursor):
            return 0
        while count < limit and next_fragment(&cursor, &fragment):
            if not counter_is_live(&counter):
                step_back(&cursor, &fragment)
                break
            if not assemble or _is_whole(&fragment):
                self.frame_end = end = fragment.position
                count += 1
                handler(context, &fragment)
                continue
            taken = _assemble(self, &fragment, &message)
            if taken == ASSEMBLE_NO_MEMORY or taken == TAKE_LOST:
                step_back(&cursor, &fragment)
                break
            end = fragment.position
            count += 1
            if taken == ASSEMBLE_MESSAGE:
                handler(context, &message)
        self.settle(end, cursor_position(&cursor))
        return count

    cdef int32_t poll_controlled(
        self,
        controlled_handler_t handler,
        void* context,
        int32_t limit,
        int64_t limit_position,
        bint assemble,
    ) noexcept nogil:
        cdef counter_t counter = self.counter
        cdef cursor_t cursor
        cdef fragment_t fragment, assembled
        cdef const fragment_t* message
        cdef int64_t end = self._position
        cdef int32_t count = 0
        cdef int taken, action
        if not _open(self, limit_position, &cursor):
            return 0
        while count < limit and next_fragment(&cursor, &fragment):
            if not counter_is_live(&counter):
                step_back(&cursor, &fragment)
                break
            if not assemble or _is_whole(&fragment):
                self.frame_end = fragment.position
                message = &fragment
                taken = ASSEMBLE_MESSAGE
            else:
                message = &assembled
                taken = _assemble(self, &fragment, &assembled)
            if taken == ASSEMBLE_NO_MEMORY or taken == TAKE_LOST:
                step_back(&cursor, &fragment)
                break
            action = ACTION_CONTINUE
            if taken == ASSEMBLE_MESSAGE:
                action = handler(context, message)
            if action == ACTION_ABORT:
                if message.is_assembled:
                    self.assembler.cut_back()
                self._step_back(&cursor, &fragment)
                break
            count += 1
            end = fragment.position
            if action == ACTION_BREAK:
                break
            if action == ACTION_COMMIT:
                self.advance(end)
        self.settle(end, cursor_position(&cursor))
        return count

    cdef int64_t peek(
        self,
        int64_t initial_position,
        controlled_handler_t handler,
        void* context,
        int64_t limit_position,
    ) noexcept nogil:
        cdef cursor_t cursor
        cdef fragment_t fragment
        cdef int64_t result = initial_position
        cdef int64_t end = initial_position
        cdef int64_t start
        cdef bint found
        cdef int action
        if self.is_closed() or not is_valid_position(self.log, self._position, initial_position):
            return -1
        if not open_cursor(self.log, initial_position, limit_position, &cursor):
            return initial_position
        while True:
            found = next_fragment(&cursor, &fragment)
            start = cursor_position(&cursor)
            if found:
                start = fragment.position - align_frame(fragment.length)
            if start > end:
                # Padding was skipped: the result is the position after it.
                result = start
            if not found or not self.holds():
                return result
            action = handler(context, &fragment)
            if action == ACTION_ABORT:
                return result
            end = fragment.position
            if fragment.flags & FLAG_END:
                result = end
            if action == ACTION_BREAK:
                return result

    cdef int32_t block(self, int64_t length_limit, block_t* block) noexcept nogil:
        block.length = 0
        if self.is_closed():
            return 0
        if scan_block(self.log, self._position, length_limit, block) > 0 and not self.holds():
            block.length = 0
        return block.length

    cdef int _next_message(
        self, cursor_t* cursor, fragment_t* fragment, fragment_t* message
    ) noexcept nogil:
        """Read the next whole message; *fragment is its last frame.

        Returns 0 if there is no whole message yet, and -1 if memory is exhausted.
        """
        cdef int taken
        while next_fragment(cursor, fragment):
            taken = self.assembler.add(fragment, message)
            if taken == ASSEMBLE_NO_MEMORY:
                step_back(cursor, fragment)
                return -1
            self.frame_end = fragment.position
            if taken == ASSEMBLE_MESSAGE:
                return 1
        return 0

    cdef inline bint _settle_batch(self, const cursor_t* cursor, int64_t whole) noexcept nogil:
        """Advance to the end of a batch that was copied; False if it may be unsound.

        The reader then stands where the last message that is sound ended.
        """
        if self.holds():
            self.advance(cursor_position(cursor))
            return True
        self.assembler.reset()
        self.frame_end = self._position = whole
        return False

    cdef void _put_back(
        self, cursor_t* cursor, const fragment_t* fragment, const fragment_t* message
    ) noexcept nogil:
        """Put a message back that does not fit the caller's memory; the next call returns it."""
        if message.is_assembled:
            self.assembler.cut_back()
        self._step_back(cursor, fragment)

    cdef int64_t read_records(
        self,
        uint8_t* out,
        int64_t record_length,
        int64_t limit,
        const columns_t* columns,
        int64_t* other_length,
    ) noexcept nogil:
        cdef cursor_t cursor
        cdef fragment_t fragment, message
        cdef int64_t count = 0
        cdef int64_t sound = 0
        cdef int64_t whole
        other_length[0] = -1
        for _ in range(_MAX_TERMS):
            if count >= limit or not _open(self, INT64_MAX, &cursor):
                break
            whole = self.delivered_position()
            while count < limit and self._next_message(&cursor, &fragment, &message) == 1:
                if message.length - DATA_HEADER_LENGTH != record_length:
                    other_length[0] = message.length - DATA_HEADER_LENGTH
                    self._put_back(&cursor, &fragment, &message)
                    break
                memcpy(out, message.frame + DATA_HEADER_LENGTH, record_length)
                if columns != NULL:
                    _fill_columns(columns, count, &message)
                out += record_length
                count += 1
            if not self._settle_batch(&cursor, whole):
                other_length[0] = -1
                break
            sound = count
            if other_length[0] >= 0 or cursor.offset < cursor.term_length:
                break
        return sound

    cdef int64_t read_values(
        self,
        uint8_t* data,
        int64_t data_start,
        int64_t data_capacity,
        int32_t* offsets_i32,
        int64_t* offsets_i64,
        int64_t limit,
        const columns_t* columns,
        int64_t* needed,
    ) noexcept nogil:
        cdef cursor_t cursor
        cdef fragment_t fragment, message
        cdef int64_t count = 0
        cdef int64_t end = data_start
        cdef int64_t length
        cdef int64_t sound = 0
        cdef int64_t whole
        needed[0] = -1
        for _ in range(_MAX_TERMS):
            if count >= limit or not _open(self, INT64_MAX, &cursor):
                break
            whole = self.delivered_position()
            while count < limit and self._next_message(&cursor, &fragment, &message) == 1:
                length = message.length - DATA_HEADER_LENGTH
                if length > data_capacity - end:
                    needed[0] = length
                    self._put_back(&cursor, &fragment, &message)
                    break
                memcpy(data + end, message.frame + DATA_HEADER_LENGTH, length)
                end += length
                if columns != NULL:
                    _fill_columns(columns, count, &message)
                count += 1
                if offsets_i32 != NULL:
                    offsets_i32[count] = <int32_t> end
                else:
                    offsets_i64[count] = end
            if not self._settle_batch(&cursor, whole):
                needed[0] = -1
                break
            sound = count
            if needed[0] >= 0 or cursor.offset < cursor.term_length:
                break
        return sound


cdef LogReader log_reader(LogBuffers logs, const counter_t* counter, object counter_owner):
    """A reader at a position counter whose memory `counter_owner` keeps alive."""
    cdef LogReader reader = LogReader.__new__(LogReader)
    reader.bind(logs, counter, counter_owner)
    return reader
