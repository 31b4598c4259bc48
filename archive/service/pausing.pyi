from aerolog.transport.concurrent.agent import Agent

class PausingAgent(Agent):
    """An agent whose ``control`` is called from a time on that it sets itself.

    Attributes:
        due_ns: monotonic time of the next ``control``.
    """

    due_ns: int
