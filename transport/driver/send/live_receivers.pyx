"""The receivers of a publication (spec wire-protocol 5.2, 5.6), told apart by receiver id only."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc


cdef class LiveReceivers:
    """The receivers that send status messages for a publication.

    Args:
        timeout_ns: a receiver that is silent for longer is forgotten.
    """

    def __init__(self, timeout_ns):
        """Make an empty table.

        Args:
            timeout_ns: a receiver that is silent for longer is forgotten.
        """
        self._timeout_ns = timeout_ns

    def __dealloc__(self):
        free(self._items)

    cdef void heard(self, int64_t receiver_id, int64_t now_ns) noexcept nogil:
        cdef live_receiver_t* grown
        cdef int32_t capacity
        cdef int32_t i
        for i in range(self.count):
            if self._items[i].receiver_id == receiver_id:
                self._items[i].last_heard_ns = now_ns
                return
        if self.count == self._capacity:
            capacity = min(max(2 * self._capacity, 2), <int32_t> MAX_LIVE_RECEIVERS)
            if capacity == self._capacity:
                return
            grown = <live_receiver_t*> realloc(self._items, capacity * sizeof(live_receiver_t))
            if grown == NULL:
                return
            self._items = grown
            self._capacity = capacity
        if self.count == 0:
            self.first_expiry_ns = now_ns + self._timeout_ns
        self._items[self.count].receiver_id = receiver_id
        self._items[self.count].last_heard_ns = now_ns
        self.count += 1

    cdef bint forget(self, int64_t receiver_id) noexcept nogil:
        cdef int32_t i
        for i in range(self.count):
            if self._items[i].receiver_id == receiver_id:
                self.count -= 1
                self._items[i] = self._items[self.count]
                return True
        return False

    cdef void expire(self, int64_t now_ns) noexcept nogil:
        cdef int64_t oldest_ns = now_ns
        cdef int32_t i = self.count - 1
        if self.count == 0 or self.first_expiry_ns - now_ns >= 0:
            return
        while i >= 0:
            if self._items[i].last_heard_ns + self._timeout_ns - now_ns < 0:
                self.count -= 1
                self._items[i] = self._items[self.count]
            elif self._items[i].last_heard_ns - oldest_ns < 0:
                oldest_ns = self._items[i].last_heard_ns
            i -= 1
        self.first_expiry_ns = oldest_ns + self._timeout_ns

    def __len__(self) -> int:
        return self.count

    def hear(self, receiver_id: int, now_ns: int) -> None:
        """Record a status message of a receiver."""
        self.heard(receiver_id, now_ns)

    def drop(self, receiver_id: int) -> bool:
        """Forget a receiver; return whether it was known."""
        return self.forget(receiver_id)

    def expire_at(self, now_ns: int) -> int:
        """Forget receivers that have timed out; return how many are left."""
        self.expire(now_ns)
        return self.count
