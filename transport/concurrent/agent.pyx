"""The base of every agent; how agents are turned is in agent_runner.

All methods of an agent are called on one thread at a time, the one that turns it.
"""

from libc.stdint cimport int64_t


cdef class Agent:
    """A unit of work with a name.

    A native agent overrides duty_cycle and sets control_due when it needs Python. A Python
    subclass overrides only control(), which is then called on every cycle.

    Args:
        role_name: what threads, logs and counters call it.
    """

    def __init__(self, role_name: str) -> None:
        self.role_name = role_name
        self.control_due = False

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        self.control_due = True
        return 0

    def control(self) -> int:
        """The part of the work that is Python; returns a work count, 0 when there was nothing."""
        return 0

    def on_start(self) -> None:
        """Called once before the first cycle."""

    def on_close(self) -> None:
        """Called once after the last cycle."""
