"""The table of frames.pxd as Python integers, and the native readers and writers for tests."""

from libc.stdint cimport int32_t, uint8_t


def read_frame(datagram: bytes) -> tuple[int, dict[str, int | bytes] | None]:
    """Read the first frame of a datagram with the native readers.

    Returns:
        The frame type (FRAME_INVALID for an unsound common header) and the fields by name. The
        fields are None if the frame is malformed or no native reader exists for its type.
    """
    cdef const uint8_t* data = <const uint8_t*> (<bytes> datagram)
    cdef int32_t length = len(datagram)
    cdef int32_t kind = read_frame_type(data, length)
    cdef data_header_t header
    cdef setup_t setup
    cdef status_message_t message
    cdef nak_t nak
    cdef rttm_t rttm
    cdef error_t error
    cdef response_setup_t response
    fields = None
    if kind in (FRAME_DATA, FRAME_PAD):
        if read_data_header(data, length, &header):
            fields = header
    elif kind == FRAME_SETUP:
        if read_setup(data, length, &setup):
            fields = setup
    elif kind == FRAME_STATUS_MESSAGE:
        if read_status_message(data, length, &message):
            fields = message
    elif kind == FRAME_NAK:
        if read_nak(data, length, &nak):
            fields = nak
    elif kind == FRAME_RTTM:
        if read_rttm(data, length, &rttm):
            fields = rttm
    elif kind == FRAME_ERROR:
        if read_error(data, length, &error):
            fields = _error_fields(&error)
    elif kind == FRAME_RESPONSE_SETUP and read_response_setup(data, length, &response):
        fields = response
    return kind, fields


cdef dict _error_fields(const error_t* error):
    return {
        "flags": error.flags,
        "session_id": error.session_id,
        "stream_id": error.stream_id,
        "receiver_id": error.receiver_id,
        "group_tag": error.group_tag,
        "code": error.code,
        "text": (<const char*> error.text)[:error.text_length],
    }


cdef int32_t _write_known(uint8_t* data, int32_t kind, const uint8_t* source, int32_t length):
    """Read a frame and write it again; -1 if its type has no native reader and writer."""
    cdef setup_t setup
    cdef status_message_t message
    cdef nak_t nak
    cdef rttm_t rttm
    cdef error_t error
    cdef response_setup_t response
    cdef data_header_t header
    if kind in (FRAME_DATA, FRAME_PAD) and read_data_header(source, length, &header):
        return write_data_header(data, &header)
    if kind == FRAME_SETUP and read_setup(source, length, &setup):
        return write_setup(data, &setup)
    if kind == FRAME_STATUS_MESSAGE and read_status_message(source, length, &message):
        return write_status_message(data, &message)
    if kind == FRAME_NAK and read_nak(source, length, &nak):
        return write_nak(data, &nak)
    if kind == FRAME_RTTM and read_rttm(source, length, &rttm):
        return write_rttm(data, &rttm)
    if kind == FRAME_ERROR and read_error(source, length, &error):
        return write_error(data, &error)
    if kind == FRAME_RESPONSE_SETUP and read_response_setup(source, length, &response):
        return write_response_setup(data, &response)
    return -1


def rewrite_frame(datagram: bytes) -> bytes | None:
    """Read a frame natively and encode the result natively; None if it cannot be read."""
    cdef uint8_t[ERROR_LENGTH + ERROR_TEXT_LIMIT] room
    cdef const uint8_t* data = <const uint8_t*> (<bytes> datagram)
    cdef int32_t length = len(datagram)
    cdef int32_t written = _write_known(room, read_frame_type(data, length), data, length)
    return None if written < 0 else (<char*> room)[:written]
