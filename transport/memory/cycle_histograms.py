"""The file in which aerolog's driver counts how long the duty cycles of its agents take.

It lies beside cnc.dat. The reference has no such file and nothing depends on it, so it can be
deleted at any time. Its integers are little-endian::

    0    i32    version, 1; stored last
    4    i32    agents
    8    i64    not used
    16   of each agent, 640 bytes:
        0    128 bytes  name, ASCII, filled with zeros
        128  i64 x 64   cycles of less than 2, 4, 8, ... ns, each without those before

Each agent writes only its own words; any process may read them all.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.transport.memory.filesystem import FileSystem
    from aerolog.transport.memory.mapped_file import MappedFile

FILE_NAME: Final = "aerolog-cycles.dat"
VERSION: Final = 1
BUCKETS: Final = 64

_HEADER_LENGTH: Final = 16
_NAME_LENGTH: Final = 128
_RECORD_LENGTH: Final = _NAME_LENGTH + 8 * BUCKETS
_COUNTS: Final = struct.Struct(f"<{BUCKETS}q")


@dataclass(frozen=True, slots=True)
class CycleCounts:
    """Cycles of one agent.

    Attributes:
        agent: the agent's name, with which the label of its counter begins.
        counts: cycles of less than 2, 4, 8, ... ns, each without those before; 64 of them.
    """

    agent: str
    counts: tuple[int, ...]


class CycleHistograms:
    """The file of a running driver, to which its agents write."""

    def __init__(self, mapped: MappedFile, agents: Sequence[str]) -> None:
        self.mapped = mapped
        self._agents = tuple(agents)

    @classmethod
    def create(cls, file_system: FileSystem, path: str, agents: Sequence[str]) -> CycleHistograms:
        """Create the file with all counts zero.

        Args:
            file_system: the file system of the path.
            path: path of a file that does not exist.
            agents: ASCII names of at most 127 characters.

        Raises:
            StorageSpaceError: if the file does not fit on the disk.
        """
        mapped = file_system.create_mapped(path, _HEADER_LENGTH + len(agents) * _RECORD_LENGTH)
        for index, agent in enumerate(agents):
            name = agent.encode("ascii")[: _NAME_LENGTH - 1]
            mapped.view(_HEADER_LENGTH + index * _RECORD_LENGTH, len(name))[:] = name
        mapped.store_i32(4, len(agents))
        mapped.store_i32(0, VERSION)
        return cls(mapped, agents)

    def offset_of(self, agent: str) -> int:
        """Return the offset in the file at which an agent's counts begin.

        Raises:
            ValueError: if the file has no such agent.
        """
        return _HEADER_LENGTH + self._agents.index(agent) * _RECORD_LENGTH + _NAME_LENGTH


def read_cycles(mapped: MappedFile) -> list[CycleCounts]:
    """Read the present counts of all agents.

    Raises:
        FileFormatError: if the file has another version or is too short for its agents.
    """
    if mapped.length < _HEADER_LENGTH:
        raise FileFormatError(f"{mapped.path} is truncated: length={mapped.length}")
    version, agents = mapped.load_i32(0), mapped.load_i32(4)
    if version != VERSION:
        raise FileFormatError(f"{mapped.path} has version {version}, this reads {VERSION}")
    if not 0 <= agents <= (mapped.length - _HEADER_LENGTH) // _RECORD_LENGTH:
        raise FileFormatError(f"{mapped.path} is truncated: agents={agents} at {mapped.length}")
    found = []
    for index in range(agents):
        at = _HEADER_LENGTH + index * _RECORD_LENGTH
        name = bytes(mapped.view(at, _NAME_LENGTH)).partition(b"\0")[0].decode("ascii", "replace")
        counts = _COUNTS.unpack(mapped.view(at + _NAME_LENGTH, _COUNTS.size))
        found.append(CycleCounts(name, tuple(max(count, 0) for count in counts)))
    mapped.check()
    return found
