"""Row groups, put together from batches. They end at multiples of a length in positions.

The groups of a recording are therefore the same however it was read, a reader that looks for a
position needs one group, and the memory that a group takes has a bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aerolog.catalog.extras import require
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    import pyarrow as pa

    from aerolog.archive.format.archive_folder import ScanTotals

#: Decoded columns may be much longer than the messages. A group also ends when it takes this many
#: times the length in memory.
_EXPANSION_MAX = 2


@dataclass(slots=True)
class RowGroup:
    """Rows of one group and the rejects between them.

    Attributes:
        rows: batches, maybe none.
        rejects: batches, maybe none.
        position: up to which the recording is in this group and those before it.
        totals: of the read so far.
    """

    rows: list[pa.RecordBatch]
    rejects: list[pa.RecordBatch]
    position: int
    totals: ScanTotals

    @property
    def batches(self) -> list[pa.RecordBatch]:
        """All batches, of rows and of rejects."""
        return [*self.rows, *self.rejects]


class _Collector:
    """Batches of the group that is being put together."""

    def __init__(self, length: int, from_position: int) -> None:
        self.length = length
        self.position = from_position
        self.rows: list[pa.RecordBatch] = []
        self.rejects: list[pa.RecordBatch] = []
        self.size = 0
        self.end = 0

    def add(self, part: pa.RecordBatch, position: int) -> None:
        self.rows.append(part)
        self.size += part.nbytes
        self.position = position

    @property
    def full(self) -> bool:
        return self.size >= _EXPANSION_MAX * self.length

    def group(self, totals: ScanTotals) -> RowGroup:
        made = RowGroup(self.rows, self.rejects, self.position, replace(totals))
        self.rows, self.rejects, self.size = [], [], 0
        return made


def row_groups(
    batches: Iterator[tuple[pa.RecordBatch, pa.RecordBatch | None]],
    *,
    length: int,
    from_position: int,
    totals: ScanTotals,
) -> Generator[RowGroup]:
    """Put batches together to row groups.

    Args:
        batches: rows with a column ``position`` that does not fall, and rejects beside them.
        length: a group ends where positions reach a multiple of it.
        from_position: where the first batch begins.
        totals: of the read, as it goes on.

    Raises:
        FileFormatError: what the batches raise, after a group with the rows before it.
    """
    numpy = require("numpy", "exporting recordings to Parquet")
    collector = _Collector(length, from_position)
    try:
        for rows, rejects in batches:
            at = 0
            positions = numpy.asarray(rows.column("position"))
            while at < rows.num_rows:
                first = int(positions[at])
                if collector.rows and first > collector.end:
                    yield collector.group(totals)
                if not collector.rows:
                    collector.end = -(-first // length) * length
                cut = int(numpy.searchsorted(positions, collector.end, side="right"))
                collector.add(rows.slice(at, cut - at), int(positions[cut - 1]))
                at = cut
            if rejects is not None and rejects.num_rows:
                collector.rejects.append(rejects)
                collector.size += rejects.nbytes
                last = rejects.column("position")[-1].as_py()
                collector.position = max(collector.position, last)
            if collector.full:
                yield collector.group(totals)
    except FileFormatError:
        yield collector.group(totals)
        raise
    yield collector.group(totals)
