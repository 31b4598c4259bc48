from aerolog.transport.memory.counters import CountersReader

class ReceiveContext:
    """Counters and the frames that a receiver sends in one cycle; native code only."""

    def __init__(self, counters: CountersReader) -> None:
        """Args:
        counters: holds the system counters under their fixed ids.
        """
