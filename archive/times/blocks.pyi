from typing_extensions import Buffer

from aerolog.transport.memory.data_file import DataFile

class TimeBlocks:
    """The blocks of a time index, behind its header.

    Args:
        source: the file, or the whole of one in memory.
        recording_id: that each block has to name, as identity.
        identity: of the header.
        first: number of the first block that is kept.
    """

    def __init__(
        self, source: DataFile | Buffer, recording_id: int, identity: int, *, first: int = 0
    ) -> None: ...
    @property
    def recording_id(self) -> int: ...
    @property
    def identity(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def limit(self) -> int: ...
    def look_again(self) -> None: ...
    def block_of(self, position: int) -> int: ...
    def damaged(self) -> list[int]: ...
    def entries_of(self, number: int) -> bytes: ...

def encode_blocks(times: Buffer, positions: Buffer, recording_id: int, identity: int) -> bytearray:
    """Blocks of entries, as they stand in a file behind its header.

    Args:
        times: int64, epoch nanoseconds.
        positions: int64, as many, none before the one before it.
        recording_id: named in each block, as identity.
        identity: of the header.

    Raises:
        ValueError: as many of the one as of the other are wanted, positions in order.
    """
