from aerolog.transport.events.event_log import EventLog
from aerolog.transport.network.port import Address, DatagramPort
from aerolog.transport.network.wrapped_port import WrappedPort

class LoggedPort(WrappedPort):
    def __init__(
        self,
        inner: DatagramPort,
        log: EventLog,
        remote: Address | None = None,
        *,
        frame_in: int = 0,
        frame_out: int = 0,
        nak_received: int = 0,
        nak_sent: int = 0,
    ) -> None: ...
    def name_channel(self, channel: str) -> None: ...
