from aerolog.transport.concurrent.agent import Agent
from aerolog.transport.concurrent.agent_runner import DutyCycleTracker
from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.concurrent.idle import IdleStrategy
from aerolog.transport.driver.conductor.driver_conductor import DriverConductor
from aerolog.transport.driver.conductor.driver_stream import DriverStream
from aerolog.transport.driver.receive.receiver import Receiver
from aerolog.transport.driver.send.sender import Sender
from aerolog.transport.memory.counters import CountersReader
from aerolog.transport.memory.cycle_histograms import CycleHistograms
from aerolog.transport.memory.ring_buffer import ManyToOneRingBuffer

class ConductorAgent(Agent):
    def __init__(
        self,
        conductor: DriverConductor,
        clock: Clock,
        commands: ManyToOneRingBuffer,
        counters: CountersReader,
        *,
        unblocked_commands_id: int,
        timer_interval_ns: int,
        client_liveness_timeout_ns: int,
    ) -> None: ...
    @property
    def now_ns(self) -> int: ...
    @property
    def now_ms(self) -> int: ...
    @property
    def client_liveness_ms(self) -> int: ...
    def free_more(self, now: bool, at_timer: bool) -> None: ...
    def ask_at_timers(self) -> None: ...
    def watch_events(self, sender: Sender, receiver: Receiver) -> None: ...
    def add_stream(self, stream: DriverStream) -> None: ...
    def remove_stream(self, stream: DriverStream) -> None: ...
    def watch_client(self, counter_id: int) -> None: ...
    def forget_client(self, counter_id: int) -> None: ...

def cycle_tracker(
    counters: CountersReader,
    max_cycle_id: int,
    exceeded_id: int,
    threshold_ns: int,
    histograms: CycleHistograms | None,
    agent: str,
) -> DutyCycleTracker: ...
def bind_idle_strategy(strategy: IdleStrategy, counters: CountersReader, mode_id: int) -> None: ...
