from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.driver.conducted import ConductedStream
from aerolog.transport.memory.counters import CountersReader

class SentStream(ConductedStream):
    """What the results of sent messages are told to; native code only."""

class SendContext:
    """Counters, reports and the batch of a sender; native code only."""

    def __init__(self, clock: Clock, counters: CountersReader, queue_length: int) -> None:
        """Args:
        clock: of the driver.
        counters: holds the system counters under their fixed ids.
        queue_length: events that may wait.
        """
