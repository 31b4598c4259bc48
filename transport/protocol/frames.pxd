"""The one table of offsets, types and flags of frames in logs, segments and datagrams.

It follows spec log-buffers 4 and spec wire-protocol 2. The native readers, writers and checks are
here too; none of them reads a byte beyond the length that it is given. For Python code, the module
``frames`` has the table, ``frame_header`` the header as a table of fields, and ``frame_codec`` the
codecs.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport (
    get_i32,
    get_i64,
    get_u16,
    put_i32,
    put_i64,
    put_u16,
)

cpdef enum:
    FRAME_PAD = 0x00
    FRAME_DATA = 0x01
    FRAME_NAK = 0x02
    FRAME_STATUS_MESSAGE = 0x03
    FRAME_ERROR = 0x04
    FRAME_SETUP = 0x05
    FRAME_RTTM = 0x06
    FRAME_RESOLUTION = 0x07
    FRAME_RESPONSE_SETUP = 0x0B
    FRAME_EXTENSION = 0xFFFF
    FRAME_INVALID = -1

# Flags of DATA and PAD frames.
cpdef enum:
    FLAG_BEGIN = 0x80
    FLAG_END = 0x40
    FLAGS_UNFRAGMENTED = 0xC0
    FLAG_EOS = 0x20
    FLAG_REVOKED = 0x10

cpdef enum:
    SETUP_FLAG_SEND_RESPONSE = 0x80
    SETUP_FLAG_GROUP = 0x40
    STATUS_FLAG_SETUP = 0x80
    STATUS_FLAG_EOS = 0x40
    RTTM_FLAG_REPLY = 0x80
    ERROR_FLAG_GROUP_TAG = 0x08
    RESOLUTION_FLAG_SELF = 0x80

cpdef enum:
    # Common header (2.1)
    FRAME_LENGTH_OFFSET = 0
    VERSION_OFFSET = 4
    FLAGS_OFFSET = 5
    TYPE_OFFSET = 6
    COMMON_HEADER_LENGTH = 8
    CURRENT_VERSION = 0

    # DATA and PAD (2.2, 2.4)
    TERM_OFFSET_OFFSET = 8
    SESSION_ID_OFFSET = 12
    STREAM_ID_OFFSET = 16
    TERM_ID_OFFSET = 20
    RESERVED_VALUE_OFFSET = 24
    DATA_HEADER_LENGTH = 32
    FRAME_ALIGNMENT = 32
    # The longest DATA frame is as long as the largest mtu.
    FRAME_LENGTH_MAX = 65504

    # SETUP (2.5)
    SETUP_TERM_OFFSET_AT = 8
    SETUP_SESSION_ID_AT = 12
    SETUP_STREAM_ID_AT = 16
    SETUP_INITIAL_TERM_ID_AT = 20
    SETUP_ACTIVE_TERM_ID_AT = 24
    SETUP_TERM_LENGTH_AT = 28
    SETUP_MTU_AT = 32
    SETUP_TTL_AT = 36
    SETUP_LENGTH = 40

    # SM (2.6); the receiver id is not aligned, and only a longer frame has a group tag
    STATUS_SESSION_ID_AT = 8
    STATUS_STREAM_ID_AT = 12
    STATUS_TERM_ID_AT = 16
    STATUS_TERM_OFFSET_AT = 20
    STATUS_WINDOW_AT = 24
    STATUS_RECEIVER_ID_AT = 28
    STATUS_LENGTH = 36
    STATUS_GROUP_TAG_AT = 36
    STATUS_TAGGED_LENGTH = 44

    # NAK (2.7)
    NAK_SESSION_ID_AT = 8
    NAK_STREAM_ID_AT = 12
    NAK_TERM_ID_AT = 16
    NAK_TERM_OFFSET_AT = 20
    NAK_GAP_LENGTH_AT = 24
    NAK_LENGTH = 28

    # RTTM (2.8)
    RTTM_SESSION_ID_AT = 8
    RTTM_STREAM_ID_AT = 12
    RTTM_ECHO_TIMESTAMP_AT = 16
    RTTM_RECEPTION_DELTA_AT = 24
    RTTM_RECEIVER_ID_AT = 32
    RTTM_LENGTH = 40

    # ERR (2.9)
    ERROR_SESSION_ID_AT = 8
    ERROR_STREAM_ID_AT = 12
    ERROR_RECEIVER_ID_AT = 16
    ERROR_GROUP_TAG_AT = 24
    ERROR_CODE_AT = 32
    ERROR_TEXT_LENGTH_AT = 36
    ERROR_LENGTH = 40
    ERROR_TEXT_LIMIT = 1023

    # RSP_SETUP (2.10)
    RESPONSE_SETUP_SESSION_ID_AT = 8
    RESPONSE_SETUP_STREAM_ID_AT = 12
    RESPONSE_SETUP_RESPONSE_SESSION_ID_AT = 16
    RESPONSE_SETUP_LENGTH = 20

    # One entry of RES (2.11); the name length follows the address
    RESOLUTION_TYPE_AT = 0
    RESOLUTION_FLAGS_AT = 1
    RESOLUTION_PORT_AT = 2
    RESOLUTION_AGE_AT = 4
    RESOLUTION_ADDRESS_AT = 8
    RESOLUTION_TYPE_IPV4 = 1
    RESOLUTION_TYPE_IPV6 = 2
    RESOLUTION_NAME_LIMIT = 512

ctypedef struct data_header_t:
    int32_t frame_length
    uint8_t flags
    uint16_t type
    int32_t term_offset
    int32_t session_id
    int32_t stream_id
    int32_t term_id
    int64_t reserved_value

ctypedef struct setup_t:
    uint8_t flags
    int32_t term_offset
    int32_t session_id
    int32_t stream_id
    int32_t initial_term_id
    int32_t active_term_id
    int32_t term_length
    int32_t mtu
    int32_t ttl

# extension_length is the number of bytes after the fixed part: 8 for a group tag; only tagged flow
# control distinguishes other lengths. extension holds their first 8 bytes, or fewer if there are
# fewer.
ctypedef struct status_message_t:
    uint8_t flags
    int32_t session_id
    int32_t stream_id
    int32_t term_id
    int32_t term_offset
    int32_t window
    int64_t receiver_id
    int32_t extension_length
    int64_t group_tag

ctypedef struct nak_t:
    int32_t session_id
    int32_t stream_id
    int32_t term_id
    int32_t term_offset
    int32_t length

ctypedef struct rttm_t:
    uint8_t flags
    int32_t session_id
    int32_t stream_id
    int64_t echo_timestamp_ns
    int64_t reception_delta_ns
    int64_t receiver_id

# text points into the datagram for a reader, and at the text to copy for a writer.
ctypedef struct error_t:
    uint8_t flags
    int32_t session_id
    int32_t stream_id
    int64_t receiver_id
    int64_t group_tag
    int32_t code
    const uint8_t* text
    int32_t text_length

ctypedef struct response_setup_t:
    int32_t session_id
    int32_t stream_id
    int32_t response_session_id


# The results of check_frame and its parts: a frame is sound or has one of these faults.
cdef enum frame_fault:
    FRAME_SOUND = 0
    FRAME_BAD_LENGTH = 1
    FRAME_BAD_TYPE = 2
    FRAME_BAD_TERM_OFFSET = 3
    FRAME_BAD_TERM_ID = 4
    FRAME_BAD_STREAM_ID = 5


cdef inline int64_t align_frame(int64_t length) noexcept nogil:
    """Round a frame length up to the start of the next frame."""
    return (length + (FRAME_ALIGNMENT - 1)) & ~<int64_t> (FRAME_ALIGNMENT - 1)


cdef inline bint frame_fits(int32_t length, int64_t room) noexcept nogil:
    """Whether a frame of this length holds its header, and ends aligned inside the room."""
    return length >= DATA_HEADER_LENGTH and align_frame(length) <= room


cdef inline bint is_stored_type(int kind) noexcept nogil:
    """Whether logs and segments hold frames of this type."""
    return kind == FRAME_DATA or kind == FRAME_PAD


cdef inline bint is_whole_message(const uint8_t* frame) noexcept nogil:
    """Whether a frame is DATA and holds a whole message; one comparison tests flags and type."""
    cdef uint32_t mask = <uint32_t> 0xFFFF0000 | (<uint32_t> FLAGS_UNFRAGMENTED << 8)
    cdef uint32_t whole = (<uint32_t> FRAME_DATA << 16) | (<uint32_t> FLAGS_UNFRAGMENTED << 8)
    return (<uint32_t> get_i32(frame + VERSION_OFFSET)) & mask == whole


cdef inline frame_fault check_place(
    const uint8_t* frame, int64_t term_offset, int32_t term_id, int32_t stream_id
) noexcept nogil:
    """Check that a header's term offset, term id and stream id are those of its place."""
    if get_i32(frame + TERM_OFFSET_OFFSET) != term_offset:
        return FRAME_BAD_TERM_OFFSET
    if get_i32(frame + TERM_ID_OFFSET) != term_id:
        return FRAME_BAD_TERM_ID
    if get_i32(frame + STREAM_ID_OFFSET) != stream_id:
        return FRAME_BAD_STREAM_ID
    return FRAME_SOUND


cdef inline frame_fault check_header(
    const uint8_t* frame,
    int32_t length,
    int64_t term_offset,
    int32_t term_id,
    int32_t stream_id,
    int32_t data_length_max,
) noexcept nogil:
    """Check the header of a frame that fits in its term; its 32 bytes must be readable.

    The caller passes the frame length, so that a reader of shared memory loads it only once, with
    acquire order.
    """
    cdef frame_fault fault
    cdef int kind = get_u16(frame + TYPE_OFFSET)
    if not is_stored_type(kind):
        return FRAME_BAD_TYPE
    fault = check_place(frame, term_offset, term_id, stream_id)
    if fault == FRAME_SOUND and kind == FRAME_DATA and length > data_length_max:
        return FRAME_BAD_LENGTH
    return fault


cdef inline frame_fault check_frame(
    const uint8_t* frame,
    int32_t length,
    int64_t term_length,
    int64_t term_offset,
    int32_t term_id,
    int32_t stream_id,
    int32_t data_length_max,
) noexcept nogil:
    """Check that a frame fits in its term and that its header belongs at its place."""
    if not frame_fits(length, term_length - term_offset):
        return FRAME_BAD_LENGTH
    return check_header(frame, length, term_offset, term_id, stream_id, data_length_max)


cdef inline int32_t read_frame_type(const uint8_t* data, int32_t length) noexcept nogil:
    """Type of the first frame, or FRAME_INVALID if its common header is unsound.

    The caller counts invalid frames.
    """
    if length < COMMON_HEADER_LENGTH or data[VERSION_OFFSET] != CURRENT_VERSION:
        return FRAME_INVALID
    return get_u16(data + TYPE_OFFSET)


cdef inline bint _holds(const uint8_t* data, int32_t length, int32_t fixed_length) noexcept nogil:
    """Whether a control frame contains its fixed part and ends inside the datagram."""
    cdef int32_t frame_length
    if length < fixed_length:
        return False
    frame_length = get_i32(data + FRAME_LENGTH_OFFSET)
    return fixed_length <= frame_length <= length


cdef inline void _write_header(
    uint8_t* data, int32_t length, uint8_t flags, uint16_t type
) noexcept nogil:
    put_i32(data + FRAME_LENGTH_OFFSET, length)
    data[VERSION_OFFSET] = CURRENT_VERSION
    data[FLAGS_OFFSET] = flags
    put_u16(data + TYPE_OFFSET, type)


cdef inline bint is_heartbeat(const uint8_t* data, int32_t length) noexcept nogil:
    """Whether a frame is a heartbeat: a DATA header alone with frame length 0 (2.3)."""
    return length == DATA_HEADER_LENGTH and get_i32(data + FRAME_LENGTH_OFFSET) == 0


cdef inline bint read_data_header(
    const uint8_t* data, int32_t length, data_header_t* header
) noexcept nogil:
    """Read the first frame's header without checking its values; False below 32 bytes."""
    if length < DATA_HEADER_LENGTH:
        return False
    header.frame_length = get_i32(data + FRAME_LENGTH_OFFSET)
    header.flags = data[FLAGS_OFFSET]
    header.type = get_u16(data + TYPE_OFFSET)
    header.term_offset = get_i32(data + TERM_OFFSET_OFFSET)
    header.session_id = get_i32(data + SESSION_ID_OFFSET)
    header.stream_id = get_i32(data + STREAM_ID_OFFSET)
    header.term_id = get_i32(data + TERM_ID_OFFSET)
    header.reserved_value = get_i64(data + RESERVED_VALUE_OFFSET)
    return True


cdef inline int32_t write_data_header(uint8_t* data, const data_header_t* header) noexcept nogil:
    """Write a header of 32 bytes; a heartbeat is DATA with frame_length 0."""
    _write_header(data, header.frame_length, header.flags, header.type)
    put_i32(data + TERM_OFFSET_OFFSET, header.term_offset)
    put_i32(data + SESSION_ID_OFFSET, header.session_id)
    put_i32(data + STREAM_ID_OFFSET, header.stream_id)
    put_i32(data + TERM_ID_OFFSET, header.term_id)
    put_i64(data + RESERVED_VALUE_OFFSET, header.reserved_value)
    return DATA_HEADER_LENGTH


cdef inline bint read_setup(const uint8_t* data, int32_t length, setup_t* setup) noexcept nogil:
    if not _holds(data, length, SETUP_LENGTH):
        return False
    setup.flags = data[FLAGS_OFFSET]
    setup.term_offset = get_i32(data + SETUP_TERM_OFFSET_AT)
    setup.session_id = get_i32(data + SETUP_SESSION_ID_AT)
    setup.stream_id = get_i32(data + SETUP_STREAM_ID_AT)
    setup.initial_term_id = get_i32(data + SETUP_INITIAL_TERM_ID_AT)
    setup.active_term_id = get_i32(data + SETUP_ACTIVE_TERM_ID_AT)
    setup.term_length = get_i32(data + SETUP_TERM_LENGTH_AT)
    setup.mtu = get_i32(data + SETUP_MTU_AT)
    setup.ttl = get_i32(data + SETUP_TTL_AT)
    return True


cdef inline int32_t write_setup(uint8_t* data, const setup_t* setup) noexcept nogil:
    _write_header(data, SETUP_LENGTH, setup.flags, FRAME_SETUP)
    put_i32(data + SETUP_TERM_OFFSET_AT, setup.term_offset)
    put_i32(data + SETUP_SESSION_ID_AT, setup.session_id)
    put_i32(data + SETUP_STREAM_ID_AT, setup.stream_id)
    put_i32(data + SETUP_INITIAL_TERM_ID_AT, setup.initial_term_id)
    put_i32(data + SETUP_ACTIVE_TERM_ID_AT, setup.active_term_id)
    put_i32(data + SETUP_TERM_LENGTH_AT, setup.term_length)
    put_i32(data + SETUP_MTU_AT, setup.mtu)
    put_i32(data + SETUP_TTL_AT, setup.ttl)
    return SETUP_LENGTH


cdef inline bint read_status_message(
    const uint8_t* data, int32_t length, status_message_t* message
) noexcept nogil:
    cdef int32_t extension
    if not _holds(data, length, STATUS_LENGTH):
        return False
    message.flags = data[FLAGS_OFFSET]
    message.session_id = get_i32(data + STATUS_SESSION_ID_AT)
    message.stream_id = get_i32(data + STATUS_STREAM_ID_AT)
    message.term_id = get_i32(data + STATUS_TERM_ID_AT)
    message.term_offset = get_i32(data + STATUS_TERM_OFFSET_AT)
    message.window = get_i32(data + STATUS_WINDOW_AT)
    message.receiver_id = get_i64(data + STATUS_RECEIVER_ID_AT)
    extension = get_i32(data + FRAME_LENGTH_OFFSET) - STATUS_LENGTH
    message.extension_length = extension
    message.group_tag = 0
    if extension > 0:
        memcpy(&message.group_tag, data + STATUS_GROUP_TAG_AT, min(extension, 8))
    return True


cdef inline int32_t write_status_message(
    uint8_t* data, const status_message_t* message
) noexcept nogil:
    """Write a status message: 36 bytes, or 44 with a group tag if extension_length is 8."""
    cdef bint tagged = message.extension_length == 8
    cdef int32_t length = STATUS_TAGGED_LENGTH if tagged else STATUS_LENGTH
    _write_header(data, length, message.flags, FRAME_STATUS_MESSAGE)
    put_i32(data + STATUS_SESSION_ID_AT, message.session_id)
    put_i32(data + STATUS_STREAM_ID_AT, message.stream_id)
    put_i32(data + STATUS_TERM_ID_AT, message.term_id)
    put_i32(data + STATUS_TERM_OFFSET_AT, message.term_offset)
    put_i32(data + STATUS_WINDOW_AT, message.window)
    put_i64(data + STATUS_RECEIVER_ID_AT, message.receiver_id)
    if tagged:
        put_i64(data + STATUS_GROUP_TAG_AT, message.group_tag)
    return length


cdef inline bint read_nak(const uint8_t* data, int32_t length, nak_t* nak) noexcept nogil:
    if not _holds(data, length, NAK_LENGTH):
        return False
    nak.session_id = get_i32(data + NAK_SESSION_ID_AT)
    nak.stream_id = get_i32(data + NAK_STREAM_ID_AT)
    nak.term_id = get_i32(data + NAK_TERM_ID_AT)
    nak.term_offset = get_i32(data + NAK_TERM_OFFSET_AT)
    nak.length = get_i32(data + NAK_GAP_LENGTH_AT)
    return True


cdef inline int32_t write_nak(uint8_t* data, const nak_t* nak) noexcept nogil:
    _write_header(data, NAK_LENGTH, 0, FRAME_NAK)
    put_i32(data + NAK_SESSION_ID_AT, nak.session_id)
    put_i32(data + NAK_STREAM_ID_AT, nak.stream_id)
    put_i32(data + NAK_TERM_ID_AT, nak.term_id)
    put_i32(data + NAK_TERM_OFFSET_AT, nak.term_offset)
    put_i32(data + NAK_GAP_LENGTH_AT, nak.length)
    return NAK_LENGTH


cdef inline bint read_rttm(const uint8_t* data, int32_t length, rttm_t* rttm) noexcept nogil:
    if not _holds(data, length, RTTM_LENGTH):
        return False
    rttm.flags = data[FLAGS_OFFSET]
    rttm.session_id = get_i32(data + RTTM_SESSION_ID_AT)
    rttm.stream_id = get_i32(data + RTTM_STREAM_ID_AT)
    rttm.echo_timestamp_ns = get_i64(data + RTTM_ECHO_TIMESTAMP_AT)
    rttm.reception_delta_ns = get_i64(data + RTTM_RECEPTION_DELTA_AT)
    rttm.receiver_id = get_i64(data + RTTM_RECEIVER_ID_AT)
    return True


cdef inline int32_t write_rttm(uint8_t* data, const rttm_t* rttm) noexcept nogil:
    _write_header(data, RTTM_LENGTH, rttm.flags, FRAME_RTTM)
    put_i32(data + RTTM_SESSION_ID_AT, rttm.session_id)
    put_i32(data + RTTM_STREAM_ID_AT, rttm.stream_id)
    put_i64(data + RTTM_ECHO_TIMESTAMP_AT, rttm.echo_timestamp_ns)
    put_i64(data + RTTM_RECEPTION_DELTA_AT, rttm.reception_delta_ns)
    put_i64(data + RTTM_RECEIVER_ID_AT, rttm.receiver_id)
    return RTTM_LENGTH


cdef inline bint read_error(const uint8_t* data, int32_t length, error_t* error) noexcept nogil:
    cdef int32_t text_length
    if not _holds(data, length, ERROR_LENGTH):
        return False
    text_length = get_i32(data + ERROR_TEXT_LENGTH_AT)
    if not 0 <= text_length <= get_i32(data + FRAME_LENGTH_OFFSET) - ERROR_LENGTH:
        return False
    error.flags = data[FLAGS_OFFSET]
    error.session_id = get_i32(data + ERROR_SESSION_ID_AT)
    error.stream_id = get_i32(data + ERROR_STREAM_ID_AT)
    error.receiver_id = get_i64(data + ERROR_RECEIVER_ID_AT)
    error.group_tag = get_i64(data + ERROR_GROUP_TAG_AT)
    error.code = get_i32(data + ERROR_CODE_AT)
    error.text = data + ERROR_LENGTH
    error.text_length = min(text_length, <int32_t> ERROR_TEXT_LIMIT)
    return True


cdef inline int32_t write_error(uint8_t* data, const error_t* error) noexcept nogil:
    """Write an ERR frame of at most 1063 bytes; a longer text is truncated."""
    cdef int32_t text_length = max(0, min(error.text_length, <int32_t> ERROR_TEXT_LIMIT))
    _write_header(data, ERROR_LENGTH + text_length, error.flags, FRAME_ERROR)
    put_i32(data + ERROR_SESSION_ID_AT, error.session_id)
    put_i32(data + ERROR_STREAM_ID_AT, error.stream_id)
    put_i64(data + ERROR_RECEIVER_ID_AT, error.receiver_id)
    put_i64(data + ERROR_GROUP_TAG_AT, error.group_tag)
    put_i32(data + ERROR_CODE_AT, error.code)
    put_i32(data + ERROR_TEXT_LENGTH_AT, text_length)
    memcpy(data + ERROR_LENGTH, error.text, text_length)
    return ERROR_LENGTH + text_length


cdef inline bint read_response_setup(
    const uint8_t* data, int32_t length, response_setup_t* setup
) noexcept nogil:
    if not _holds(data, length, RESPONSE_SETUP_LENGTH):
        return False
    setup.session_id = get_i32(data + RESPONSE_SETUP_SESSION_ID_AT)
    setup.stream_id = get_i32(data + RESPONSE_SETUP_STREAM_ID_AT)
    setup.response_session_id = get_i32(data + RESPONSE_SETUP_RESPONSE_SESSION_ID_AT)
    return True


cdef inline int32_t write_response_setup(
    uint8_t* data, const response_setup_t* setup
) noexcept nogil:
    _write_header(data, RESPONSE_SETUP_LENGTH, 0, FRAME_RESPONSE_SETUP)
    put_i32(data + RESPONSE_SETUP_SESSION_ID_AT, setup.session_id)
    put_i32(data + RESPONSE_SETUP_STREAM_ID_AT, setup.stream_id)
    put_i32(data + RESPONSE_SETUP_RESPONSE_SESSION_ID_AT, setup.response_session_id)
    return RESPONSE_SETUP_LENGTH
