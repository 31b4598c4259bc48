from aerolog.transport.concurrent.agent_runner import AgentInvoker

class TurnedAgent(AgentInvoker):
    """One agent of an invoker that has been started, as if it had a thread of its own."""

    owner: AgentInvoker
    def __init__(self, owner: AgentInvoker, index: int) -> None: ...
