from aerolog.transport.concurrent.agent import Agent
from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.memory.counters import CountersReader

class Reception(Agent):
    """What the receiver does by itself; see `Receiver`."""

    def __init__(
        self,
        clock: Clock,
        counters: CountersReader,
        *,
        reresolution_check_interval_ns: int = ...,
        queue_length: int = 1024,
        role_name: str = "receiver",
    ) -> None: ...
