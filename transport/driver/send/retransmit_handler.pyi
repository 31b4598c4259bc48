from aerolog.transport.driver.flow_control.flow_control import FlowControl
from aerolog.transport.driver.send.send_endpoint import SharedWindow
from aerolog.transport.events.event_log import StreamEvents

RETRANSMIT_NOW: int
RETRANSMIT_LATER: int
RETRANSMIT_NOTHING: int
RETRANSMIT_INVALID: int
RETRANSMIT_NO_SLOT: int
RETRANSMIT_OVER_BUDGET: int
MAX_RESEND_LIMIT: int

class RetransmitHandler:
    term_length: int
    max_resend: int
    is_group: bool
    delay_ns: int
    linger_ns: int
    def __init__(
        self,
        term_length: int,
        *,
        is_group: bool,
        max_resend: int = 16,
        delay_ns: int = 0,
        linger_ns: int = 10_000_000,
        events: StreamEvents | None = None,
    ) -> None: ...
    @property
    def active(self) -> int: ...
    def nak(
        self,
        flow_control: FlowControl,
        shared: SharedWindow,
        term_id: int,
        term_offset: int,
        length: int,
        now_ns: int,
    ) -> tuple[int, tuple[int, int, int] | None]: ...
    def due(self, now_ns: int) -> list[tuple[int, int, int]]: ...

def is_resendable(
    position: int, sender_position: int, term_length: int, max_message_length: int
) -> bool: ...
