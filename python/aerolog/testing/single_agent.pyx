"""One agent of a driver or archive, to be run by itself and not after those before it."""

from aerolog.transport.concurrent.agent_runner cimport AgentInvoker

cdef enum:
    RUNNING = 1  # as in agent_runner
    STOPPED = 2


cdef class SingleAgent(AgentInvoker):
    """One agent of an invoker that has been started, as if it had a thread of its own.

    Args:
        owner: the invoker; it opens and closes the agent.
        index: which of its agents.
    """

    cdef readonly AgentInvoker owner

    def __init__(self, owner: AgentInvoker, index: int) -> None:
        super().__init__(
            [owner.agents[index]],
            clock=owner.clock,
            error_handler=owner.error_handler,
            trackers=[owner.trackers[index]],
            on_failure=owner.on_failure,
        )
        self.owner = owner
        self._state = RUNNING

    def close(self) -> None:
        """Close all agents of the invoker, as when one of them ends it."""
        if self._state != STOPPED:
            self._state = STOPPED
            self.owner.close()
