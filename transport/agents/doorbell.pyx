"""A bell by which an agent on another thread calls its conductor."""

from aerolog.transport.concurrent.atomic cimport cas_i32, load_acquire_i32, store_release_i32
from aerolog.transport.concurrent.idle cimport IdleStrategy


cdef class Doorbell:
    """Tells a conductor that one of its agents needs it."""

    cdef void ring(self) noexcept nogil:
        store_release_i32(&self._rung, 1)
        if self._listener_idle is not None:
            self._listener_idle.wake()

    cdef bint take(self) noexcept nogil:
        return cas_i32(&self._rung, 1, 0)

    cdef bint is_rung(self) noexcept nogil:
        return load_acquire_i32(&self._rung) != 0

    def wakes(self, IdleStrategy idle not None) -> None:
        """End the listener's park whenever the bell rings; called before other threads start."""
        self._listener_idle = idle

    def ring_bell(self) -> None:
        """Ring the bell; callable from any thread."""
        self.ring()
