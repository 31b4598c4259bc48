"""Log buffers for native code: the geometry of a mapped log, raw tails and position arithmetic.

This follows spec log-buffers 2, 5, 6 and 11. Term ids and counts wrap at 32 bits; arithmetic that
may wrap is unsigned.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from aerolog.transport.concurrent.atomic cimport (
    cas_i32,
    cas_i64,
    load_acquire_i32,
    load_acquire_i64,
    load_acquire_u8,
    store_release_i32,
    store_release_i64,
    store_release_u8,
)
from aerolog.transport.memory.mapped_file cimport MappedFile
from aerolog.transport.protocol.frames cimport DATA_HEADER_LENGTH, align_frame

cpdef enum:
    PARTITION_COUNT = 3
    LOG_META_LENGTH = 4096

# Offsets in the metadata section of the words that native code uses. The whole table, with the
# words that are written once, is in metadata.py; a test compares the two.
cdef enum:
    META_TAIL_COUNTERS = 0
    META_ACTIVE_TERM_COUNT = 24
    META_END_OF_STREAM_POSITION = 128
    META_IS_CONNECTED = 136
    META_ACTIVE_TRANSPORT_COUNT = 140
    META_DEFAULT_HEADER = 320
    META_IS_REVOKED = 496

# The geometry and addresses of a log. It is filled once, after every value has been checked, never
# changes afterwards, and is valid as long as the LogBuffers (or any view of its file) is alive.
ctypedef struct log_buffer_t:
    uint8_t* terms[3]
    uint8_t* meta
    int64_t max_position        # term_length * 2^31
    int32_t term_length         # power of two, 64 KiB .. 1 GiB
    int32_t term_mask           # term_length - 1
    int32_t position_bits       # log2(term_length)
    int32_t initial_term_id
    int32_t mtu
    int32_t max_payload_length  # payload of an unfragmented message: mtu - 32
    int32_t max_message_length  # min(term_length / 8, 16 MiB)
    int32_t page_size
    int32_t session_id          # from the default header
    int32_t stream_id


cdef class LogBuffers:
    cdef log_buffer_t log
    cdef readonly MappedFile file
    cdef readonly object metadata


cdef inline int32_t wrapping_add(int32_t a, int32_t b) noexcept nogil:
    return <int32_t> (<uint32_t> a + <uint32_t> b)


cdef inline int32_t wrapping_sub(int32_t a, int32_t b) noexcept nogil:
    return <int32_t> (<uint32_t> a - <uint32_t> b)


cdef inline int64_t pack_tail(int32_t term_id, int32_t term_offset) noexcept nogil:
    return <int64_t> ((<uint64_t> <uint32_t> term_id) << 32 | <uint64_t> <uint32_t> term_offset)


cdef inline int32_t tail_term_id(int64_t raw_tail) noexcept nogil:
    return <int32_t> (raw_tail >> 32)


cdef inline int32_t tail_offset(int64_t raw_tail, int32_t term_length) noexcept nogil:
    """Offset of a raw tail; a tail beyond the end of its term counts as the end."""
    cdef int64_t offset = raw_tail & <int64_t> 0xFFFFFFFF
    return <int32_t> offset if offset < term_length else term_length


cdef inline void* tail_address(const log_buffer_t* log, int32_t index) noexcept nogil:
    return log.meta + META_TAIL_COUNTERS + 8 * index


cdef inline int32_t active_term_count(const log_buffer_t* log) noexcept nogil:
    return load_acquire_i32(log.meta + META_ACTIVE_TERM_COUNT)


cdef inline int32_t index_by_term_count(int32_t term_count) noexcept nogil:
    """Partition of a term, always in range: a negative count in a damaged log is read unsigned."""
    return <int32_t> (<uint32_t> term_count % PARTITION_COUNT)


cdef inline int32_t index_by_position(const log_buffer_t* log, int64_t position) noexcept nogil:
    return <int32_t> ((<uint64_t> position >> log.position_bits) % PARTITION_COUNT)


cdef inline int32_t offset_by_position(const log_buffer_t* log, int64_t position) noexcept nogil:
    return <int32_t> (position & log.term_mask)


cdef inline int32_t term_id_by_position(const log_buffer_t* log, int64_t position) noexcept nogil:
    return wrapping_add(<int32_t> (position >> log.position_bits), log.initial_term_id)


cdef inline int64_t term_begin_position(
    const log_buffer_t* log, int32_t term_id
) noexcept nogil:
    return <int64_t> wrapping_sub(term_id, log.initial_term_id) << log.position_bits


cdef inline int64_t compute_position(
    const log_buffer_t* log, int32_t term_id, int64_t term_offset
) noexcept nogil:
    return term_begin_position(log, term_id) + term_offset


cdef inline int64_t framed_length(const log_buffer_t* log, int64_t payload_length) noexcept nogil:
    """Bytes that a message takes in a term, with the headers and alignment of all its frames."""
    cdef int64_t rest
    if payload_length <= log.max_payload_length:
        return align_frame(payload_length + DATA_HEADER_LENGTH)
    rest = payload_length % log.max_payload_length
    return (payload_length // log.max_payload_length) * log.mtu + (
        align_frame(rest + DATA_HEADER_LENGTH) if rest > 0 else 0
    )


cdef inline int64_t producer_position(const log_buffer_t* log) noexcept nogil:
    """Position of a publication's next frame, computed from the shared tail."""
    cdef int32_t count = active_term_count(log)
    cdef int64_t raw = load_acquire_i64(tail_address(log, index_by_term_count(count)))
    return compute_position(log, tail_term_id(raw), tail_offset(raw, log.term_length))


cdef inline bint rotate_log(
    const log_buffer_t* log, int32_t term_count, int32_t term_id
) noexcept nogil:
    """Make the next term the active one; any number of publishers and the driver may help."""
    cdef int32_t next_term_id = wrapping_add(term_id, 1)
    cdef int32_t next_count = wrapping_add(term_count, 1)
    cdef int32_t expected_term_id = wrapping_sub(next_term_id, PARTITION_COUNT)
    cdef void* tail = tail_address(log, index_by_term_count(next_count))
    cdef int64_t raw
    while True:
        raw = load_acquire_i64(tail)
        if tail_term_id(raw) != expected_term_id:
            break
        if cas_i64(tail, raw, pack_tail(next_term_id, 0)):
            break
    return cas_i32(log.meta + META_ACTIVE_TERM_COUNT, term_count, next_count)


cdef inline bint log_is_connected(const log_buffer_t* log) noexcept nogil:
    return load_acquire_i32(log.meta + META_IS_CONNECTED) == 1


cdef inline void set_log_connected(const log_buffer_t* log, bint connected) noexcept nogil:
    store_release_i32(log.meta + META_IS_CONNECTED, 1 if connected else 0)


cdef inline int64_t end_of_stream_position(const log_buffer_t* log) noexcept nogil:
    """Position of the end of the stream; 2^63-1 until the end is known."""
    return load_acquire_i64(log.meta + META_END_OF_STREAM_POSITION)


cdef inline void set_end_of_stream_position(
    const log_buffer_t* log, int64_t position
) noexcept nogil:
    store_release_i64(log.meta + META_END_OF_STREAM_POSITION, position)


cdef inline int32_t active_transport_count(const log_buffer_t* log) noexcept nogil:
    return load_acquire_i32(log.meta + META_ACTIVE_TRANSPORT_COUNT)


cdef inline bint publication_is_revoked(const log_buffer_t* log) noexcept nogil:
    return load_acquire_u8(log.meta + META_IS_REVOKED) == 1


cdef inline void set_publication_revoked(const log_buffer_t* log) noexcept nogil:
    store_release_u8(log.meta + META_IS_REVOKED, 1)
