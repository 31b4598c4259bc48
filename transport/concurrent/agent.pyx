"""The base of all agents; agent_runner has the runners that invoke them.

All methods of an agent are called on one thread at a time, that of its runner or invoker.
"""

from libc.stdint cimport int64_t


cdef class Agent:
    """A unit of work with a name.

    A native agent overrides duty_cycle and sets control_due when it needs Python. A Python
    subclass overrides only control(), which is then called on every cycle.

    Args:
        role_name: the agent's name in threads, logs and counters.
    """

    def __init__(self, role_name: str) -> None:
        self.role_name = role_name
        self.control_due = False

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        self.control_due = True
        return 0

    def control(self) -> int:
        """Do the part of the work that needs Python; returns a work count, 0 for no work."""
        return 0

    def on_start(self) -> None:
        """Prepare the agent; called once before the first cycle."""

    def on_close(self) -> None:
        """Release what the agent holds; called once after the last cycle."""
