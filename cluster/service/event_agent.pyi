from typing import Final

from aerolog.transport.concurrent.agent import Agent

SEND_TIMEOUT_NS: Final[int]

class EventAgent(Agent):
    time: int
    log_position: int
    leadership_term_id: int
    is_answering: bool
    in_batch: bool
    callback: str
    send_timeout_ns: int
    missed: int
    egress_wait_ns: int
    def check_callback(self, request: str) -> None: ...
    def check_single(self, name: str, field: str) -> None: ...
    def egress_header(self, session_id: int) -> bytes: ...
