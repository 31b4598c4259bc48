"""The sources of an image: address, activity and end by transport (spec wire-protocol 9.5, 13)."""

from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from aerolog.transport.driver.receive.receive_transport cimport (
    MAX_TRANSPORTS,
    ReceiveTransport,
    TransportSet,
)
from aerolog.transport.network.port cimport address_pair, address_t, set_address

from aerolog.transport.errors import ConfigurationError

from aerolog.transport.network.port import Address

# A source of a multi-destination subscription that is silent for longer gets no answers (1).
cdef int64_t _ACTIVITY_TIMEOUT_NS = 5_000_000_000


cdef inline bint _within(int64_t since_ns, int64_t now_ns, int64_t timeout_ns) noexcept nogil:
    return <int64_t> (<uint64_t> now_ns - <uint64_t> since_ns) <= timeout_ns


cdef class ImageConnections:
    """The sources of an image: address, activity and end by transport (spec wire-protocol 9.5).

    It belongs to the receiver. The Python methods are for tests that run no receiver.
    """
    def __init__(self, TransportSet transports not None) -> None:
        self._transports = transports
        self._capacity = MAX_TRANSPORTS if transports.is_multi_destination else 1
        self._connections = <connection_t*> calloc(self._capacity, sizeof(connection_t))
        if self._connections is NULL:
            raise MemoryError

    def __dealloc__(self) -> None:
        free(self._connections)

    cdef connection_t* _find(self, int32_t index) noexcept nogil:
        if not 0 <= index < self._capacity or not self._connections[index].is_open:
            return NULL
        return &self._connections[index]

    cdef connection_t* _open(
        self, int32_t index, const address_t* control, int64_t now_ns
    ) noexcept nogil:
        cdef connection_t* connection = self._find(index)
        cdef void* transport
        if connection is not NULL or not 0 <= index < self._capacity:
            return connection
        transport = self._transports.transport_at(index)
        if transport is NULL:
            return NULL
        connection = &self._connections[index]
        if (<ReceiveTransport> transport).has_group:
            control = &(<ReceiveTransport> transport).group
        memcpy(&connection.control, control, sizeof(address_t))
        connection.is_open = True
        connection.has_ended = False
        connection.end_position = INT64_MAX
        connection.last_activity_ns = now_ns
        connection.last_frame_ns = now_ns
        self._count += 1
        return connection

    cdef void ensure(self, int32_t index, const address_t* control, int64_t now_ns) noexcept nogil:
        cdef connection_t* connection = self._open(index, control, now_ns)
        if connection is not NULL:
            connection.last_activity_ns = now_ns

    cdef void drop(self, int32_t index) noexcept nogil:
        cdef connection_t* connection = self._find(index)
        if connection is not NULL:
            connection.is_open = False
            self._count -= 1

    cdef void heard(
        self, int32_t index, const address_t* source, int64_t now_ns
    ) noexcept nogil:
        cdef connection_t* connection = self._open(index, source, now_ns)
        if connection is not NULL:
            connection.last_activity_ns = now_ns
            connection.last_frame_ns = now_ns

    cdef void end_at(self, int32_t index, int64_t position) noexcept nogil:
        cdef connection_t* connection = self._find(index)
        if connection is not NULL:
            connection.has_ended = True
            connection.end_position = position

    cdef bint are_all_ended(self) noexcept nogil:
        """Return whether every source has ended, and every destination has a source."""
        cdef int32_t index
        if self._count == 0 or self._count < self._transports.transport_count:
            return False
        for index in range(self._capacity):
            if self._connections[index].is_open and not self._connections[index].has_ended:
                return False
        return True

    cdef int64_t last_end_position(self) noexcept nogil:
        cdef int64_t last = INT64_MIN
        cdef int32_t index
        for index in range(self._capacity):
            if self._connections[index].is_open and self._connections[index].has_ended:
                last = max(last, self._connections[index].end_position)
        return last

    cdef const address_t* target(self, int32_t index, int64_t now_ns) noexcept nogil:
        cdef connection_t* connection = self._find(index)
        if connection is NULL or self._transports.transport_at(index) is NULL:
            return NULL
        if self._transports.is_multi_destination and not _within(
            connection.last_activity_ns, now_ns, _ACTIVITY_TIMEOUT_NS
        ):
            return NULL
        return &connection.control

    cdef int32_t slot_limit(self) noexcept nogil:
        return min(self._capacity, self._transports.slot_limit)

    cdef int32_t count_active(self, int64_t now_ns, int64_t timeout_ns) noexcept nogil:
        cdef int32_t active = 0
        cdef int32_t index
        for index in range(self.slot_limit()):
            active += (
                self._connections[index].is_open
                and _within(self._connections[index].last_frame_ns, now_ns, timeout_ns)
            )
        return active

    # ---- for tests ----------------------------------------------------------------------------

    def open(self, index: int, control: Address | None, now_ns: int) -> None:
        cdef address_t address
        if not 0 <= index < self._capacity:
            raise ConfigurationError(
                f"transport index is {index}; use 0 to {self._capacity - 1}"
            )
        set_address(&address, control)
        self.ensure(index, &address, now_ns)

    def close(self, index: int) -> None:
        self.drop(index)

    def track(self, index: int, source: Address, now_ns: int) -> bool:
        cdef address_t address
        set_address(&address, source)
        self.heard(index, &address, now_ns)
        return self._find(index) is not NULL

    def end(self, index: int, position: int) -> None:
        self.end_at(index, position)

    def address(self, index: int) -> Address | None:
        cdef connection_t* connection = self._find(index)
        return None if connection is NULL else address_pair(&connection.control)

    def targets(self, now_ns: int) -> list[int]:
        return [
            index
            for index in range(self.slot_limit())
            if self.target(index, now_ns) is not NULL
        ]

    def active_count(self, now_ns: int, timeout_ns: int) -> int:
        return self.count_active(now_ns, timeout_ns)

    @property
    def end_position(self) -> int:
        return self.last_end_position()
