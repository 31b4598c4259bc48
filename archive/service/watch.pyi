from aerolog.archive.service.session_table import Doorbell
from aerolog.transport.client.image import Image
from aerolog.transport.client.liveness import Liveness
from aerolog.transport.concurrent.agent import Agent

class WatchAgent(Agent):
    """Asks for control() when there is something for the conductor to do."""

    doorbell: Doorbell
    liveness: Liveness
    deadline_ns: int
    def __init__(self, role_name: str, doorbell: Doorbell, liveness: Liveness) -> None: ...
    def watch(self, images: tuple[Image, ...], deadline_ns: int) -> None: ...
    def take_bell(self) -> bool: ...
