from aerolog.transport.network.port cimport DatagramPort, address_t, incoming_t, outgoing_t


cdef class SocketPort(DatagramPort):
    # The same descriptor twice, but for a multicast sender: its control group has its own socket.
    cdef int _send_fd
    cdef int _receive_fd
    cdef bint _segmentation
    cdef bint _coalescing
    cdef bint _timestamps
    cdef int _ttl
    cdef int _likely            # messages to make room for in the next call
    cdef int _send_round(
        self,
        const outgoing_t* messages,
        int count,
        int* index,
        int* offset,
        const address_t* destination,
    ) noexcept nogil
    cdef int _receive_round(self, incoming_t* messages, int count) noexcept nogil
    cdef void _close_descriptors(self) noexcept
