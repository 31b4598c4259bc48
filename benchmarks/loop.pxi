# The base of the loops; included by their modules, needs int32_t, int64_t, uint8_t and the atomics.

cdef class Loop:
    """Count and stop flag of a loop; ``run`` is the loop."""

    cdef int64_t _count
    cdef uint8_t[128] _apart
    cdef int32_t _stop

    @property
    def count(self) -> int:
        """Messages so far."""
        return load_acquire_i64(&self._count)

    def stop(self) -> None:
        """Have ``run`` return; from any thread."""
        store_release_i32(&self._stop, 1)
