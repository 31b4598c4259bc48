"""The base of every stream that the conductor's agent turns."""

from libc.stdint cimport int64_t


cdef class DriverStream:
    """One stream, turned by the conductor.

    Sub-classes override ``update``, ``needs_control`` and ``tick`` and make ``allocation``.
    """

    cdef int update(self, int64_t now_ns) noexcept nogil:
        return 0

    cdef bint needs_control(self, int64_t now_ns) noexcept nogil:
        return False

    cdef void tick(self, int64_t now_ns) noexcept nogil:
        pass

    cdef int64_t granted(self, int64_t limit) noexcept nogil:
        cdef int error_before = self.allocation.error
        if limit <= self.allocation.limit:
            return limit
        limit = self.allocation.granted(limit)
        if self.allocation.error != error_before:
            self.allocation_refused = True
        return limit

    cdef void retry_allocation(self) noexcept nogil:
        self.allocation.retry()
        self.allocation_refused = False

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
        """The errno of disk space refused since the last timer event, once; else 0."""
        if not self.allocation_refused:
            return 0
        self.allocation_refused = False
        return self.allocation.error
