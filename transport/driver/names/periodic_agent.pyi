from collections.abc import Callable

from aerolog.transport.concurrent.agent import Agent

class PeriodicAgent(Agent):
    interval_ns: int
    def __init__(
        self,
        role_name: str,
        work: Callable[[], int],
        close: Callable[[], None],
        interval_ns: int = 0,
    ) -> None: ...
    def ring(self) -> None: ...
