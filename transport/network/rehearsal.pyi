from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.network.drop_rules import DropRule
from aerolog.transport.network.port import DatagramPort
from aerolog.transport.network.wrapped_port import WrappedPort

class Disturbance:
    passed: int
    dropped: int
    duplicated: int
    delayed: int
    overflowed: int
    def __init__(
        self,
        rule: DropRule | None = None,
        seed: int = 0,
        *,
        duplicate: float = 0.0,
        reorder: float = 0.0,
        reorder_ns: int = 1_000_000,
        delay_ns: int = 0,
        jitter_ns: int = 0,
    ) -> None: ...

class RehearsedPort(WrappedPort):
    outgoing: Disturbance
    incoming: Disturbance
    def __init__(
        self,
        inner: DatagramPort,
        outgoing: Disturbance | None = None,
        incoming: Disturbance | None = None,
        clock: Clock | None = None,
    ) -> None: ...
