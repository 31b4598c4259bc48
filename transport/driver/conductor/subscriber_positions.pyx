"""The positions of a stream's subscribers, or of a publication's spies (spec wire-protocol 11).

One conductor owns an object of this class: native methods run in its duty cycle without the GIL,
the Python ones in its control part on the same thread. Clients write the positions, which are read
with acquire; the stream has to bound what they claim.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.stdlib cimport free, realloc

from aerolog.transport.concurrent.atomic cimport load_acquire_i64
from aerolog.transport.memory.counters cimport CountersReader

SUBSCRIBER_ACTIVE = IN_ACTIVE
SUBSCRIBER_LINGER = IN_LINGER
SUBSCRIBER_RESTING = IN_RESTING


cdef class SubscriberPositions:
    """Subscriber positions by the ids of their counters.

    Args:
        counters: the counters of the driver; kept alive.
        window_limit_timeout_ns: how long an untethered subscriber may be behind the window.
        linger_timeout_ns: how long such a subscriber then still holds the stream back.
        resting_timeout_ns: how long it then rests before it may join again.
    """

    def __cinit__(
        self,
        CountersReader counters not None,
        *,
        window_limit_timeout_ns,
        linger_timeout_ns,
        resting_timeout_ns,
    ):
        self._counters = counters
        self._window_limit_timeout_ns = window_limit_timeout_ns
        self._linger_timeout_ns = linger_timeout_ns
        self._resting_timeout_ns = resting_timeout_ns

    def __dealloc__(self):
        free(self._items)

    # ---- native -------------------------------------------------------------------------------

    cdef int64_t lowest(self, int64_t* highest) noexcept nogil:
        cdef int64_t slowest = INT64_MAX
        cdef int64_t fastest = -1
        cdef int64_t position
        cdef int index
        for index in range(self.count):
            if self._items[index].state != IN_RESTING:
                position = max(<int64_t> 0, load_acquire_i64(self._items[index].position))
                slowest = min(slowest, position)
                fastest = max(fastest, position)
        highest[0] = fastest
        return slowest if fastest >= 0 else -1

    cdef bint all_reached(self, int64_t position) noexcept nogil:
        cdef int index
        for index in range(self.count):
            if (
                self._items[index].state != IN_RESTING
                and load_acquire_i64(self._items[index].position) < position
            ):
                return False
        return True

    cdef bint any_due(self, int64_t window_limit, int64_t now_ns) noexcept nogil:
        cdef int index
        for index in range(self.count):
            if self._is_due(&self._items[index], window_limit, now_ns):
                return True
        return False

    cdef void note_active(self, int64_t window_limit, int64_t now_ns) noexcept nogil:
        cdef int index
        for index in range(self.count):
            if (
                self._items[index].state == IN_ACTIVE
                and load_acquire_i64(self._items[index].position) > window_limit
            ):
                self._items[index].since_ns = now_ns

    cdef bint _is_due(
        self, const subscriber_t* subscriber, int64_t window_limit, int64_t now_ns
    ) noexcept nogil:
        cdef int64_t waited_ns
        if subscriber.tethered:
            return False
        waited_ns = now_ns - subscriber.since_ns
        if subscriber.state == IN_ACTIVE:
            return (
                waited_ns >= self._window_limit_timeout_ns
                and load_acquire_i64(subscriber.position) <= window_limit
            )
        if subscriber.state == IN_LINGER:
            return waited_ns >= self._linger_timeout_ns
        return waited_ns >= self._resting_timeout_ns

    cdef int _find(self, int32_t counter_id) noexcept:
        cdef int index
        for index in range(self.count):
            if self._items[index].counter_id == counter_id:
                return index
        return -1

    # ---- control ------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.count

    @property
    def counting(self) -> int:
        """How many subscribers count for flow control: all but those at rest."""
        return self.in_flow

    def extremes(self) -> tuple[int, int] | None:
        """Return the lowest and highest position of those in flow, None when there is none."""
        cdef int64_t fastest
        cdef int64_t slowest = self.lowest(&fastest)
        return None if slowest < 0 else (slowest, fastest)

    def reached(self, position: int) -> bool:
        """Return whether all in flow are at a position or past it; True when there is none."""
        return self.all_reached(position)

    def add(self, counter_id: int, tethered: bool, now_ns: int) -> None:
        """Add a subscriber's position, which counts for flow control from now on.

        Raises:
            IndexError: the counter id does not exist.
        """
        cdef subscriber_t* grown
        cdef subscriber_t* added
        cdef int capacity
        cdef int64_t* position = self._counters.value_address(counter_id)
        if position is NULL:
            raise IndexError(f"no such counter: {counter_id}")
        if self.count == self._capacity:
            capacity = max(4, 2 * self._capacity)
            grown = <subscriber_t*> realloc(self._items, capacity * sizeof(subscriber_t))
            if grown is NULL:
                raise MemoryError
            self._items = grown
            self._capacity = capacity
        added = &self._items[self.count]
        added.position = position
        added.counter_id = counter_id
        added.since_ns = now_ns
        added.state = IN_ACTIVE
        added.tethered = tethered
        self.count += 1
        self.in_flow += 1

    def remove(self, counter_id: int) -> bool:
        """Remove a subscriber's position; return whether it was there."""
        cdef int index = self._find(counter_id)
        if index < 0:
            return False
        self.in_flow -= self._items[index].state != IN_RESTING
        self.count -= 1
        self._items[index] = self._items[self.count]
        return True

    def has(self, counter_id: int) -> bool:
        """Return whether a subscriber's position is known, at rest or not."""
        return self._find(counter_id) >= 0

    def due(self, window_limit: int, now_ns: int) -> list[int]:
        """Return counter ids of the untethered subscribers that change state, the last one first.

        Args:
            window_limit: the position that an untethered subscriber must be past.
            now_ns: the monotonic time.
        """
        return [
            self._items[index].counter_id
            for index in range(self.count - 1, -1, -1)
            if self._is_due(&self._items[index], window_limit, now_ns)
        ]

    def state(self, counter_id: int) -> int:
        """Return the state of a subscriber: 0 active, 1 told that its image is gone, 2 at rest.

        Raises:
            KeyError: the position is not known.
        """
        cdef int index = self._find(counter_id)
        if index < 0:
            raise KeyError(counter_id)
        return self._items[index].state

    def set_state(self, counter_id: int, state: int, now_ns: int) -> None:
        """Change the state of a subscriber at a monotonic time.

        Raises:
            KeyError: the position is not known.
        """
        cdef int index = self._find(counter_id)
        if index < 0:
            raise KeyError(counter_id)
        self.in_flow -= self._items[index].state != IN_RESTING
        self._items[index].state = state
        self._items[index].since_ns = now_ns
        self.in_flow += state != IN_RESTING
