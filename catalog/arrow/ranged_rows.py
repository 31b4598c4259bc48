"""Rows of a range of time: the index limits the positions to scan, each row's time decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aerolog.catalog.extras import require
from aerolog.catalog.times import bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from aerolog.archive.format.archive_folder import Recording
    from aerolog.archive.format.recording_read import ScanTotals
    from aerolog.archive.format.scan_columns import ScanColumns
    from aerolog.catalog.arrow.arrow_recording import BatchMaker
    from aerolog.catalog.arrow.record_times import RowTimes
    from aerolog.catalog.times import TimeRange

_PURPOSE: Final = "reading recordings as Arrow data"
_TIME: Final = "record_time"


@dataclass(frozen=True, slots=True)
class ScanPart:
    """A part of a recording; positions have the meaning of ``Recording.batches``."""

    recording: Recording
    from_position: int | None
    until_position: int | None
    after_position: int | None


class RangedRows:
    """Reads the rows of one recording whose times lie in a range."""

    def __init__(self, times: RowTimes, within: TimeRange, totals: ScanTotals) -> None:
        self._times = times
        self._within = within
        self._totals = totals
        self._compute = require("pyarrow.compute", _PURPOSE)

    def batches(
        self,
        part: ScanPart,
        scan: Callable[..., Iterator[ScanColumns]],
        maker: BatchMaker,
        *,
        compact: bool,
    ) -> Iterator[pa.RecordBatch]:
        """Read the rows as batches, whose columns must include ``record_time``.

        Args:
            part: the part of the recording to read.
            scan: scans rows between two positions.
            maker: makes batches of the scanned rows.
            compact: see ``BatchMaker.batch``.
        """
        recording = part.recording
        first, last = recording.start_position, recording.end_position
        begin, end = self._times.narrowed(self._within, first, last)
        start = first if part.from_position is None else part.from_position
        until = last if part.until_position is None else part.until_position
        # A message that begins before the end may extend beyond it, up to the end of its term.
        term = recording.descriptor.term_buffer_length
        reach = max(min(-(-end // term) * term, until), start)
        after = max(begin, -1 if part.after_position is None else part.after_position)
        scanned = scan(
            from_position=part.from_position,
            until_position=reach,
            after_position=after if after > first else part.after_position,
            totals=self._totals,
        )
        if begin >= end:
            # The call of the scan has checked its arguments, and there is nothing to read.
            return
        for columns in scanned:
            batch = self._chosen(maker.batch(columns, compact=compact))
            if batch.num_rows:
                yield batch
            if end < last and self._times.is_behind(columns, end):
                return

    def _chosen(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch whose times are in the range."""
        mask = self._mask(batch.column(_TIME))
        chosen = batch.filter(mask)
        self._totals.rows -= batch.num_rows - chosen.num_rows
        if "payload" in batch.schema.names:
            self._totals.payload_bytes -= self._bytes(batch) - self._bytes(chosen)
        return chosen

    def _mask(self, times: Any) -> Any:
        pyarrow, compute = require("pyarrow", _PURPOSE), self._compute
        numbers = times.view(pyarrow.int64())
        # Rows without times are in no range.
        mask = compute.is_valid(numbers)
        for bound, compare in (
            (self._within.since_us, compute.greater_equal),
            (self._within.until_us, compute.less),
        ):
            if bound is not None:
                within = compare(numbers, pyarrow.scalar(bounded(bound)))
                mask = compute.and_(mask, compute.fill_null(within, False))
        return mask

    def _bytes(self, batch: pa.RecordBatch) -> int:
        return self._compute.sum(self._compute.binary_length(batch.column("payload"))).as_py() or 0
