from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.memory.broadcast import BroadcastReceiver
from aerolog.transport.memory.counters import CountersReader
from aerolog.transport.memory.ring_buffer import ManyToOneRingBuffer

QUIET: int
MESSAGE: int
STOPPED: int
SERVICE_INTERVAL_EXCEEDED: int
DRIVER_SHUT_DOWN: int
DRIVER_SILENT: int
HEARTBEAT_COUNTER_GONE: int

def current_fork_generation() -> int: ...

class Pulse: ...

class Liveness:
    client_id: int
    driver_timeout_ms: int
    keepalive_interval_ns: int
    inter_service_timeout_ns: int
    driver_age_ms: int
    service_gap_ns: int
    heartbeat_counter_id: int

    def __init__(
        self,
        receiver: BroadcastReceiver,
        ring: ManyToOneRingBuffer,
        counters: CountersReader,
        clock: Clock,
        *,
        client_id: int,
        driver_timeout_ns: int,
        keepalive_interval_ns: int,
        inter_service_timeout_ns: int,
        label_suffix: bytes,
    ) -> None: ...
    def add_pulse(self, pulse: Pulse) -> None: ...
    def remove_pulse(self, pulse: Pulse) -> None: ...
    def service(self) -> int: ...
    def wait(self, idle_ns: int) -> int: ...
    def await_message(self, timeout_ns: int) -> bool: ...
    def request(self) -> None: ...
    def stop(self) -> None: ...
