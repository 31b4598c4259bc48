"""Reading of a log from a position counter on (spec log-buffers 19 to 22), without the GIL.

Every length is read once, checked against the term, and kept in the fragment: a hostile writer that
changes a frame afterwards can damage its content but no bound.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.transport.logbuffer.assembler cimport Assembler
from aerolog.transport.logbuffer.cursor cimport cursor_t
from aerolog.transport.logbuffer.descriptor cimport LogBuffers, log_buffer_t
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.memory.counter cimport counter_t

cdef enum:
    ACTION_ABORT = 1
    ACTION_BREAK = 2
    ACTION_COMMIT = 3
    ACTION_CONTINUE = 4

cdef enum:
    TAKE_LOST = -2      # the counter is gone: the bytes may be overwritten, nothing was taken

# A run of whole frames for blockPoll and rawPoll.
ctypedef struct block_t:
    const uint8_t* address
    int32_t offset          # offset in its term
    int32_t length          # aligned; > 0 when there is a block
    int32_t session_id
    int32_t term_id
    bint is_padding
    int64_t file_offset     # in the log file

# Columns filled with a batch; any may be NULL. Each needs one entry for every message requested.
ctypedef struct columns_t:
    int64_t* positions
    int32_t* session_ids
    int32_t* stream_ids
    int64_t* reserved_values

ctypedef void (*fragment_handler_t)(void* context, const fragment_t* fragment) noexcept nogil
ctypedef int (*controlled_handler_t)(void* context, const fragment_t* fragment) noexcept nogil

# Find at most `limit` data frames from `position` on, up to the end of the term or the first frame
# that starts at or after `limit_position` (2^63-1 for no limit). Padding is skipped. *next_position
# is where the scan ended. Returns how many fragments were filled in.
cdef int32_t scan_fragments(
    const log_buffer_t* log,
    int64_t position,
    int64_t limit_position,
    fragment_t* fragments,
    int32_t limit,
    int64_t* next_position,
) noexcept nogil

# Find the frames for a block poll; fills in *block and returns its length (0: nothing to read).
cdef int32_t scan_block(
    const log_buffer_t* log, int64_t position, int64_t length_limit, block_t* block
) noexcept nogil

# Whether a consumer at `position` may move to `new_position` or peek from it (spec log-buffers 20).
cdef bint is_valid_position(
    const log_buffer_t* log, int64_t position, int64_t new_position
) noexcept nogil


cdef class LogReader:
    cdef readonly LogBuffers logs
    cdef const log_buffer_t* log
    cdef counter_t counter          # the position, for the driver to see
    cdef object _counter_owner
    cdef readonly Assembler assembler
    cdef int32_t _closed
    cdef int64_t _position          # the polling thread writes it, before the counter
    cdef int64_t frame_end          # after the last data frame consumed: before padding behind it
    cdef int bind(
        self, LogBuffers logs, const counter_t* counter, object counter_owner
    ) except -1
    # The position of the reader; after close it is the one after the last fragment consumed.
    cdef int64_t position(self) noexcept nogil
    # Advance to a position; the counter is stored (release) unless the reader is closed or the
    # counter is gone.
    cdef void advance(self, int64_t position) noexcept nogil
    # Whether the driver keeps the log behind the position for this reader. After the end of the
    # client it does not: the bytes may be overwritten, and the counter be another's. So it is asked
    # after bytes were read, and before they are used.
    cdef bint holds(self) noexcept nogil
    # The same without a look at the value, for the time in which a scan is used.
    cdef bint holds_log(self) noexcept nogil
    # The position after the last whole message that was taken, before padding.
    cdef int64_t delivered_position(self) noexcept nogil
    # Take one fragment of a scan: an ASSEMBLE_ value, for *message to be used at once, or else
    # TAKE_LOST.
    cdef int take(
        self, const fragment_t* fragment, fragment_t* message, bint assemble
    ) noexcept nogil
    # Advance to the end of a scan; if the counter is gone, only to the end of what was taken.
    cdef void settle(self, int64_t taken, int64_t end) noexcept nogil
    cdef bint is_closed(self) noexcept nogil
    cdef void close(self) noexcept nogil
    # Scan without moving the counter, for callers that run handlers themselves and then advance;
    # they ask `holds` before each.
    cdef int32_t scan(
        self,
        int64_t limit_position,
        fragment_t* fragments,
        int32_t limit,
        int64_t* next_position,
    ) noexcept nogil
    # Poll with native handlers; `assemble` joins the fragments of a message first.
    cdef int32_t poll(
        self,
        fragment_handler_t handler,
        void* context,
        int32_t limit,
        int64_t limit_position,
        bint assemble,
    ) noexcept nogil
    cdef int32_t poll_controlled(
        self,
        controlled_handler_t handler,
        void* context,
        int32_t limit,
        int64_t limit_position,
        bint assemble,
    ) noexcept nogil
    cdef int64_t peek(
        self,
        int64_t initial_position,
        controlled_handler_t handler,
        void* context,
        int64_t limit_position,
    ) noexcept nogil
    # Find a block; the caller advances by block.length after it has used the block. One that copies
    # it asks `holds` once more before it relies on the copy.
    cdef int32_t block(self, int64_t length_limit, block_t* block) noexcept nogil
    # Copy at most `limit` whole messages of exactly `record_length` bytes to `out`; stops before
    # the first message of another length, which is stored in *other_length (else -1).
    cdef int64_t read_records(
        self,
        uint8_t* out,
        int64_t record_length,
        int64_t limit,
        const columns_t* columns,
        int64_t* other_length,
    ) noexcept nogil
    # Copy whole messages to `data` from data_start on, and store the end of each in offsets[1..]
    # (offsets[0] is the caller's); stops before the first that does not fit into data_capacity,
    # whose length is stored in *needed (else -1). Exactly one of the two offset arrays is given.
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
    ) noexcept nogil
    cdef void _step_back(self, cursor_t* cursor, const fragment_t* fragment) noexcept nogil
    cdef int _next_message(
        self, cursor_t* cursor, fragment_t* fragment, fragment_t* message
    ) noexcept nogil
    cdef bint _settle_batch(self, const cursor_t* cursor, int64_t whole) noexcept nogil
    cdef void _put_back(
        self, cursor_t* cursor, const fragment_t* fragment, const fragment_t* message
    ) noexcept nogil


cdef LogReader log_reader(LogBuffers logs, const counter_t* counter, object counter_owner)
