from aerolog.transport.concurrent.clock import Clock
from aerolog.transport.memory.mapped_file import MappedFile

class MarkBeat:
    def __init__(
        self,
        mapped: MappedFile,
        clock: Clock,
        *,
        activity_offset: int,
        pid_offset: int,
        started_offset: int,
        pid: int,
        started: int,
    ) -> None: ...
