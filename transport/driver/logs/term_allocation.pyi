from aerolog.transport.logbuffer.descriptor import LogBuffers

class TermRoom:
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
