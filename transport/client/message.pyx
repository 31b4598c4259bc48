"""Headers and messages as values, which do not refer to a log."""

from enum import IntEnum

from libc.stdint cimport uint8_t

from aerolog.transport.concurrent.atomic cimport get_i32, get_i64, get_u16
from aerolog.transport.logbuffer.fragment cimport fragment_t
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    RESERVED_VALUE_OFFSET,
    SESSION_ID_OFFSET,
    STREAM_ID_OFFSET,
    TERM_ID_OFFSET,
    TERM_OFFSET_OFFSET,
    TYPE_OFFSET,
    VERSION_OFFSET,
)

from cpython.bytes cimport PyBytes_FromStringAndSize


class Action(IntEnum):
    """What a controlled handler tells the poll; None counts as CONTINUE (spec log-buffers 20)."""

    ABORT = 1
    BREAK = 2
    COMMIT = 3
    CONTINUE = 4


cdef class Header:
    """A message's header: values, so it may be kept and pickled (spec log-buffers 22).

    Of an assembled message: the first fragment's fields, the whole length, BEGIN and END flags,
    and the position after its last fragment.
    """

    cdef void fill(self, const fragment_t* message) noexcept:
        cdef const uint8_t* frame = message.frame
        self.position = message.position
        self.frame_length = message.length
        self.flags = message.flags
        self.version = frame[VERSION_OFFSET]
        self.type = get_u16(frame + TYPE_OFFSET)
        self.term_offset = get_i32(frame + TERM_OFFSET_OFFSET)
        self.session_id = get_i32(frame + SESSION_ID_OFFSET)
        self.stream_id = get_i32(frame + STREAM_ID_OFFSET)
        self.term_id = get_i32(frame + TERM_ID_OFFSET)
        self.reserved_value = get_i64(frame + RESERVED_VALUE_OFFSET)

    @property
    def payload_length(self) -> int:
        """Bytes of the message without its header."""
        return self.frame_length - DATA_HEADER_LENGTH

    def _values(self) -> tuple:
        return (
            self.position, self.reserved_value, self.frame_length, self.term_offset,
            self.session_id, self.stream_id, self.term_id, self.initial_term_id,
            self.position_bits_to_shift, self.type, self.version, self.flags,
        )

    def __reduce__(self):
        return _restore_header, self._values()

    def __eq__(self, other):
        return isinstance(other, Header) and self._values() == (<Header> other)._values()

    def __hash__(self):
        return hash(self._values())

    def __repr__(self):
        return (
            f"Header(position={self.position}, session_id={self.session_id}, "
            f"stream_id={self.stream_id}, payload_length={self.payload_length}, "
            f"flags={self.flags:#04x}, reserved_value={self.reserved_value})"
        )


def _restore_header(*values):
    cdef Header header = Header.__new__(Header)
    (
        header.position, header.reserved_value, header.frame_length, header.term_offset,
        header.session_id, header.stream_id, header.term_id, header.initial_term_id,
        header.position_bits_to_shift, header.type, header.version, header.flags,
    ) = values
    return header


cdef class Message:
    """A message with its payload copied; values only, so it may be kept and pickled."""

    def __cinit__(self):
        self.data = b""

    def __bytes__(self):
        return self.data

    def __len__(self):
        return len(self.data)

    def _values(self) -> tuple:
        return (
            self.data, self.position, self.reserved_value, self.session_id, self.stream_id,
            self.term_id, self.term_offset, self.flags,
        )

    def __reduce__(self):
        return _restore_message, self._values()

    def __eq__(self, other):
        return isinstance(other, Message) and self._values() == (<Message> other)._values()

    def __hash__(self):
        return hash(self._values())

    def __repr__(self):
        shown = repr(self.data) if len(self.data) <= 32 else f"{self.data[:32]!r}..."
        return (
            f"Message({shown}, length={len(self.data)}, position={self.position}, "
            f"session_id={self.session_id}, stream_id={self.stream_id}, "
            f"reserved_value={self.reserved_value})"
        )


def _restore_message(*values):
    cdef Message message = Message.__new__(Message)
    (
        message.data, message.position, message.reserved_value, message.session_id,
        message.stream_id, message.term_id, message.term_offset, message.flags,
    ) = values
    return message


cdef Message copy_message(const fragment_t* found):
    cdef Message message = Message.__new__(Message)
    cdef const uint8_t* frame = found.frame
    message.data = PyBytes_FromStringAndSize(
        <const char*> frame + DATA_HEADER_LENGTH, found.length - DATA_HEADER_LENGTH
    )
    message.position = found.position
    message.flags = found.flags
    message.term_offset = get_i32(frame + TERM_OFFSET_OFFSET)
    message.session_id = get_i32(frame + SESSION_ID_OFFSET)
    message.stream_id = get_i32(frame + STREAM_ID_OFFSET)
    message.term_id = get_i32(frame + TERM_ID_OFFSET)
    message.reserved_value = get_i64(frame + RESERVED_VALUE_OFFSET)
    return message
