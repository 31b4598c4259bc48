from typing import Final

from aerolog.transport.memory.data_file import DataFile

WINDOW_LENGTH: Final[int]

class SegmentWindow:
    def __init__(self, room: int = ...) -> None: ...
    @property
    def room(self) -> int: ...
    def open(self, file: DataFile) -> None: ...
