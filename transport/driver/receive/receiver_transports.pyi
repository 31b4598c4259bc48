from aerolog.transport.concurrent.agent import Agent
from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.memory.counters import CountersReader

class ReceiverTransports(Agent):
    def __init__(
        self,
        clock: Clock,
        counters: CountersReader,
        *,
        reresolution_check_interval_ns: int = ...,
        queue_length: int = 1024,
        role_name: str = "receiver",
    ) -> None: ...
