"""Ports, which send and receive batches of datagrams by sockets, rehearsals or simulations.

A port belongs to one thread at a time. Native methods raise nothing and allocate nothing.
"""

from libc.errno cimport EAGAIN, ECONNREFUSED, EINTR, ENOBUFS
from libc.stdint cimport int32_t, int64_t, uint8_t

cpdef enum:
    # A buffer of this length holds any datagram, and any run that receive offload joins.
    RECEIVE_BUFFER_LENGTH = 65536
    # A call with more messages than this handles them in several rounds.
    BATCH_LIMIT = 64

# A socket address as the kernel lays it out (sockaddr_in or sockaddr_in6); length 0 means none.
ctypedef struct address_t:
    uint8_t bytes[28]
    int32_t length

# segment 0: one datagram. Otherwise data is a run that is cut into datagrams of that many bytes,
# of which the last may be shorter; what is on the wire is the same with and without offload.
ctypedef struct outgoing_t:
    const uint8_t* data
    int32_t length
    int32_t segment

# The caller gives data and capacity. segment above 0: the kernel joined datagrams of that many
# bytes from one source (the last may be shorter); 0: one datagram. A datagram that did not fit
# has length 0. timestamp_ns is the kernel's (epoch), 0 when not asked for.
ctypedef struct incoming_t:
    uint8_t* data
    int32_t capacity
    int32_t length
    int32_t segment
    address_t source
    int64_t timestamp_ns


cdef class DatagramPort:
    # Bytes that the last send took, with those of a run that was taken in part: always whole
    # datagrams, in order, so that a sender may move on by it.
    cdef int64_t sent_bytes
    # Returns the number of messages sent whole (0 to count), or -errno if nothing was sent. If
    # destination is NULL, the messages go to the connected peer.
    cdef int send(
        self, const outgoing_t* messages, int count, const address_t* destination
    ) noexcept nogil
    # Returns the number of messages filled, 0 if none has arrived, or -errno. A refusal by an
    # earlier peer is no error.
    cdef int receive(self, incoming_t* messages, int count) noexcept nogil
    # Connect the port to another peer; returns 0 or -errno. The local port stays if possible.
    cdef int reconnect(self, const address_t* remote) noexcept nogil
    # The descriptor on which a poller waits; -1 for a port without one, such as a simulated port.
    cdef int descriptor(self) noexcept nogil


# Whether a negative result says "not now" (full buffer, nobody listening yet) rather than
# something that belongs in the error log.
cdef inline bint is_transient(int result) noexcept nogil:
    return (
        result == -EAGAIN
        or result == -EINTR
        or result == -ENOBUFS
        or result == -ECONNREFUSED
    )


# Whether family, host, port and scope are equal.
cdef bint same_address(const address_t* left, const address_t* right) noexcept nogil
cdef bint is_multicast_address(const address_t* address) noexcept nogil
# The port in host order; 0 for no address.
cdef int32_t address_port(const address_t* address) noexcept nogil
# A hash of family, host and port, for tables of destinations.
cdef int64_t address_hash(const address_t* address) noexcept nogil
# From and to (host, port) with a numeric host ("127.0.0.1", "fe80::1%eth0"); the length is 0 for
# None. Raises ConfigurationError for anything else.
cdef int set_address(address_t* address, object host_and_port) except -1
cdef object address_pair(const address_t* address)
