from aerolog.transport.concurrent.agent import Agent
from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.memory.counters import CountersReader

class SenderEndpoints(Agent):
    def __init__(
        self, clock: Clock, counters: CountersReader, role_name: str, queue_length: int
    ) -> None: ...
