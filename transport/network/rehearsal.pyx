"""Rehearsals of bad networks: a port that loses, duplicates, reorders and delays datagrams.

It wraps another port. Each direction has a Disturbance of its own with its own seed. The datagrams
of a run are disturbed one by one, so that a rehearsal is the same with and without offload. Memory
for delayed datagrams is reserved at the start; a datagram that finds none is lost and counted.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memmove

from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.network.port cimport (
    RECEIVE_BUFFER_LENGTH,
    DatagramPort,
    address_t,
    incoming_t,
    outgoing_t,
)
from aerolog.transport.network.wrapped_port cimport WrappedPort

from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.errors import ConfigurationError

cdef enum:
    # The number of rounds in one receive call as long as every datagram is lost.
    ROUND_LIMIT = 16


cdef class Disturbance:
    """Disturbs the datagrams of one direction of one port.

    Args:
        rule: decides which datagrams are lost; None loses none.
        seed: seed of the random numbers below.
        duplicate: probability that a datagram passes twice, 0 to 1.
        reorder: probability that a datagram is held back for ``reorder_ns``, 0 to 1.
        reorder_ns: delay of a reordered datagram, nanoseconds.
        delay_ns: delay of every datagram, nanoseconds.
        jitter_ns: greatest additional delay, nanoseconds, uniformly distributed.

    Attributes:
        passed: number of datagrams that passed at once.
        dropped: number of datagrams that ``rule`` dropped.
        duplicated: number of datagrams that passed twice.
        delayed: number of datagrams that were held back.
        overflowed: number of datagrams lost because 1024 were held back already.
    """

    def __cinit__(self):
        self._memory = NULL

    def __init__(
        self,
        rule: DropRule | None = None,
        seed: int = 0,
        *,
        duplicate: float = 0.0,
        reorder: float = 0.0,
        reorder_ns: int = 1_000_000,
        delay_ns: int = 0,
        jitter_ns: int = 0,
    ) -> None:
        cdef int i
        for name, chance in (("duplicate", duplicate), ("reorder", reorder)):
            if not 0.0 <= chance <= 1.0:
                raise ConfigurationError(f"{name} must be in 0..1: {chance}")
        if min(reorder_ns, delay_ns, jitter_ns) < 0:
            raise ConfigurationError("times of a rehearsal must not be negative")
        if self._memory != NULL:
            raise ConfigurationError("a disturbance is set up once")
        self._rule = rule
        self._state = <uint64_t> (seed & 0xFFFFFFFFFFFFFFFF)
        self._duplicate = duplicate
        self._reorder = reorder
        self._reorder_ns = reorder_ns
        self._delay_ns = delay_ns
        self._jitter_ns = jitter_ns
        if duplicate or reorder or delay_ns or jitter_ns:
            # Pages that are never touched take no memory.
            self._memory = <uint8_t*> calloc(HELD_LIMIT, RECEIVE_BUFFER_LENGTH)
            if self._memory == NULL:
                raise MemoryError
            for i in range(HELD_LIMIT):
                self._slots[i].data = self._memory + <int64_t> i * RECEIVE_BUFFER_LENGTH
                self._slots[i].next = &self._slots[i + 1] if i + 1 < HELD_LIMIT else NULL
            self._free = &self._slots[0]

    def __dealloc__(self):
        free(self._memory)

    cdef double _draw(self) noexcept nogil:
        """Draw a uniform random number in 0..1, 1 excluded (splitmix64)."""
        cdef uint64_t value
        self._state += 0x9E3779B97F4A7C15UL
        value = self._state
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9UL
        value = (value ^ (value >> 27)) * 0x94D049BB133111EBUL
        return <double> ((value ^ (value >> 31)) >> 11) / <double> (1UL << 53)

    cdef bint passes(
        self, const uint8_t* data, int32_t length, const address_t* address, int64_t now_ns
    ) noexcept nogil:
        cdef int64_t due_ns = now_ns + self._delay_ns
        if self._rule is not None and self._rule.drops(data, length):
            self.dropped += 1
            return False
        if self._memory == NULL:
            self.passed += 1
            return True
        if self._duplicate > 0.0 and self._draw() < self._duplicate:
            self.duplicated += 1
            self._hold(data, length, address, due_ns)
        if self._reorder > 0.0 and self._draw() < self._reorder:
            due_ns += self._reorder_ns
        if self._jitter_ns > 0:
            due_ns += <int64_t> (self._draw() * <double> self._jitter_ns)
        if due_ns <= now_ns:
            self.passed += 1
            return True
        self.delayed += 1
        self._hold(data, length, address, due_ns)
        return False

    cdef void _hold(
        self, const uint8_t* data, int32_t length, const address_t* address, int64_t due_ns
    ) noexcept nogil:
        cdef held_t* slot = self._free
        cdef held_t** place = &self._first
        if slot == NULL or length > RECEIVE_BUFFER_LENGTH:
            self.overflowed += 1
            return
        self._free = slot.next
        slot.due_ns = due_ns
        slot.length = length
        slot.address.length = 0
        if address != NULL:
            slot.address = address[0]
        memcpy(slot.data, data, length)
        while place[0] != NULL and place[0].due_ns <= due_ns:
            place = &place[0].next
        slot.next = place[0]
        place[0] = slot

    cdef held_t* due(self, int64_t now_ns) noexcept nogil:
        if self._first != NULL and self._first.due_ns <= now_ns:
            return self._first
        return NULL

    cdef void let_go(self) noexcept nogil:
        cdef held_t* slot = self._first
        self._first = slot.next
        slot.next = self._free
        self._free = slot


cdef class RehearsedPort(WrappedPort):
    """A port that disturbs the datagrams of another port.

    Delayed datagrams move on with a later call of ``send`` or ``receive``, whichever comes first.

    Args:
        inner: the port that sends and receives; it is closed with this one.
        outgoing: disturbs datagrams that are sent; None for no disturbance.
        incoming: disturbs datagrams that arrive; None for no disturbance.
        clock: the clock for delays; the machine's if None.
    """

    def __cinit__(
        self,
        inner: DatagramPort,
        outgoing: Disturbance | None = None,
        incoming: Disturbance | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.outgoing = outgoing if outgoing is not None else Disturbance()
        self.incoming = incoming if incoming is not None else Disturbance()
        self._clock = clock if clock is not None else SystemClock()

    cdef int send(
        self, const outgoing_t* messages, int count, const address_t* destination
    ) noexcept nogil:
        cdef int64_t now_ns = self._clock.nano_time()
        cdef int32_t at
        cdef outgoing_t one
        cdef int index
        cdef int result
        self._flush(now_ns)
        self.sent_bytes = 0
        for index in range(count):
            at = 0
            while True:
                one.data = messages[index].data + at
                one.length = messages[index].length - at
                one.segment = 0
                if messages[index].segment > 0:
                    one.length = min(one.length, messages[index].segment)
                if self.outgoing.passes(one.data, one.length, destination, now_ns):
                    result = self.inner.send(&one, 1, destination)
                    if result < 1:
                        return index if self.sent_bytes else result
                self.sent_bytes += one.length
                at += one.length
                if at >= messages[index].length:
                    break
        return count

    cdef void _flush(self, int64_t now_ns) noexcept nogil:
        """Send delayed datagrams that are due; like a network, it does not report failures."""
        cdef held_t* held = self.outgoing.due(now_ns)
        cdef outgoing_t one
        one.segment = 0
        while held != NULL:
            one.data = held.data
            one.length = held.length
            self.inner.send(&one, 1, &held.address if held.address.length else NULL)
            self.outgoing.let_go()
            held = self.outgoing.due(now_ns)

    cdef int receive(self, incoming_t* messages, int count) noexcept nogil:
        cdef int64_t now_ns = self._clock.nano_time()
        cdef int filled = 0
        cdef int rounds = 0
        cdef int start
        cdef int result
        cdef int i
        cdef held_t* held
        self._flush(now_ns)
        while filled < count and rounds < ROUND_LIMIT:
            start = filled
            result = self.inner.receive(messages + start, count - start)
            if result <= 0:
                if result < 0 and filled == 0:
                    return result
                break
            for i in range(start, start + result):
                if self._sift(&messages[i], now_ns):
                    _move(&messages[i], &messages[filled])
                    filled += 1
            rounds += 1
        held = self.incoming.due(now_ns)
        while filled < count and held != NULL:
            messages[filled].length = held.length
            if held.length > messages[filled].capacity:
                messages[filled].length = 0
            messages[filled].segment = 0
            messages[filled].timestamp_ns = 0
            messages[filled].source = held.address
            memcpy(messages[filled].data, held.data, messages[filled].length)
            filled += 1
            self.incoming.let_go()
            held = self.incoming.due(now_ns)
        return filled

    cdef bint _sift(self, incoming_t* message, int64_t now_ns) noexcept nogil:
        """Remove datagrams that do not pass from a run; False if none is left."""
        cdef int32_t at = 0
        cdef int32_t length
        if message.segment <= 0:
            return self.incoming.passes(message.data, message.length, &message.source, now_ns)
        while at < message.length:
            length = min(message.segment, message.length - at)
            if self.incoming.passes(message.data + at, length, &message.source, now_ns):
                at += length
                continue
            memmove(message.data + at, message.data + at + length, message.length - at - length)
            message.length -= length
        if message.length <= message.segment:
            message.segment = 0
        return message.length > 0


cdef void _move(const incoming_t* source, incoming_t* target) noexcept nogil:
    """Copy a message to a released entry, which has its own buffer of the same length."""
    if source == target:
        return
    target.length = min(source.length, target.capacity)
    target.segment = source.segment
    target.source = source.source
    target.timestamp_ns = source.timestamp_ns
    memcpy(target.data, source.data, target.length)
