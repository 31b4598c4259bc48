from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.driver.conductor.driver_stream import PublicationStream
from aerolog.transport.memory.counters import CountersReader

class BatchStream(PublicationStream): ...

class SendContext:
    def __init__(self, clock: Clock, counters: CountersReader, queue_length: int) -> None: ...
