from aerolog.transport.concurrent.agent_runner import AgentInvoker

class SingleAgent(AgentInvoker):
    owner: AgentInvoker
    def __init__(self, owner: AgentInvoker, index: int) -> None: ...
