"""An agent that asks for ``control`` when its time has come, and wakes no interpreter before."""

from libc.stdint cimport int64_t

from aerolog.transport.concurrent.agent cimport Agent


cdef class PausingAgent(Agent):
    """An agent whose ``control`` is called from a time on that it sets itself.

    Attributes:
        due_ns: monotonic time of the next ``control``.
    """

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        if now_ns >= self.due_ns:
            self.control_due = True
        return 0
