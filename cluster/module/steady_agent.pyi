from aerolog.archive.service.conductor.conductor_agent import WatchAgent
from aerolog.archive.service.session_table import Doorbell
from aerolog.transport.client.image import Image
from aerolog.transport.client.liveness import Liveness
from aerolog.transport.client.publication import ExclusivePublication
from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.memory.counters import CountersReader

def pass_over_messages(image: Image, limit: int, until: int) -> int: ...

class SteadyAgent(WatchAgent):
    messages: int
    strangers: int
    last_stranger: int
    is_log_ended: bool
    def __init__(
        self,
        role_name: str,
        doorbell: Doorbell,
        liveness: Liveness,
        clock: Clock,
        *,
        time_divisor: int,
        ingress_limit: int,
    ) -> None: ...
    def lead(
        self,
        leadership_term_id: int,
        log: ExclusivePublication,
        counters: CountersReader,
        recorded_id: int,
        recorded_registration: int,
        commit_id: int,
    ) -> None: ...
    def follow(self) -> None: ...
    def take_ingress(self, is_taking: bool) -> None: ...
    def set_ingress(self, images: tuple[Image, ...]) -> None: ...
    def set_sessions(self, sessions: list[tuple[int, int, int]]) -> None: ...
    def forget_images(self) -> None: ...
    def takes_from(self, session_id: int, image_id: int) -> bool: ...
    def take_left(self) -> bool: ...
    def last_activity_ns(self, session_id: int) -> int: ...
    def now(self) -> int: ...
