"""An agent that calls ``control`` at a set time and does not run the interpreter before."""

from libc.stdint cimport int64_t

from aerolog.transport.concurrent.agent cimport Agent


cdef class TimedAgent(Agent):
    """An agent whose ``control`` is called at a time that it sets itself.

    Attributes:
        due_ns: monotonic time of the next ``control``, nanoseconds.
    """

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        if now_ns >= self.due_ns:
            self.control_due = True
        return 0
