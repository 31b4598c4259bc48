"""Destinations of a multi-destination send endpoint (spec wire-protocol 12).

Dynamic ones are learned from status messages and forgotten after 5 s without; manual ones come
and go by command. One sender owns them; commands reach it through its queue.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc

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
)

from aerolog.transport.errors import ConfigurationError

DYNAMIC = 1
MANUAL = 2
DESTINATION_TIMEOUT_NS = 5_000_000_000

cdef int64_t _TIMEOUT_NS = 5_000_000_000


cdef class SendDestinations:
    """Where a multi-destination endpoint sends to.

    Args:
        mode: DYNAMIC or MANUAL.
        counters: holds the counter.
        counter_id: ``mdc-num-dest``, -1 for none.

    Raises:
        ConfigurationError: another mode.
        IndexError: there is no such counter.
    """

    def __init__(
        self, int mode, *, CountersReader counters: CountersReader | None = None, int counter_id=-1
    ):
        """Make an empty list.

        Args:
            mode: DYNAMIC or MANUAL.
            counters: holds the counter.
            counter_id: `mdc-num-dest`, -1 for none.
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
        """Where it sends to, None for what is not resolved; while the sender does not turn."""
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
                # What all took is what the position may move by.
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
                    self._items[i].last_heard_ns = now_ns  # not again before another 5 s
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

    cdef void remove_by_address(self, const address_t* address) noexcept nogil:
        cdef int32_t i
        for i in range(self.count):
            if same_address(&self._items[i].address, address):
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
