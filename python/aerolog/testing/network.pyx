"""A network in memory: hosts, links that lose and delay, and time that moves when told to.

Ports of it are datagram ports like those of real sockets, so the same agents run on them. All
chance comes from one seed and all time from one clock: the same calls give the same deliveries.
A simulation belongs to one thread.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.errno cimport EADDRINUSE, EADDRNOTAVAIL, EBADF, ECONNREFUSED, EMSGSIZE, ENOTCONN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.network.port cimport (
    DatagramPort,
    address_pair,
    address_port,
    address_t,
    incoming_t,
    is_multicast_address,
    outgoing_t,
    same_address,
    set_address,
)

import os

from aerolog.transport.errors import ConfigurationError, ResourceClosedError

from ipaddress import IPv4Address, IPv6Address, ip_address

from aerolog.transport.network.interfaces import InterfaceAddress, NetworkInterface
from aerolog.transport.network.port import Address
from aerolog.transport.network.socket_limits import SocketLimits

cdef enum:
    HOST_LIMIT = 32
    DATAGRAM_LIMIT = 65507
    FIRST_EPHEMERAL_PORT = 32768
    LAST_PORT = 65535

cdef struct packet_t:
    packet_t* next
    int64_t due_ns
    int64_t order
    address_t source
    int32_t length

cdef struct link_t:
    double loss
    double duplicate
    double reorder
    int64_t reorder_ns
    int64_t delay_ns
    int64_t jitter_ns
    bint cut


cdef inline uint64_t _mix(uint64_t value) noexcept nogil:
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9UL
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBUL
    return value ^ (value >> 31)


cdef class FakeNetwork:
    """Hosts and the links between them.

    Args:
        clock: moves deliveries on; usually a ManualClock.
        seed: of every loss, duplicate, delay and reordering.

    Attributes:
        sent: datagrams that ports took.
        delivered: datagrams that were put into a port's queue, duplicates included.
        lost: dropped by a link's ``loss``.
        cut: dropped by a partition.
        duplicated: delivered once more.
        reordered: held back so that later ones overtake.
        unheard: sent where nobody listens.
        overflowed: dropped because a port's queue was full.
        names: addresses by host name, for all hosts.
        tap: called with source, destination, bytes and fate (sent, twice, lost or cut) of every
            datagram; None for nobody.
        fingerprint: of everything that happened so far; equal runs have equal ones.
    """

    cdef readonly int64_t sent
    cdef readonly int64_t delivered
    cdef readonly int64_t lost
    cdef readonly int64_t cut
    cdef readonly int64_t duplicated
    cdef readonly int64_t reordered
    cdef readonly int64_t unheard
    cdef readonly int64_t overflowed
    cdef readonly uint64_t fingerprint
    cdef readonly dict names
    cdef public object tap
    cdef Clock _clock
    cdef uint64_t _random
    cdef int64_t _order
    cdef list _hosts
    cdef list _ports
    cdef link_t[HOST_LIMIT * HOST_LIMIT] _links

    def __init__(self, clock: Clock, seed: int = 0) -> None:
        self._clock = clock
        self._random = _mix(<uint64_t> (seed & 0xFFFFFFFFFFFFFFFF) + 0x9E3779B97F4A7C15UL)
        self._hosts = []
        self._ports = []
        self.names = {}

    def host(self, ipv4: str = "", ipv6: str = "") -> FakeHost:
        """Add a host, which is also its own 127.0.0.1 and ::1.

        Args:
            ipv4: its address; 10.0.0.1 for the first host, and so on.
            ipv6: its address; fd00::1 for the first host, and so on.
        """
        number = len(self._hosts) + 1
        if number > HOST_LIMIT:
            raise ConfigurationError(f"a network has at most {HOST_LIMIT} hosts")
        host = FakeHost(self, number - 1, ipv4 or f"10.0.0.{number}", ipv6 or f"fd00::{number:x}")
        self._hosts.append(host)
        return host

    def set_link(
        self,
        source: FakeHost | None = None,
        destination: FakeHost | None = None,
        *,
        loss: float = 0.0,
        duplicate: float = 0.0,
        reorder: float = 0.0,
        reorder_ns: int = 1_000_000,
        delay_ns: int = 0,
        jitter_ns: int = 0,
    ) -> None:
        """What happens to datagrams from one host to another from now on.

        Args:
            source: None for every host.
            destination: None for every host; a host's link to itself counts.
            loss: chance that a datagram is dropped, 0 to 1.
            duplicate: chance that it is delivered twice.
            reorder: chance that it is held back for ``reorder_ns``.
            reorder_ns: nanoseconds.
            delay_ns: nanoseconds that every datagram takes.
            jitter_ns: up to so many nanoseconds more, of a uniform chance; these reorder too.

        Raises:
            ConfigurationError: a chance that is none, or a negative time.
        """
        for name, chance in (("loss", loss), ("duplicate", duplicate), ("reorder", reorder)):
            if not 0.0 <= chance <= 1.0:
                raise ConfigurationError(f"{name} must be in 0..1: {chance}")
        if min(reorder_ns, delay_ns, jitter_ns) < 0:
            raise ConfigurationError("a link's times must not be negative")
        cdef link_t* link
        for index in self._pairs(source, destination):
            link = &self._links[<int> index]
            link.loss = loss
            link.duplicate = duplicate
            link.reorder = reorder
            link.reorder_ns = reorder_ns
            link.delay_ns = delay_ns
            link.jitter_ns = jitter_ns

    def partition(self, left: FakeHost, right: FakeHost, *, both_ways: bool = True) -> None:
        """Drop everything from ``left`` to ``right``, and back, until ``heal``."""
        self._links[self._link(left, right)].cut = True
        if both_ways:
            self._links[self._link(right, left)].cut = True

    def heal(self) -> None:
        """End all partitions."""
        for index in range(HOST_LIMIT * HOST_LIMIT):
            self._links[<int> index].cut = False

    def next_delivery_ns(self) -> int | None:
        """Time of the clock at which the next datagram arrives; None when none is under way.

        Datagrams that have arrived and wait to be received play no part.
        """
        cdef FakePort port
        cdef packet_t* packet
        cdef int64_t now = self._clock.nano_time()
        cdef int64_t first = -1
        for port in self._ports:
            packet = port._head
            while packet != NULL and packet.due_ns <= now:
                packet = packet.next
            if packet != NULL and (first < 0 or packet.due_ns < first):
                first = packet.due_ns
        return None if first < 0 else first

    def _pairs(self, source, destination):
        hosts = range(HOST_LIMIT)
        sources = hosts if source is None else [self._index(source)]
        destinations = hosts if destination is None else [self._index(destination)]
        return [i * HOST_LIMIT + j for i in sources for j in destinations]

    def _index(self, FakeHost host) -> int:
        if host.network is not self:
            raise ConfigurationError("the host is of another network")
        return host._index

    cdef int _link(self, FakeHost source, FakeHost destination) except -1:
        return self._index(source) * HOST_LIMIT + self._index(destination)

    cdef double _draw(self) noexcept nogil:
        """Uniform in 0..1, 1 excluded."""
        self._random += 0x9E3779B97F4A7C15UL
        return <double> (_mix(self._random) >> 11) / <double> (1UL << 53)

    cdef void _note(self, int64_t what) noexcept nogil:
        self.fingerprint = _mix(self.fingerprint ^ <uint64_t> what)

    cdef bint _route(
        self, FakePort sender, const uint8_t* data, int32_t length, const address_t* destination
    ):
        """Bring one datagram to everybody who hears it; False when nobody was there to."""
        cdef FakePort port
        cdef address_t source
        cdef bint multicast = is_multicast_address(destination)
        cdef bint heard = False
        cdef FakeHost home = sender._host
        self.sent += 1
        self._note(length)
        home._source_for(&source, destination, sender._port)
        for port in self._ports:
            if multicast:
                if not same_address(&port._group, destination):
                    continue
            elif port._group.length or not port._hears(home, destination):
                continue
            heard = True
            if port._remote.length and not multicast and not same_address(&port._remote, &source):
                continue
            self._carry(home, port, data, length, &source)
        if not heard:
            self.unheard += 1
        return heard

    cdef int _carry(
        self, FakeHost home, FakePort port, const uint8_t* data, int32_t length,
        const address_t* source,
    ) except -1:
        """One datagram over one link, with whatever the link does to it."""
        cdef link_t* link = &self._links[self._link(home, port._host)]
        cdef int copies = 1
        cdef int64_t due
        if link.cut:
            self.cut += 1
            self._note(1)
            return self._tell(source, port, data, length, "cut")
        if link.loss > 0 and self._draw() < link.loss:
            self.lost += 1
            self._note(2)
            return self._tell(source, port, data, length, "lost")
        if link.duplicate > 0 and self._draw() < link.duplicate:
            self.duplicated += 1
            copies = 2
        self._tell(source, port, data, length, "twice" if copies == 2 else "sent")
        for _ in range(copies):
            due = self._clock.nano_time() + link.delay_ns
            if link.jitter_ns > 0:
                due += <int64_t> (self._draw() * <double> link.jitter_ns)
            if link.reorder > 0 and self._draw() < link.reorder:
                self.reordered += 1
                due += link.reorder_ns
            self._note(due)
            self._order += 1
            port._queue(data, length, source, due, self._order)
        return 0

    cdef int _tell(
        self, const address_t* source, FakePort port, const uint8_t* data, int32_t length, str fate
    ) except -1:
        """Let the tap know."""
        if self.tap is not None:
            where = port._host.ipv4, int(port._port)
            self.tap(address_pair(source), where, PyBytes_FromStringAndSize(
                <const char*> data, length
            ), fate)
        return 0


cdef class FakeHost:
    """A host of a FakeNetwork; it opens ports as ``transport.network.sockets`` does.

    Attributes:
        network: that it belongs to.
        ipv4: its address.
        ipv6: its address.
    """

    cdef readonly FakeNetwork network
    cdef readonly str ipv4
    cdef readonly str ipv6
    cdef int _index
    cdef int32_t _next_port
    cdef address_t _v4
    cdef address_t _v6

    def __init__(self, network: FakeNetwork, index: int, ipv4: str, ipv6: str) -> None:
        self.network = network
        self._index = index
        self._next_port = FIRST_EPHEMERAL_PORT
        set_address(&self._v4, (ipv4, 0))
        set_address(&self._v6, (ipv6, 0))
        self.ipv4 = address_pair(&self._v4)[0]
        self.ipv6 = address_pair(&self._v6)[0]

    def open_send_port(
        self,
        remote: Address | None,
        local: Address,
        *,
        control: Address | None = None,
        connect: bool = True,
        interface_index: int = 0,
        ttl: int = 0,
        so_sndbuf: int = 0,
        so_rcvbuf: int = 0,
        offload: bool = True,
        timestamps: bool = False,
    ) -> FakePort:
        """As ``sockets.open_send_port``; interface, send buffer and offload play no part."""
        cdef FakePort port
        cdef address_t target
        set_address(&target, remote)
        multicast = remote is not None and is_multicast_address(&target)
        if multicast and control is None:
            raise ConfigurationError(f"a multicast sender needs its control group: {control}")
        port = FakePort(self, (local[0], 0) if multicast else local, ttl, so_rcvbuf, timestamps)
        if multicast:
            port._join(control)
        port._join_network()
        if remote is not None and (connect or multicast):
            port.connect(remote)
        return port

    def open_receive_port(
        self,
        endpoint: Address,
        interface: Address | None = None,
        *,
        interface_index: int = 0,
        ttl: int = 0,
        so_sndbuf: int = 0,
        so_rcvbuf: int = 0,
        offload: bool = True,
        timestamps: bool = False,
    ) -> FakePort:
        """As ``sockets.open_receive_port``; interface, send buffer and offload play no part."""
        cdef FakePort port
        cdef address_t target
        set_address(&target, endpoint)
        if is_multicast_address(&target):
            port = FakePort(self, ("0.0.0.0", endpoint[1]), ttl, so_rcvbuf, timestamps)
            port._join(endpoint)
        else:
            port = FakePort(self, endpoint, 0, so_rcvbuf, timestamps)
        port._join_network()
        return port

    def interfaces(self) -> list[NetworkInterface]:
        """The loopback and one interface that has both addresses."""
        loopback = (
            InterfaceAddress(IPv4Address("127.0.0.1"), 8),
            InterfaceAddress(IPv6Address("::1"), 128),
        )
        own = (
            InterfaceAddress(IPv4Address(self.ipv4), 24),
            InterfaceAddress(IPv6Address(self.ipv6), 64),
        )
        return [
            NetworkInterface("lo", True, True, False, loopback),
            NetworkInterface("eth0", True, False, True, own),
        ]

    def address_of(self, host: str) -> IPv4Address | IPv6Address | None:
        """The address that a number stands for, or that ``network.names`` has for a name."""
        named = "127.0.0.1" if host in ("", "localhost") else self.network.names.get(host, host)
        try:
            return ip_address(named)
        except ValueError:
            return None

    def socket_limits(self) -> SocketLimits:
        """Those of a Linux machine whose operator has raised the maximum to 4 MiB."""
        return SocketLimits(212_992, 4 << 20, 212_992, 4 << 20)

    def close_ports(self) -> None:
        """Close every port of the host, as its kernel does with those of a killed process."""
        cdef FakePort port
        for port in list(self.network._ports):
            if port._host is self:
                port.close()

    def _ephemeral_port(self) -> int:
        self._next_port += 1
        if self._next_port > LAST_PORT:
            raise OSError(EADDRINUSE, os.strerror(EADDRINUSE))
        return self._next_port - 1

    cdef bint _owns(self, const address_t* address) noexcept nogil:
        """Whether a datagram to this address, from this host, ends here."""
        return self._is_own(address) or _is_loopback(address)

    cdef bint _is_own(self, const address_t* address) noexcept nogil:
        cdef address_t host = address[0]
        host.bytes[2] = 0
        host.bytes[3] = 0
        return same_address(&host, &self._v4) or same_address(&host, &self._v6)

    cdef int _source_for(
        self, address_t* source, const address_t* destination, int32_t port
    ) except -1:
        """Where a datagram to this destination comes from."""
        cdef bint ipv4 = destination.length == self._v4.length
        if _is_loopback(destination):
            set_address(source, ("127.0.0.1" if ipv4 else "::1", port))
            return 0
        source[0] = self._v4 if ipv4 else self._v6
        source.bytes[2] = port >> 8
        source.bytes[3] = port & 0xFF
        return 0


cdef bint _is_loopback(const address_t* address) noexcept nogil:
    cdef int i
    if address.length == 16:
        return address.bytes[4] == 127
    for i in range(8, 23):
        if address.bytes[i]:
            return False
    return address.length == 28 and address.bytes[23] == 1


cdef class FakePort(DatagramPort):
    """A port of a FakeHost. Its queue holds ``so_rcvbuf`` bytes, what is under way included."""

    cdef FakeHost _host
    cdef str _name
    cdef int32_t _port
    cdef int _ttl
    cdef bint _timestamps
    cdef bint _closed
    cdef bint _refused
    cdef address_t _remote
    cdef address_t _group
    cdef packet_t* _head
    cdef int64_t _queued
    cdef int64_t _room

    def __init__(
        self, host: FakeHost, local: Address, ttl: int, so_rcvbuf: int, timestamps: bool
    ) -> None:
        cdef address_t native
        set_address(&native, local)
        self._host = host
        self._name, port = address_pair(&native)
        if self._name not in ("0.0.0.0", "::") and not host._owns(&native):
            raise OSError(EADDRNOTAVAIL, f"{os.strerror(EADDRNOTAVAIL)}: {self._name}")
        self._port = port or host._ephemeral_port()
        self._ttl = ttl
        self._timestamps = timestamps
        self._room = so_rcvbuf or 212_992

    def __dealloc__(self):
        self._drop_packets()

    cdef void _drop_packets(self) noexcept:
        cdef packet_t* packet = self._head
        cdef packet_t* following
        while packet != NULL:
            following = packet.next
            free(packet)
            packet = following
        self._head = NULL
        self._queued = 0

    def _join(self, group) -> None:
        set_address(&self._group, group)
        self._name = "::" if ":" in group[0] else "0.0.0.0"

    def _join_network(self) -> None:
        """Be heard of; two unicast ports of a host do not share a number."""
        cdef FakePort other
        for other in self._host.network._ports:
            if other._host is self._host and not (self._group.length or other._group.length):
                if other._port == self._port:
                    raise OSError(EADDRINUSE, os.strerror(EADDRINUSE))
        self._host.network._ports.append(self)

    cdef bint _hears(self, FakeHost sender, const address_t* destination):
        """Whether this is where a unicast datagram of that host goes."""
        if self._port != address_port(destination) or self._closed:
            return False
        if sender is self._host:
            return self._host._owns(destination)
        return self._host._is_own(destination) and self._name not in ("127.0.0.1", "::1")

    cdef int _queue(
        self, const uint8_t* data, int32_t length, const address_t* source, int64_t due_ns,
        int64_t order,
    ) except -1:
        cdef packet_t** place = &self._head
        cdef packet_t* packet
        if self._queued + length > self._room:
            self._host.network.overflowed += 1
            return 0
        packet = <packet_t*> malloc(sizeof(packet_t) + length)
        if packet == NULL:
            raise MemoryError
        packet.due_ns = due_ns
        packet.order = order
        packet.source = source[0]
        packet.length = length
        memcpy(<uint8_t*> packet + sizeof(packet_t), data, length)
        while place[0] != NULL and place[0].due_ns <= due_ns:
            place = &place[0].next
        packet.next = place[0]
        place[0] = packet
        self._queued += length
        self._host.network.delivered += 1
        return 0

    cdef int send(
        self, const outgoing_t* messages, int count, const address_t* destination
    ) noexcept nogil:
        cdef const address_t* target = destination if destination != NULL else &self._remote
        self.sent_bytes = 0
        if self._closed:
            return -EBADF
        if target.length == 0:
            return -ENOTCONN
        if self._refused:
            self._refused = False
            return -ECONNREFUSED
        with gil:
            return self._send_all(messages, count, target)

    cdef int _send_all(self, const outgoing_t* messages, int count, const address_t* target):
        cdef int i
        cdef int32_t at
        cdef int32_t length
        cdef bint heard
        for i in range(count):
            at = 0
            while True:
                length = messages[i].length - at
                if messages[i].segment > 0:
                    length = min(length, messages[i].segment)
                if length > DATAGRAM_LIMIT:
                    return i or -EMSGSIZE
                heard = self._host.network._route(self, messages[i].data + at, length, target)
                self._refused = self._remote.length and not heard and not is_multicast_address(
                    target
                )
                self.sent_bytes += length
                at += length
                if at >= messages[i].length:
                    break
        return count

    cdef int receive(self, incoming_t* messages, int count) noexcept nogil:
        cdef int64_t now
        cdef packet_t* packet
        cdef int filled = 0
        if self._closed:
            return -EBADF
        self._refused = False
        now = self._host.network._clock.nano_time()
        while filled < count and self._head != NULL and self._head.due_ns <= now:
            packet = self._head
            self._head = packet.next
            self._queued -= packet.length
            messages[filled].length = packet.length
            if packet.length > messages[filled].capacity:
                messages[filled].length = 0
            memcpy(
                messages[filled].data,
                <uint8_t*> packet + sizeof(packet_t),
                messages[filled].length,
            )
            messages[filled].segment = 0
            messages[filled].source = packet.source
            messages[filled].timestamp_ns = 0
            if self._timestamps:
                messages[filled].timestamp_ns = (
                    self._host.network._clock.epoch_ns() - (now - packet.due_ns)
                )
            self._host.network._note(packet.order)
            free(packet)
            filled += 1
        return filled

    cdef int reconnect(self, const address_t* remote) noexcept nogil:
        if self._closed:
            return -EBADF
        self._remote = remote[0]
        self._refused = False
        return 0

    @property
    def local_address(self) -> Address:
        """Host and port that datagrams for this port are sent to."""
        cdef address_t source
        if self._closed:
            raise ResourceClosedError("the port is closed")
        if self._remote.length and not self._group.length and self._name in ("0.0.0.0", "::"):
            self._host._source_for(&source, &self._remote, self._port)
            return address_pair(&source)
        if self._group.length:
            return self._name, address_port(&self._group)
        return self._name, self._port

    @property
    def ttl(self) -> int:
        """Multicast time to live that was asked for; 0 for none."""
        return self._ttl

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    def close(self) -> None:
        """Leave the network with what is queued; more than once does nothing."""
        if not self._closed:
            self._closed = True
            self._host.network._ports.remove(self)
            self._drop_packets()
