from aerolog.transport.agents.doorbell import Doorbell
from aerolog.transport.client.client_conductor import ClientConductor
from aerolog.transport.client.image import Image
from aerolog.transport.client.liveness import Liveness
from aerolog.transport.concurrent.agent import Agent
from aerolog.transport.memory.mark_beat import MarkBeat

class WatchAgent(Agent):
    doorbell: Doorbell
    liveness: Liveness
    deadline_ns: int
    fatal_code: int
    mark_beat: MarkBeat | None
    def __init__(self, role_name: str, doorbell: Doorbell, liveness: Liveness) -> None: ...
    def prepare_thread(self) -> None: ...
    def watch(self, images: tuple[Image, ...], deadline_ns: int) -> None: ...
    def turn_client(self, conductor: ClientConductor) -> int: ...
    def take_bell(self) -> bool: ...
