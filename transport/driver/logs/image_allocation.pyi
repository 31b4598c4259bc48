from aerolog.transport.driver.logs.term_allocation import TermRoom
from aerolog.transport.logbuffer.descriptor import LogBuffers

#: Bytes of a piece; a shorter term is made in one.
PIECE_LENGTH: int

class ImageRoom(TermRoom):
    def __init__(self, logs: LogBuffers, start_position: int, *, sparse: bool) -> None: ...
