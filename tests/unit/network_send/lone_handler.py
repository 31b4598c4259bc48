"""A retransmit handler of a stream that shares its endpoint with nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.transport.driver.send.retransmit_handler import RetransmitHandler
from aerolog.transport.driver.send.send_endpoint import SharedWindow

if TYPE_CHECKING:
    from aerolog.transport.driver.flow_control.flow_control import FlowControl

Answer = tuple[int, tuple[int, int, int] | None]


class LoneHandler(RetransmitHandler):
    """Its own endpoint's shared window answers for it."""

    def __init__(self, term_length: int, **options: Any) -> None:
        super().__init__(term_length, **options)
        self.shared = SharedWindow()

    def ask(self, flow: FlowControl, term_id: int, offset: int, length: int, now: int) -> Answer:
        """A NAK."""
        return self.nak(flow, self.shared, term_id, offset, length, now)
