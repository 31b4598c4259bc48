"""Filters that Spark pushes down: which of them select recordings and positions here.

Spark pushes filters down only with the session's ``spark.sql.python.filterPushdown.enabled``, and
only those that are joined by "and". A filter that is taken here is applied exactly, so that Spark
need not apply it again; the others are returned to Spark. Bounds of ``record_time`` are returned
too, but limit the positions that are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from aerolog.archive.format.layout import MAX_I64
from aerolog.catalog.times import ANY_TIME, TimeRange, epoch_us

if TYPE_CHECKING:
    from collections.abc import Iterable

_COLUMNS = ("recording_id", "position", "session_id", "stream_id")


@dataclass(slots=True)
class RowBounds:
    """The rows that filters allow; without filters, all rows.

    Attributes:
        after_position: positions are greater than this.
        until_position: positions are at most this.
        recording_ids: the recording's id is one of these, or any where this is None.
        recordings_from: the lowest recording id.
        recordings_until: the highest recording id.
        session_ids: the session id is one of these, or any where this is None.
        stream_ids: the stream id is one of these, or any where this is None.
        within: the range of rows' times; it limits what is read, and Spark tests each row itself.
    """

    after_position: int = -1
    until_position: int = MAX_I64
    recording_ids: frozenset[int] | None = None
    recordings_from: int = -MAX_I64
    recordings_until: int = MAX_I64
    session_ids: frozenset[int] | None = None
    stream_ids: frozenset[int] | None = None
    within: TimeRange = ANY_TIME

    def has_recording(self, recording_id: int) -> bool:
        """Whether a recording may have rows."""
        chosen = self.recording_ids is None or recording_id in self.recording_ids
        return chosen and self.recordings_from <= recording_id <= self.recordings_until

    def has_stream(self, stream_id: int) -> bool:
        """Whether recordings of a stream may have rows."""
        return self.stream_ids is None or stream_id in self.stream_ids

    def push(self, filters: Iterable[Any]) -> list[Any]:
        """Take filters of ``pyspark.sql.datasource``; return those that are not taken."""
        return [each for each in filters if not self._take(each)]

    def _take(self, wanted: Any) -> bool:
        path: tuple[str, ...] = getattr(wanted, "attribute", ())
        value: Any = getattr(wanted, "value", None)
        if path == ("record_time",) and isinstance(value, datetime) and value.tzinfo is not None:
            self._narrow_times(type(wanted).__name__, epoch_us(value))
            return False
        if len(path) != 1 or path[0] not in _COLUMNS:
            return False
        column, kind = path[0], type(wanted).__name__
        if kind == "In" and isinstance(value, (tuple, list)):
            if not all(_is_whole(each) or each is None for each in value):
                return False
            return self._one_of(column, frozenset(each for each in value if each is not None))
        if not _is_whole(value):
            return False
        if kind in {"EqualTo", "EqualNullSafe"}:
            return self._one_of(column, frozenset({value}))
        return self._compare(column, kind, value)

    def _one_of(self, column: str, values: frozenset[int]) -> bool:
        if column == "position":
            if len(values) != 1:
                return False
            (value,) = values
            self._narrow_positions(value - 1, value)
            return True
        name = {"recording_id": "recording_ids", "session_id": "session_ids"}.get(
            column, "stream_ids"
        )
        known: frozenset[int] | None = getattr(self, name)
        setattr(self, name, values if known is None else known & values)
        return True

    def _compare(self, column: str, kind: str, value: int) -> bool:
        limits = {
            "GreaterThan": (value + 1, MAX_I64),
            "GreaterThanOrEqual": (value, MAX_I64),
            "LessThan": (-MAX_I64, value - 1),
            "LessThanOrEqual": (-MAX_I64, value),
        }
        if kind not in limits:
            return False
        low, high = limits[kind]
        if column == "position":
            self._narrow_positions(low - 1, high)
        elif column == "recording_id":
            self.recordings_from = max(self.recordings_from, low)
            self.recordings_until = min(self.recordings_until, high)
        else:
            return False
        return True

    def _narrow_times(self, kind: str, time_us: int) -> None:
        ranges = {
            "GreaterThan": TimeRange(time_us + 1, None),
            "GreaterThanOrEqual": TimeRange(time_us, None),
            "LessThan": TimeRange(None, time_us),
            "LessThanOrEqual": TimeRange(None, time_us + 1),
            "EqualTo": TimeRange(time_us, time_us + 1),
        }
        self.within &= ranges.get(kind, ANY_TIME)

    def _narrow_positions(self, after: int, until: int) -> None:
        self.after_position = max(self.after_position, after)
        self.until_position = min(self.until_position, until)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
