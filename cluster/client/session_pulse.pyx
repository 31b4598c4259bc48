"""Signs of life of a client's session, without the interpreter (spec cluster 8)."""

from libc.stdint cimport int64_t, uint8_t

from aerolog.transport.client.liveness cimport Pulse
from aerolog.transport.client.publication cimport Publication

cdef enum:
    PARTS = 10    # an offer that fails is made again after this part of the interval


cdef class SessionPulse(Pulse):
    """Offers a message to a publication once in an interval, while its client lives.

    The message comes in between those that the program offers, from another thread; so the
    publication has to be one that threads may share.

    Args:
        publication: where the message goes; a closed one takes nothing.
        message: the message.
        interval_ns: between two offers, nanoseconds.
    """

    cdef Publication _publication
    cdef bytes _message
    cdef const uint8_t* _data
    cdef int64_t _length
    cdef int64_t _interval_ns
    cdef int64_t _next_ns

    def __cinit__(
        self, Publication publication not None, bytes message not None, interval_ns: int
    ) -> None:
        if interval_ns <= 0:
            raise ValueError(f"interval_ns={interval_ns} must be positive")
        self._publication = publication
        self._message = message
        self._data = message
        self._length = len(message)
        self._interval_ns = interval_ns

    cdef void beat(self, int64_t now_ns) noexcept nogil:
        if now_ns < self._next_ns:
            return
        if self._publication.appender.append(self._data, self._length, NULL) > 0:
            self._next_ns = now_ns + self._interval_ns
        else:
            self._next_ns = now_ns + self._interval_ns // PARTS
