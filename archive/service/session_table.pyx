"""Hand-over of native sessions from a conductor to an agent on another thread."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

from aerolog.transport.concurrent.atomic cimport (
    load_acquire_i32,
    load_acquire_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.concurrent.idle cimport IdleStrategy

DEFAULT_CAPACITY = 1024


cdef class SessionTable:
    """The sessions that an agent on another thread works on.

    Args:
        capacity: most sessions at a time; the conductor keeps further ones waiting.
    """

    def __cinit__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        if capacity <= 0:
            raise ValueError(f"capacity={capacity} must be positive")
        self.capacity = capacity
        self._slots = <int64_t*> calloc(capacity, sizeof(int64_t))
        if self._slots == NULL:
            raise MemoryError()

    def __dealloc__(self) -> None:
        free(self._slots)

    cdef int32_t limit(self) noexcept nogil:
        return load_acquire_i32(&self._high_water)

    cdef void* at(self, int32_t index) noexcept nogil:
        return <void*> load_acquire_i64(&self._slots[index])

    cdef void empty(self, int32_t index) noexcept nogil:
        store_release_i64(&self._slots[index], 0)

    def wakes(self, IdleStrategy idle not None) -> None:
        """End the agent's park whenever a session is added; called before its thread starts."""
        self._agent_idle = idle

    def add(self, session: object) -> bool:
        """Add a session, which the caller keeps alive; returns False when all slots are taken."""
        cdef int32_t index
        for index in range(self.capacity):
            if load_acquire_i64(&self._slots[index]) == 0:
                store_release_i64(&self._slots[index], <int64_t> <void*> session)
                if index >= self._high_water:
                    store_release_i32(&self._high_water, index + 1)
                if self._agent_idle is not None:
                    self._agent_idle.wake()
                return True
        return False

    def sessions(self) -> list[tuple[int, object]]:
        """Return the used slots with their sessions; called by the agent's thread only."""
        cdef int32_t index
        cdef void* pointer
        found = []
        for index in range(self.limit()):
            pointer = self.at(index)
            if pointer != NULL:
                found.append((index, <object> pointer))
        return found

    def release(self, index: int) -> None:
        """Empty a slot; called by the agent's thread only."""
        if not 0 <= index < self.capacity:
            raise IndexError(f"slot {index} of {self.capacity}")
        self.empty(index)
