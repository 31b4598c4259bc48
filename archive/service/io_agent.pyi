from aerolog.archive.service.session_table import SessionTable
from aerolog.transport.agents.doorbell import Doorbell
from aerolog.transport.concurrent.agent import Agent
from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.memory.counters import CountersReader

class IoAgent(Agent):
    table: SessionTable
    doorbell: Doorbell
    clock: Clock
    buffer_length: int
    def __init__(
        self,
        role: str,
        table: SessionTable,
        doorbell: Doorbell,
        clock: Clock,
        *,
        buffer_length: int,
        counters: CountersReader,
        counter_ids: tuple[int, int, int],
    ) -> None: ...
