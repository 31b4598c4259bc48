"""The base of services whose messages need no interpreter (spec cluster 11)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerolog.cluster.service.client_session cimport ClientSession


cdef class NativeService:
    """Processes messages in native code; by default it leaves them to ``on_session_message``.

    A Cython class overrides ``on_message`` of ``native_service.pxd``. What else comes out of the
    log, and snapshots, are for the methods of ClusteredService, which the service has to be, too.
    """

    cdef int on_message(
        self, ClientSession session, int64_t timestamp, const uint8_t* data, int32_t length
    ) noexcept nogil:
        return MESSAGE_LEFT
