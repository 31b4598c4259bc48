"""An agent that calls a Python function at intervals or when it is asked to.

A cycle without work costs two comparisons and no GIL.
"""

from libc.stdint cimport int64_t

from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.atomic cimport load_acquire_i32, store_release_i32


cdef class PeriodicAgent(Agent):
    """Calls a function at intervals, and soon after `ring`.

    Args:
        role_name: the agent's name in threads, logs and counters.
        work: the function; it returns a work count, 0 when there was nothing to do.
        close: called once when the agent ends.
        interval_ns: nanoseconds between two calls, 0 for calls after `ring` only.
    """

    def __init__(
        self, role_name: str, work: object, close: object, interval_ns: int = 0
    ) -> None:
        Agent.__init__(self, role_name)
        self._work = work
        self._close = close
        self.interval_ns = interval_ns

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        if load_acquire_i32(&self._rung):
            self.control_due = True
        if self.interval_ns > 0 and now_ns >= self._next_ns:
            self._next_ns = now_ns + self.interval_ns
            self.control_due = True
        return 0

    def ring(self) -> None:
        """Request a call in the next duty cycle; any thread may do so."""
        store_release_i32(&self._rung, 1)

    def control(self) -> int:
        """Call the work function; return its work count."""
        store_release_i32(&self._rung, 0)  # first: a ring during the work gets another call
        return self._work()

    def on_close(self) -> None:
        """Call the close function."""
        self._close()
