from aerolog.transport.logbuffer.descriptor import LogBuffers

class TermAllocation:
    def __init__(
        self,
        logs: LogBuffers,
        start_position: int,
        *,
        sparse: bool,
        single_writer: bool = False,
        plenty: bool = False,
    ) -> None: ...
    @property
    def room_limit(self) -> int: ...
    def grant(self, position_limit: int) -> int: ...

#: The bytes of a piece; a shorter term is allocated at once.
PIECE_LENGTH: int

class ImageAllocation(TermAllocation):
    def __init__(self, logs: LogBuffers, start_position: int, *, sparse: bool) -> None: ...
