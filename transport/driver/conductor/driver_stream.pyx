"""The base of everything that the conductor's clockwork turns."""

from libc.stdint cimport int64_t


cdef class ConductedStream:
    """One stream, turned by the conductor.

    Sub-classes override ``update``, ``needs_control`` and ``tick`` and make ``room``.
    """

    cdef int update(self, int64_t now_ns) noexcept nogil:
        return 0

    cdef bint needs_control(self, int64_t now_ns) noexcept nogil:
        return False

    cdef void tick(self, int64_t now_ns) noexcept nogil:
        pass

    cdef int64_t granted(self, int64_t limit) noexcept nogil:
        cdef int error_before = self.room.error
        if limit <= self.room.limit:
            return limit
        limit = self.room.granted(limit)
        if self.room.error != error_before:
            self.room_refused = True
        return limit

    cdef void retry_room(self) noexcept nogil:
        self.room.retry()
        self.room_refused = False

    def needs_attention(self, now_ns: int) -> bool:
        """Whether a timer event at this time has something to tell clients."""
        return self.needs_control(now_ns)

    def on_timer(self, now_ns: int) -> None:
        """The native share of a timer event."""
        self.tick(now_ns)

    def on_cycle(self, now_ns: int = 0) -> int:
        """The native share of a duty cycle at a monotonic time; returns a work count."""
        return self.update(now_ns)

    def refused_allocation(self) -> int:
        """The errno of room refused since the last timer event, once; else 0."""
        if not self.room_refused:
            return 0
        self.room_refused = False
        return self.room.error
