"""A service that sends long messages back without the interpreter."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.cluster.service.client_session cimport ClientSession
from aerolog.cluster.service.native_service cimport (
    MESSAGE_AGAIN,
    MESSAGE_LEFT,
    MESSAGE_TAKEN,
    NativeService,
)


cdef class EchoMessages(NativeService):
    """Sends messages back and counts them; short ones and those of services are left to Python.

    Attributes:
        shortest: messages of fewer bytes are left to ``on_session_message``.
        count: how many messages were sent back.
    """

    cdef public int32_t shortest
    cdef public int64_t count

    def __cinit__(self, *_: object, **__: object) -> None:
        self.shortest = 64

    cdef int on_message(
        self, ClientSession session, int64_t timestamp, const uint8_t* data, int32_t length
    ) noexcept nogil:
        if session is None or length < self.shortest:
            return MESSAGE_LEFT
        if not session.send_bytes(data, length):
            return MESSAGE_AGAIN
        self.count += 1
        return MESSAGE_TAKEN
