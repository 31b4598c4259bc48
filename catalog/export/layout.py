"""Names of an export's files. They are made from positions: the same range has the same name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

ROWS: Final = "rows"
REJECTS: Final = "rejects"


def parquet_name(recording_id: int) -> str:
    """Name of a recording's file in the layout of a file for each recording."""
    return f"recording-{recording_id}.parquet"


def part_name(from_position: int, until_position: int) -> str:
    """Name of a range's file in a partitioned layout; by name they are in order of position."""
    return f"part-{from_position:019d}-{until_position:019d}.parquet"


def recording_key(recording_id: int, archive: str) -> str:
    """What names a recording in a manifest; the archive only where recordings are of several."""
    return f"{archive}/{recording_id}" if archive else str(recording_id)


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the files of one recording are.

    Attributes:
        recording_id: the recording's id in its archive.
        values: of the partition keys, in order; empty in the layout of a file each.
        decoded: whether there are two tables, rows and rejects.
    """

    recording_id: int
    values: Mapping[str, str]
    decoded: bool

    def folder(self, table: str) -> str:
        """Folder of a table's files, relative to the target; "" is the target.

        Beside rows of messages, rejects are in a folder that readers of the target skip.
        """
        parts = [table] if self.decoded else [] if table == ROWS else [f"_{table}"]
        return "/".join([*parts, *(f"{key}={quote(value)}" for key, value in self.values.items())])

    def path(self, table: str, from_position: int, until_position: int) -> str:
        """Path of the file of a range."""
        name = (
            part_name(from_position, until_position)
            if self.values
            else parquet_name(self.recording_id)
        )
        folder = self.folder(table)
        return f"{folder}/{name}" if folder else name


def end_of_part(from_position: int, file_length: int, term_length: int) -> int:
    """Where the file that begins at a position ends at the latest.

    It is a multiple of the file's length, or of the next longer one that is whole terms: at the
    beginning of a term no message is under way.
    """
    step = -(-file_length // term_length) * term_length
    return (from_position // step + 1) * step
