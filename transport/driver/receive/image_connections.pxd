"""The sources of an image, one for each transport (spec wire-protocol 9.5), for native code."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.driver.receive.receive_transport cimport TransportSet
from aerolog.transport.network.port cimport address_t

ctypedef struct connection_t:
    bint is_open
    bint has_ended
    int64_t last_activity_ns
    int64_t last_frame_ns
    int64_t end_position
    address_t control


cdef class ImageConnections:
    cdef TransportSet _transports
    cdef connection_t* _connections
    cdef int32_t _capacity
    cdef int32_t _count                 # of open connections
    cdef connection_t* _find(self, int32_t index) noexcept nogil
    cdef connection_t* _open(
        self, int32_t index, const address_t* control, int64_t now_ns
    ) noexcept nogil
    # A connection that exists stays as it is.
    cdef void ensure(self, int32_t index, const address_t* control, int64_t now_ns) noexcept nogil
    cdef void drop(self, int32_t index) noexcept nogil
    # Notes a frame that counts as activity of its source.
    cdef void heard(
        self, int32_t index, const address_t* source, int64_t now_ns
    ) noexcept nogil
    cdef void end_at(self, int32_t index, int64_t position) noexcept nogil
    cdef bint are_all_ended(self) noexcept nogil
    cdef int64_t last_end_position(self) noexcept nogil
    # The address for frames to the source, or NULL when nothing is sent through that transport.
    cdef const address_t* target(self, int32_t index, int64_t now_ns) noexcept nogil
    cdef int32_t slot_limit(self) noexcept nogil
    cdef int32_t count_active(self, int64_t now_ns, int64_t timeout_ns) noexcept nogil
