"""Frames between drivers (spec wire-protocol 2): one table of offsets, native readers and writers.

Readers look at no byte beyond the datagram's length and answer False for a frame that does not
hold together. DATA and PAD headers are those of the log, see protocol/frames.pxd for their
offsets and flags. Python code finds the table in the module ``frames`` and the codecs in
``frame_codec``.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
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
    LENGTH_AT = 0
    VERSION_AT = 4
    FLAGS_AT = 5
    TYPE_AT = 6
    COMMON_HEADER_LENGTH = 8
    FRAME_VERSION = 0

    # DATA and PAD (2.2, 2.4)
    DATA_TERM_OFFSET_AT = 8
    DATA_SESSION_ID_AT = 12
    DATA_STREAM_ID_AT = 16
    DATA_TERM_ID_AT = 20
    DATA_RESERVED_AT = 24
    DATA_LENGTH = 32

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

    # SM (2.6); the receiver id is not aligned, the group tag is there when the frame is longer
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

# extension_length: bytes after the fixed part (8: a group tag; anything else only tagged flow
# control cares about); extension: its first 8 bytes, or as many as there are.
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

# text points into the datagram (reader) or at what is to be copied (writer).
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


cdef inline int32_t read_frame_type(const uint8_t* data, int32_t length) noexcept nogil:
    """Type of the first frame, FRAME_INVALID (count it) when it has no sound common header."""
    if length < COMMON_HEADER_LENGTH or data[VERSION_AT] != FRAME_VERSION:
        return FRAME_INVALID
    return get_u16(data + TYPE_AT)


cdef inline bint _holds(const uint8_t* data, int32_t length, int32_t fixed_length) noexcept nogil:
    """Whether a control frame has its fixed part, and ends inside the datagram."""
    cdef int32_t frame_length
    if length < fixed_length:
        return False
    frame_length = get_i32(data + LENGTH_AT)
    return fixed_length <= frame_length <= length


cdef inline void _write_header(
    uint8_t* data, int32_t length, uint8_t flags, uint16_t type
) noexcept nogil:
    put_i32(data + LENGTH_AT, length)
    data[VERSION_AT] = FRAME_VERSION
    data[FLAGS_AT] = flags
    put_u16(data + TYPE_AT, type)


cdef inline bint is_heartbeat(const uint8_t* data, int32_t length) noexcept nogil:
    """A DATA header alone whose frame length is 0 (2.3)."""
    return length == DATA_LENGTH and get_i32(data + LENGTH_AT) == 0


cdef inline bint read_data_header(
    const uint8_t* data, int32_t length, data_header_t* header
) noexcept nogil:
    """The first frame's header; False below 32 bytes. What it claims is not checked here."""
    if length < DATA_LENGTH:
        return False
    header.frame_length = get_i32(data + LENGTH_AT)
    header.flags = data[FLAGS_AT]
    header.type = get_u16(data + TYPE_AT)
    header.term_offset = get_i32(data + DATA_TERM_OFFSET_AT)
    header.session_id = get_i32(data + DATA_SESSION_ID_AT)
    header.stream_id = get_i32(data + DATA_STREAM_ID_AT)
    header.term_id = get_i32(data + DATA_TERM_ID_AT)
    header.reserved_value = get_i64(data + DATA_RESERVED_AT)
    return True


cdef inline int32_t write_data_header(uint8_t* data, const data_header_t* header) noexcept nogil:
    """Writes 32 bytes; a heartbeat is DATA with frame_length 0."""
    _write_header(data, header.frame_length, header.flags, header.type)
    put_i32(data + DATA_TERM_OFFSET_AT, header.term_offset)
    put_i32(data + DATA_SESSION_ID_AT, header.session_id)
    put_i32(data + DATA_STREAM_ID_AT, header.stream_id)
    put_i32(data + DATA_TERM_ID_AT, header.term_id)
    put_i64(data + DATA_RESERVED_AT, header.reserved_value)
    return DATA_LENGTH


cdef inline bint read_setup(const uint8_t* data, int32_t length, setup_t* setup) noexcept nogil:
    if not _holds(data, length, SETUP_LENGTH):
        return False
    setup.flags = data[FLAGS_AT]
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
    message.flags = data[FLAGS_AT]
    message.session_id = get_i32(data + STATUS_SESSION_ID_AT)
    message.stream_id = get_i32(data + STATUS_STREAM_ID_AT)
    message.term_id = get_i32(data + STATUS_TERM_ID_AT)
    message.term_offset = get_i32(data + STATUS_TERM_OFFSET_AT)
    message.window = get_i32(data + STATUS_WINDOW_AT)
    message.receiver_id = get_i64(data + STATUS_RECEIVER_ID_AT)
    extension = get_i32(data + LENGTH_AT) - STATUS_LENGTH
    message.extension_length = extension
    message.group_tag = 0
    if extension > 0:
        memcpy(&message.group_tag, data + STATUS_GROUP_TAG_AT, min(extension, 8))
    return True


cdef inline int32_t write_status_message(
    uint8_t* data, const status_message_t* message
) noexcept nogil:
    """Writes 36 bytes, or 44 with a group tag when extension_length is 8."""
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
    rttm.flags = data[FLAGS_AT]
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
    if not 0 <= text_length <= get_i32(data + LENGTH_AT) - ERROR_LENGTH:
        return False
    error.flags = data[FLAGS_AT]
    error.session_id = get_i32(data + ERROR_SESSION_ID_AT)
    error.stream_id = get_i32(data + ERROR_STREAM_ID_AT)
    error.receiver_id = get_i64(data + ERROR_RECEIVER_ID_AT)
    error.group_tag = get_i64(data + ERROR_GROUP_TAG_AT)
    error.code = get_i32(data + ERROR_CODE_AT)
    error.text = data + ERROR_LENGTH
    error.text_length = min(text_length, <int32_t> ERROR_TEXT_LIMIT)
    return True


cdef inline int32_t write_error(uint8_t* data, const error_t* error) noexcept nogil:
    """Writes up to 1063 bytes; a longer text is cut."""
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
