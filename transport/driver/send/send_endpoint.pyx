"""A send channel endpoint: one port and its destinations (spec wire-protocol 3.1, 5.6, 7, 12).

Several publications share an endpoint and its window. The conductor makes it and closes its port;
in between only the sender uses it.
"""

from libc.errno cimport ECONNREFUSED
from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from aerolog.transport.concurrent.atomic cimport store_release_i64
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.network.port cimport (
    DatagramPort,
    address_pair,
    address_port,
    address_t,
    is_transient,
    outgoing_t,
    same_address,
    set_address,
)
from aerolog.transport.network.socket_port cimport SocketPort

from aerolog.transport.errors import ConfigurationError


cdef enum:
    # The limit grows by this fraction in a period: it has doubled after 220 ms, 440 ms, 7 s.
    START_GROWTH = 32
    GROWTH = 64
    PROBING_GROWTH = 1024


cdef class SharedWindow:
    """The bytes that all streams of a send endpoint may have in flight, or send again.

    See decision 0007.

    The streams of an endpoint share the receiver's socket buffer, while flow control knows only
    the window of each one. When a thousand windows together overflow the buffer, every stream
    requests its window again at once, the answers overflow it again, and there is no progress. So
    the endpoint watches the effect of retransmissions: when they are many compared with the bytes
    that receivers consume, it sends into a full buffer, and halves the limit of bytes in flight;
    otherwise the limit grows again, slowly. Evenly spread loss of up to a tenth changes nothing,
    and a single stream is never limited: its own window always fits.

    It also bounds the effect of small datagrams that request ever other ranges. A refusal loses
    nothing, because missing data is requested again. Only the sender's thread calls the methods.

    Attributes:
        in_flight: bytes sent and not consumed yet, as receivers report.
        longest: the widest window that a stream has had, in bytes.
    """

    def __cinit__(self):
        self._limit = SHARED_START
        self._period_end_ns = -INT64_MAX
        self._judged_at_ns = -INT64_MAX // 2

    cdef int64_t _current(self) noexcept nogil:
        # A single stream is not limited: its own window fits.
        return max(self._limit, self.longest)

    cdef int64_t room(self, int64_t now_ns) noexcept nogil:
        if now_ns >= self._period_end_ns:
            self._next_period(now_ns)
        # Streams that wait for lost data must not stop all others for good.
        return max(self._current() - self.in_flight, self.longest - self._sent)

    cdef void sent(self, int64_t length) noexcept nogil:
        self._sent += length
        self.in_flight += length
        self._peak = max(self._peak, self.in_flight)

    cdef void consumed(self, int64_t length, int64_t window) noexcept nogil:
        self.in_flight -= length
        self._consumed += length
        self.longest = max(self.longest, window)

    cdef void forget(self, int64_t length) noexcept nogil:
        self.in_flight -= length

    cdef bint grant(self, int64_t length, int64_t longest, int64_t now_ns) noexcept nogil:
        cdef int64_t allowed
        if now_ns >= self._period_end_ns:
            self._next_period(now_ns)
        allowed = self._current() if self._overflowed_at > 0 else RESEND_FLOOR
        if self._granted + length > max(allowed, longest):
            return False
        self._granted += length
        return True

    cdef void _next_period(self, int64_t now_ns) noexcept nogil:
        self._granted_since += self._granted
        self._consumed_since += self._consumed
        self._peak_since = max(self._peak_since, self._peak)
        if self._peak >= self._current() // 2 and self._limit < SHARED_MOST:
            self._limit += self._limit // self._growth()
        if now_ns - self._judged_at_ns >= SHARED_JUDGED_NS:
            self._judge()
            self._judged_at_ns = now_ns
        self._peak = self.in_flight
        self._sent = 0
        self._granted = 0
        self._consumed = 0
        self._period_end_ns = now_ns + SHARED_PERIOD_NS

    cdef void _judge(self) noexcept nogil:
        cdef int64_t fruitful = self._consumed_since // 8
        # Streams that are held back make progress by retransmissions alone.
        if self.in_flight >= self._current():
            fruitful = 2 * self._consumed_since
        if self._granted_since > fruitful + self.longest:
            self._overflowed_at = min(self._limit, self._peak_since)
            self._limit = max(self._overflowed_at // 2, <int64_t> SHARED_LEAST)
        self._granted_since = 0
        self._consumed_since = 0
        self._peak_since = 0

    cdef int64_t _growth(self) noexcept nogil:
        if self._overflowed_at == 0:
            return START_GROWTH
        # Slowly near the limit at which the buffer last overflowed.
        return GROWTH if self._limit < self._overflowed_at // 4 * 3 else PROBING_GROWTH

    @property
    def limit(self):
        """The number of bytes that may be in flight now."""
        return self._current()

    def on_sent(self, length: int) -> None:
        """Count bytes that a stream has sent for the first time."""
        self.sent(length)

    def on_consumed(self, length: int, window: int) -> None:
        """Count bytes in flight that receivers of a stream with such a window have consumed."""
        self.consumed(length, window)

    def on_forgotten(self, length: int) -> None:
        """Count bytes in flight that a stream gives up, because it has no receivers any more."""
        self.forget(length)

    def room_at(self, now_ns: int) -> int:
        """Return the bytes that a stream may send now; 0 or less for none."""
        return self.room(now_ns)

    def grant_at(self, length: int, longest: int, now_ns: int) -> bool:
        """Return whether bytes may be sent again; the longest retransmission fits any period."""
        return self.grant(length, longest, now_ns)


DYNAMIC = 1
MANUAL = 2

cdef int64_t _TIMEOUT_NS = 5_000_000_000


cdef class SendDestinations:
    """The destinations of a multi-destination endpoint (spec wire-protocol 12).

    Dynamic destinations are learned from status messages and forgotten after 5 s without any;
    manual ones are added and removed by commands. One sender owns the destinations, and commands
    reach it through its queue.

    Args:
        mode: DYNAMIC or MANUAL.
        counters: the counters of the driver.
        counter_id: the counter ``mdc-num-dest``, -1 for none.

    Raises:
        ConfigurationError: the mode is neither of these.
        IndexError: the counter id does not exist.
    """

    def __init__(
        self, int mode, *, CountersReader counters: CountersReader | None = None, int counter_id=-1
    ):
        """Make an empty list.

        Args:
            mode: DYNAMIC or MANUAL.
            counters: the counters of the driver.
            counter_id: the counter `mdc-num-dest`, -1 for none.
        """
        if mode not in (DYNAMIC, MANUAL):
            raise ConfigurationError(f"destinations are DYNAMIC (1) or MANUAL (2): {mode}")
        self.mode = mode
        if counters is not None and counter_id >= 0:
            self._counter = counters.value_address(counter_id)
            if self._counter is NULL:
                raise IndexError(f"no such counter: {counter_id}")
            self._counters = counters

    def __dealloc__(self):
        free(self._items)

    def __len__(self) -> int:
        return self.count

    def addresses(self):
        """The addresses, None for unresolved ones; read it only while the sender does not run."""
        return [address_pair(&self._items[i].address) for i in range(self.count)]

    # ---- sending ------------------------------------------------------------------------------

    cdef void send(
        self,
        DatagramPort port,
        const outgoing_t* messages,
        int count,
        int64_t length,
        int64_t now_ns,
        sending_t* sending,
    ) noexcept nogil:
        cdef int32_t index
        cdef int result
        sending.bytes = length
        if self.mode == 1:
            self._expire(now_ns)
        if self.count == 0:
            return
        if self._next_first >= self.count:
            self._next_first = 0
        index = self._next_first
        self._next_first += 1
        for _ in range(self.count):
            if self._items[index].address.length > 0:
                result = port.send(messages, count, &self._items[index].address)
                # The position may advance only by the bytes that all destinations took.
                sending.bytes = min(sending.bytes, port.sent_bytes)
                if result < 0 and not is_transient(result):
                    sending.error = -result
                    sending.where = self._items[index].address
            index += 1
            if index == self.count:
                index = 0

    cdef void _expire(self, int64_t now_ns) noexcept nogil:
        cdef int32_t i = self.count - 1
        while i >= 0:
            if now_ns - self._items[i].last_heard_ns > _TIMEOUT_NS:
                self._remove_at(i)
            i -= 1

    # ---- who is there ---------------------------------------------------------------------------

    cdef void on_status_message(
        self, int64_t receiver_id, const address_t* source, int64_t now_ns
    ) noexcept nogil:
        cdef destination_t* item
        cdef bint known = False
        cdef int32_t i
        for i in range(self.count):
            item = &self._items[i]
            if self._matches(item, receiver_id, source):
                item.receiver_id = receiver_id
                item.has_receiver_id = True
                item.last_heard_ns = now_ns
                known = True
                if self.mode == 1:
                    break
        if not known and self.mode == 1 and self.add(-1, source, now_ns):
            item = &self._items[self.count - 1]
            item.receiver_id = receiver_id
            item.has_receiver_id = True

    cdef bint _matches(
        self, const destination_t* item, int64_t receiver_id, const address_t* source
    ) noexcept nogil:
        if item.has_receiver_id:
            return (
                item.receiver_id == receiver_id
                and address_port(&item.address) == address_port(source)
            )
        return item.address.length > 0 and same_address(&item.address, source)

    cdef int64_t find(self, int64_t receiver_id, const address_t* source) noexcept nogil:
        cdef int32_t i
        if self.mode == 1:
            return -1
        for i in range(self.count):
            if self._matches(&self._items[i], receiver_id, source):
                return self._items[i].registration_id
        return -1

    cdef int64_t silent(self, int32_t first, int64_t now_ns, int32_t* found) noexcept nogil:
        cdef int32_t i
        if self.mode == 2:
            for i in range(first, self.count):
                if now_ns - self._items[i].last_heard_ns > _TIMEOUT_NS:
                    self._items[i].last_heard_ns = now_ns  # reported again in 5 s or later
                    found[0] = i
                    return self._items[i].registration_id
        return -1

    # ---- changes --------------------------------------------------------------------------------

    cdef bint _grow(self) noexcept nogil:
        cdef int32_t capacity = min(max(2 * self._capacity, 4), <int32_t> MAX_DESTINATIONS)
        cdef destination_t* grown
        if self.mode == 2:
            capacity = max(2 * self._capacity, 4)  # a client's own wish: not bounded
        if capacity <= self._capacity:
            return False
        grown = <destination_t*> realloc(self._items, capacity * sizeof(destination_t))
        if grown == NULL:
            return False
        self._items = grown
        self._capacity = capacity
        return True

    cdef bint add(
        self, int64_t registration_id, const address_t* address, int64_t now_ns
    ) noexcept nogil:
        cdef destination_t* item
        if self.count == self._capacity and not self._grow():
            return False
        item = &self._items[self.count]
        item.address = address[0]
        item.registration_id = registration_id
        item.receiver_id = 0
        item.has_receiver_id = False
        item.last_heard_ns = now_ns
        self.count += 1
        if self._counter != NULL:
            store_release_i64(self._counter, self.count)
        return True

    cdef void _remove_at(self, int32_t index) noexcept nogil:
        self.count -= 1
        self._items[index] = self._items[self.count]
        if self._counter != NULL:
            store_release_i64(self._counter, self.count)

    cdef void remove(self, int64_t registration_id) noexcept nogil:
        cdef int32_t i
        for i in range(self.count):
            if self._items[i].registration_id == registration_id:
                self._remove_at(i)
                return

    cdef void change(
        self, int64_t registration_id, const address_t* address, int64_t now_ns
    ) noexcept nogil:
        cdef int32_t i
        for i in range(self.count):
            if self._items[i].registration_id == registration_id:
                self._items[i].address = address[0]
                self._items[i].has_receiver_id = False
                self._items[i].last_heard_ns = now_ns


cdef enum:
    # The number of refusals by an absent peer that one send ignores.
    REFUSAL_LIMIT = 2

cdef int64_t _FAILURE_PERIOD_NS = 1_000_000_000


cdef class SendEndpoint:
    """A port and the addresses that it sends to.

    Args:
        port: an open port; whoever made the endpoint closes it after the sender has released it.
        destinations: the destinations of a multi-destination endpoint.
        remote: the address of the peer or the group; None with destinations or responses, and
            while its name is not resolved.
        is_connected: whether the port is connected to it.
        is_multicast: whether ``remote`` is a group.
        is_response: whether its publications are responses, each sent to its own receiver.
        needs_resolution: whether ``remote`` is the result of a name resolution.

    Raises:
        ConfigurationError: more than one of destinations, remote and responses is given.
    """

    def __init__(
        self,
        DatagramPort port not None,
        *,
        SendDestinations destinations: SendDestinations | None = None,
        remote=None,
        bint is_connected=True,
        bint is_multicast=False,
        bint is_response=False,
        bint needs_resolution=False,
    ):
        """Make an endpoint on an open port.

        Args:
            port: an open port; the conductor closes it after `EndpointReleased`.
            destinations: the destinations of a multi-destination endpoint.
            remote: the address of the peer or the group, None with destinations or responses.
            is_connected: whether the port is connected to it (`aeron.driver.connect`, multicast).
            is_multicast: whether `remote` is a group.
            is_response: whether its publications are responses (`control-mode=response`).
            needs_resolution: whether `remote` is the result of a name resolution, so that
                `Unresolved` is reported.
        """
        if (destinations is not None) + (remote is not None) + is_response > 1:
            raise ConfigurationError(
                "an endpoint sends to destinations, to one remote address, or to whom it answers"
            )
        self.port = port
        # A wrapper may hold datagrams back that polling its descriptor does not show.
        self.descriptor = port.descriptor() if isinstance(port, SocketPort) else -1
        self.destinations = destinations
        self.shared = SharedWindow()
        self.is_multicast = is_multicast
        self.is_response = is_response
        self.is_group = is_multicast or destinations is not None
        self.is_connected = is_connected
        self.needs_resolution = needs_resolution
        self.last_failure_ns = -INT64_MAX // 2
        set_address(&self.peer, remote)

    @property
    def remote(self):
        """The peer as last set, None for none; read it only while the sender does not run."""
        return address_pair(&self.peer)

    cdef int64_t transmit(
        self, const outgoing_t* messages, int count, const address_t* to, int64_t now_ns
    ) noexcept nogil:
        cdef sending_t sending
        cdef const address_t* target = NULL
        cdef int64_t length = 0
        cdef int refusals = 0
        cdef int result
        cdef int i
        memset(&sending, 0, sizeof(sending))
        for i in range(count):
            length += messages[i].length
        if self.destinations is not None:
            self.destinations.send(self.port, messages, count, length, now_ns, &sending)
            if sending.error != 0:
                self._note_failure(&sending, now_ns)
            return sending.bytes
        if self.is_response:
            target = to
        elif not self.is_connected:
            target = &self.peer
        if target != NULL and target.length == 0:
            return length  # there is no peer to send to, as without destinations
        while True:
            result = self.port.send(messages, count, target)
            # The error is that of an earlier datagram: this one is still to be sent.
            if result != -ECONNREFUSED or refusals == REFUSAL_LIMIT:
                break
            refusals += 1
        if result < 0 and not is_transient(result):
            sending.error = -result
            if target != NULL:
                sending.where = target[0]
            self._note_failure(&sending, now_ns)
        return self.port.sent_bytes

    cdef void _note_failure(self, const sending_t* sending, int64_t now_ns) noexcept nogil:
        if now_ns - self.last_failure_ns < _FAILURE_PERIOD_NS:
            return
        self.last_failure_ns = now_ns
        self.last_error = sending.error
        self.last_error_where = sending.where

    cdef void change_peer(self, const address_t* address, int64_t now_ns) noexcept nogil:
        cdef sending_t failed
        cdef int result
        self.peer = address[0]
        self.last_heard_ns = now_ns
        if self.is_connected:
            result = self.port.reconnect(address)
            if result < 0:
                memset(&failed, 0, sizeof(failed))
                failed.error = -result
                failed.where = address[0]
                self._note_failure(&failed, now_ns)
