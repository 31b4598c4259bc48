from aerolog.transport.memory.counters import CountersReader

class ReceiveContext:
    def __init__(self, counters: CountersReader) -> None: ...
