"""The native interface of services: messages without the interpreter.

A service of one's own is a Cython class that extends NativeService and overrides ``on_message``;
a Python class that extends it and ClusteredService has the rest:

    cdef class EchoMessages(NativeService):
        cdef int on_message(self, ClientSession session, int64_t timestamp,
                            const uint8_t* data, int32_t length) noexcept nogil:
            if session is None or session.send_bytes(data, length):
                return MESSAGE_TAKEN
            return MESSAGE_AGAIN

    class Echo(EchoMessages, ClusteredService):
        ...

``aerolog/testing/echo_service.pyx`` is such a service.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.cluster.service.client_session cimport ClientSession

# What `on_message` answers. The state may have been changed only for MESSAGE_TAKEN.
cdef enum:
    MESSAGE_TAKEN = 0
    MESSAGE_AGAIN = 1     # the same message comes again, in a later cycle
    MESSAGE_LEFT = 2      # it goes to `on_session_message`, in Python


cdef class NativeService:
    # Process a message of a session, or of a service, whose session is None. `data` is there for
    # the call only.
    cdef int on_message(
        self, ClientSession session, int64_t timestamp, const uint8_t* data, int32_t length
    ) noexcept nogil
