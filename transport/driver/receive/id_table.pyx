"""A table of int64 keys for native code: streams and sessions of an endpoint."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free

cdef enum:
    FIRST_SLOT_COUNT = 16


cdef inline int64_t _hash(int64_t key) noexcept nogil:
    """Neighbouring stream and session ids far apart."""
    cdef uint64_t mixed = <uint64_t> key
    mixed = (mixed ^ (mixed >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    mixed = (mixed ^ (mixed >> 27)) * <uint64_t> 0x94D049BB133111EB
    return <int64_t> ((mixed ^ (mixed >> 31)) >> 1)


cdef class IdTable:
    """A table of int64 keys; the methods here are for tests."""
    def __dealloc__(self) -> None:
        free(self._slots)

    cdef slot_t* find(self, int64_t key) noexcept nogil:
        cdef int64_t mask = self.slot_count - 1
        cdef int64_t index
        if self.used == 0:
            return NULL
        index = _hash(key) & mask
        while self._slots[index].state != 0:
            if self._slots[index].key == key:
                return &self._slots[index]
            index = (index + 1) & mask
        return NULL

    cdef slot_t* add(self, int64_t key, int32_t state) noexcept nogil:
        cdef slot_t* slot = self.find(key)
        cdef int64_t index
        if slot is NULL:
            # At most half full, so that a walk from a key's place stays short.
            if 2 * (self.used + 1) > self.slot_count and not self._grow():
                return NULL
            index = _hash(key) & (self.slot_count - 1)
            while self._slots[index].state != 0:
                index = (index + 1) & (self.slot_count - 1)
            slot = &self._slots[index]
            slot.key = key
            slot.time_ns = 0
            slot.value = NULL
            slot.count = 0
            self.used += 1
        slot.state = state
        return slot

    cdef bint _grow(self) noexcept nogil:
        cdef slot_t* old = self._slots
        cdef int64_t old_count = self.slot_count
        cdef int64_t count = max(<int64_t> FIRST_SLOT_COUNT, 2 * old_count)
        cdef slot_t* grown = <slot_t*> calloc(<size_t> count, sizeof(slot_t))
        cdef int64_t at, index
        if grown is NULL:
            return False
        for at in range(old_count):
            if old[at].state != 0:
                index = _hash(old[at].key) & (count - 1)
                while grown[index].state != 0:
                    index = (index + 1) & (count - 1)
                grown[index] = old[at]
        self._slots = grown
        self.slot_count = count
        free(old)
        return True

    cdef void remove(self, int64_t key) noexcept nogil:
        cdef slot_t* slot = self.find(key)
        if slot is not NULL:
            self.remove_at(slot - self._slots)

    cdef void remove_at(self, int64_t index) noexcept nogil:
        """Close the gap: what stands behind it and belongs at or before it moves up."""
        cdef int64_t mask = self.slot_count - 1
        cdef int64_t gap = index
        cdef int64_t at = index
        cdef int64_t home
        self.used -= 1
        while True:
            at = (at + 1) & mask
            if self._slots[at].state == 0:
                break
            home = _hash(self._slots[at].key) & mask
            if ((at - home) & mask) >= ((at - gap) & mask):
                self._slots[gap] = self._slots[at]
                gap = at
        self._slots[gap].state = 0

    cdef slot_t* at(self, int64_t index) noexcept nogil:
        return &self._slots[index]

    def put(self, key: int, state: int) -> None:
        """Raises ValueError for a state below 1, MemoryError without memory."""
        if state < 1:
            raise ValueError(f"state {state} would mark a free slot; use 1 or more")
        if self.add(key, state) is NULL:
            raise MemoryError

    def get(self, key: int) -> int | None:
        cdef slot_t* slot = self.find(key)
        return None if slot is NULL else slot.state

    def discard(self, key: int) -> None:
        self.remove(key)

    def keys(self) -> list[int]:
        cdef int64_t index
        return [
            self._slots[index].key
            for index in range(self.slot_count)
            if self._slots[index].state != 0
        ]

    def __len__(self) -> int:
        return self.used
