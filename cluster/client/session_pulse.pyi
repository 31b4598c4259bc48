from aerolog.transport.client.liveness import Pulse
from aerolog.transport.client.publication import Publication

class SessionPulse(Pulse):
    def __init__(self, publication: Publication, message: bytes, interval_ns: int) -> None: ...
