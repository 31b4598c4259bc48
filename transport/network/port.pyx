"""Datagram ports and their socket addresses (spec wire-protocol 3).

The subclasses are SocketPort (real sockets), RehearsedPort (disturbances of another port), and the
simulated port of ``aerolog.testing``. The Python methods copy and allocate, so they are for control
paths and tests; the agents' loops call ``send`` and ``receive``.
"""

from libc.errno cimport EBADF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

import os
import socket

from aerolog.transport.errors import ConfigurationError, ResourceClosedError

cdef extern from "<netinet/in.h>" nogil:
    int AF_INET, AF_INET6
    struct in_addr:
        uint32_t s_addr
    struct in6_addr:
        uint8_t s6_addr[16]
    struct sockaddr_in:
        uint16_t sin_family
        uint16_t sin_port
        in_addr sin_addr
    struct sockaddr_in6:
        uint16_t sin6_family
        uint16_t sin6_port
        in6_addr sin6_addr
        uint32_t sin6_scope_id
    uint16_t htons(uint16_t host) noexcept
    uint16_t ntohs(uint16_t net) noexcept

Address = tuple[str, int]


cdef inline bint _is_ipv6(const address_t* address) noexcept nogil:
    return (
        address.length == sizeof(sockaddr_in6)
        and (<const sockaddr_in6*> address.bytes).sin6_family == AF_INET6
    )


cdef inline bint _is_ipv4(const address_t* address) noexcept nogil:
    return (
        address.length == sizeof(sockaddr_in)
        and (<const sockaddr_in*> address.bytes).sin_family == AF_INET
    )


cdef bint same_address(const address_t* left, const address_t* right) noexcept nogil:
    cdef const sockaddr_in6* a = <const sockaddr_in6*> left.bytes
    cdef const sockaddr_in6* b = <const sockaddr_in6*> right.bytes
    if _is_ipv4(left) and _is_ipv4(right):
        return memcmp(left.bytes, right.bytes, 8) == 0  # family, port, host
    if not (_is_ipv6(left) and _is_ipv6(right)):
        return left.length == 0 and right.length == 0
    return (
        a.sin6_port == b.sin6_port
        and a.sin6_scope_id == b.sin6_scope_id
        and memcmp(a.sin6_addr.s6_addr, b.sin6_addr.s6_addr, 16) == 0
    )


cdef bint is_multicast_address(const address_t* address) noexcept nogil:
    if _is_ipv4(address):
        return address.bytes[4] & 0xF0 == 0xE0
    if _is_ipv6(address):
        return (<const sockaddr_in6*> address.bytes).sin6_addr.s6_addr[0] == 0xFF
    return False


cdef int32_t address_port(const address_t* address) noexcept nogil:
    # Both families have the port at the same offset.
    if _is_ipv4(address) or _is_ipv6(address):
        return ntohs((<const sockaddr_in*> address.bytes).sin_port)
    return 0


cdef int64_t address_hash(const address_t* address) noexcept nogil:
    cdef uint64_t value = 14695981039346656037UL
    cdef int32_t last = 8
    cdef int32_t i
    if _is_ipv6(address):
        last = 24
    elif not _is_ipv4(address):
        return 0
    for i in range(last):
        if 4 <= i < 8 and last == 24:
            continue  # the flow label is not part of the identity
        value = (value ^ address.bytes[i]) * 1099511628211UL
    return <int64_t> (value ^ (value >> 32))


cdef int set_address(address_t* address, object host_and_port) except -1:
    memset(address, 0, sizeof(address_t))
    if host_and_port is None:
        return 0
    host, port = host_and_port
    if not 0 <= port <= 65535:
        raise ConfigurationError(f"port out of range: {port} of {host}")
    name, _, scope = host.partition("%")
    try:
        if ":" in name:
            packed = socket.inet_pton(socket.AF_INET6, name)
        else:
            packed = socket.inet_pton(socket.AF_INET, name)
        scope_id = _scope_id(scope) if scope else 0
    except OSError as cause:
        raise ConfigurationError(f"not a numeric address of an interface here: {host}") from cause
    cdef const uint8_t* source = packed
    cdef sockaddr_in* v4 = <sockaddr_in*> address.bytes
    cdef sockaddr_in6* v6 = <sockaddr_in6*> address.bytes
    if len(packed) == 4:
        v4.sin_family = AF_INET
        v4.sin_port = htons(port)
        memcpy(&v4.sin_addr, source, 4)
        address.length = sizeof(sockaddr_in)
    else:
        v6.sin6_family = AF_INET6
        v6.sin6_port = htons(port)
        memcpy(&v6.sin6_addr, source, 16)
        v6.sin6_scope_id = scope_id
        address.length = sizeof(sockaddr_in6)
    return 0


def _scope_id(scope: str) -> int:
    return int(scope) if scope.isdigit() else socket.if_nametoindex(scope)


cdef object address_pair(const address_t* address):
    cdef const sockaddr_in6* v6 = <const sockaddr_in6*> address.bytes
    if _is_ipv4(address):
        host = socket.inet_ntop(socket.AF_INET, (<const char*> address.bytes)[4:8])
        return host, address_port(address)
    if not _is_ipv6(address):
        return None
    host = socket.inet_ntop(socket.AF_INET6, (<const char*> v6.sin6_addr.s6_addr)[:16])
    if v6.sin6_scope_id:
        host = f"{host}%{_scope_name(v6.sin6_scope_id)}"
    return host, address_port(address)


def _scope_name(index: int) -> str:
    try:
        return socket.if_indextoname(index)
    except OSError:  # the interface no longer exists, so its number stands for it
        return str(index)


def normal_address(address: Address) -> Address:
    """Return the address in the form in which ports report it.

    Raises:
        ConfigurationError: if the host is not numeric, or the port is out of range.
    """
    cdef address_t native
    set_address(&native, address)
    return address_pair(&native)


def is_multicast(address: Address) -> bool:
    """Whether the host is in 224/4 or ff00::/8.

    Raises:
        ConfigurationError: if the host is not numeric, or the port is out of range.
    """
    cdef address_t native
    set_address(&native, address)
    return is_multicast_address(&native)


def address_key(address: Address) -> int:
    """Return the key of an address in native tables; equal addresses have equal keys.

    Raises:
        ConfigurationError: if the host is not numeric, or the port is out of range.
    """
    cdef address_t native
    set_address(&native, address)
    return address_hash(&native)


cdef class DatagramPort:
    """Base of ports, which send and receive datagrams; a context manager.

    A port belongs to one thread at a time.
    """

    cdef int send(
        self, const outgoing_t* messages, int count, const address_t* destination
    ) noexcept nogil:
        self.sent_bytes = 0
        return -EBADF

    cdef int receive(self, incoming_t* messages, int count) noexcept nogil:
        return -EBADF

    cdef int reconnect(self, const address_t* remote) noexcept nogil:
        return -EBADF

    cdef int descriptor(self) noexcept nogil:
        return -1

    def connect(self, remote: Address) -> None:
        """Connect to another peer, and receive only from that peer.

        Raises:
            OSError: if there is no route to the peer; the port is then not connected.
        """
        cdef address_t native
        set_address(&native, remote)
        result = self.reconnect(&native)
        if result < 0:
            raise OSError(-result, os.strerror(-result))

    @property
    def ttl(self) -> int:
        """Multicast time to live that was requested, as the socket reports it; 0 for none."""
        return 0

    @property
    def local_address(self) -> Address:
        """Host and port that datagrams for this port are sent to."""
        raise ResourceClosedError("a port without a network has no address")

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return True

    def close(self) -> None:
        """Close the port; further calls do nothing."""

    def __enter__(self) -> DatagramPort:
        return self

    def __exit__(self, exc_type, exc, traceback) -> None:
        self.close()

    def send_datagrams(
        self, datagrams, destination: Address | None = None, segment: int = 0
    ) -> int:
        """Send copies of datagrams, or of runs that are cut into datagrams.

        Args:
            datagrams: datagrams, or with ``segment`` runs of datagrams.
            destination: host and port; None for the connected peer.
            segment: length in bytes of each datagram of a run except the last; 0 for no runs.

        Returns:
            How many were sent whole; 0 if there is no room or no peer is listening now.

        Raises:
            OSError: if the system refuses for another reason.
        """
        cdef address_t target
        cdef list copies = [bytes(datagram) for datagram in datagrams]
        cdef int count = len(copies)
        cdef int32_t segment_length = segment
        cdef outgoing_t* messages
        cdef int i
        cdef int result
        if segment_length < 0:
            raise ConfigurationError(f"segment must not be negative: {segment}")
        set_address(&target, destination)
        messages = <outgoing_t*> calloc(max(count, 1), sizeof(outgoing_t))
        if messages == NULL:
            raise MemoryError
        try:
            for i in range(count):
                messages[i].data = <const uint8_t*> (<bytes> copies[i])
                messages[i].length = len(<bytes> copies[i])
                messages[i].segment = segment_length
            with nogil:
                result = self.send(messages, count, &target if target.length else NULL)
        finally:
            free(messages)
        return _checked(result)

    def receive_datagrams(self, limit: int = BATCH_LIMIT) -> list[tuple[bytes, Address, int]]:
        """Return the datagrams that have arrived as (datagram, source, timestamp), without waiting.

        Runs that the kernel joined are split again. A timestamp is in nanoseconds since the epoch;
        it is 0 if the port was not opened for timestamps.

        Args:
            limit: greatest number of messages (datagrams or joined runs) to receive, 1 to 64.

        Raises:
            OSError: if the system refuses for a reason that is not transient.
        """
        cdef int count = max(1, min(<int> limit, <int> BATCH_LIMIT))
        cdef incoming_t[BATCH_LIMIT] messages
        cdef uint8_t* room = <uint8_t*> calloc(count, RECEIVE_BUFFER_LENGTH)
        cdef int i
        cdef int result
        if room == NULL:
            raise MemoryError
        try:
            for i in range(count):
                messages[i].data = room + <int64_t> i * RECEIVE_BUFFER_LENGTH
                messages[i].capacity = RECEIVE_BUFFER_LENGTH
            with nogil:
                result = self.receive(messages, count)
            found = []
            for i in range(_checked(result)):
                found += _datagrams(&messages[i])
            return found
        finally:
            free(room)


cdef int _checked(int result) except -1:
    if result >= 0:
        return result
    if is_transient(result):
        return 0
    raise OSError(-result, os.strerror(-result))


cdef list _datagrams(const incoming_t* message):
    run = (<const char*> message.data)[:message.length]
    step = message.segment or max(message.length, 1)
    source = address_pair(&message.source)
    return [
        (run[start:start + step], source, message.timestamp_ns)
        for start in range(0, max(message.length, 1), step)
    ]
