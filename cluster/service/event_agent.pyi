from aerolog.transport.concurrent.agent import Agent

class EventAgent(Agent):
    time: int
    log_position: int
    leadership_term_id: int
    is_answering: bool
    in_batch: bool
    callback: str
    def check_callback(self, request: str) -> None: ...
    def check_single(self, name: str, field: str) -> None: ...
    def egress_header(self, session_id: int) -> bytes: ...
