"""Copies the time indexes of a folder to the SQL catalog, as a few spans of time a recording.

An index has up to hundreds of entries a second, and a catalog only needs to know when something was
recorded at all. Time is cut into at most ``SPANS`` spans whose length is a power of two and whose
ends are multiples of it; the spans in which something was recorded become rows. So the rows depend
on the index alone, and those of an active recording change only when another span begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import delete, insert, select

from aerolog.archive.time_index import SOURCE_DESCRIPTOR, TimeIndex, index_path
from aerolog.catalog.index.models import Recording, State, TimeIndexEntry, TimeIndexFile
from aerolog.catalog.times import bounded
from aerolog.transport.config.values import INT64_MAX, INT64_MIN
from aerolog.transport.errors import FileFormatError
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Table
    from sqlalchemy.orm import Session

    from aerolog.archive.format.descriptor import CatalogEntry, RecordingDescriptor
    from aerolog.catalog.index.folder_scan import FolderScan

#: The most rows of a recording, apart from one before and one behind them when the clock has
#: jumped.
SPANS: Final = 32
#: The shortest span is 2 to this power nanoseconds, about a second.
_SHIFT_MIN: Final = 30
_SHIFT_MAX: Final = 62
_FILES: Final[Table] = TimeIndexFile.__table__  # type: ignore[assignment]
_ENTRIES: Final[Table] = TimeIndexEntry.__table__  # type: ignore[assignment]

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Row:
    """The columns of a recording's row that this module needs."""

    key: int
    state: str
    start_position: int
    end_position: int


class TimeMirror:
    """Writes differing rows in a session's transaction, which has locked the archive's rows."""

    def __init__(self, session: Session, archive_fk: int, scan: FolderScan) -> None:
        self._session = session
        self._archive_fk = archive_fk
        self._scan = scan

    def write(self, chunk: Sequence[CatalogEntry]) -> int:
        """Compare entries' time indexes with the rows; the recordings' rows must be up to date.

        Returns:
            The number of recordings whose rows changed.
        """
        descriptors = {one.descriptor.recording_id: one.descriptor for one in chunk}
        indexed = self._scan.indexed(list(descriptors))
        rows = self._rows(list(descriptors))
        stored = self._stored([row.key for row in rows.values()])
        gone: list[int] = []
        files: list[Values] = []
        entries: list[Values] = []
        for recording_id, row in rows.items():
            before = stored.get(row.key)
            is_indexed = recording_id in indexed
            made = self._look_at(descriptors[recording_id], row, before) if is_indexed else None
            if made is None or made[0] == before:
                if made is None and before is not None:
                    gone.append(row.key)
                continue
            if before is not None:
                gone.append(row.key)
            files.append(made[0])
            entries += made[1]
        if gone:
            for table in (TimeIndexEntry, TimeIndexFile):
                self._session.execute(delete(table).where(table.recording_fk.in_(gone)))
        if files:
            self._session.connection().execute(insert(_FILES), files)
        if entries:
            self._session.connection().execute(insert(_ENTRIES), entries)
        return len({*gone, *(one["recording_fk"] for one in files)})

    def _rows(self, ids: list[int]) -> dict[int, _Row]:
        found = self._session.execute(
            select(
                Recording.recording_id,
                Recording.id,
                Recording.state,
                Recording.start_position,
                Recording.start_position + Recording.size_bytes,
            ).where(Recording.archive_fk == self._archive_fk, Recording.recording_id.in_(ids))
        )
        return {one[0]: _Row(one[1], one[2], one[3], one[4]) for one in found}

    def _stored(self, keys: list[int]) -> dict[int, Values]:
        found = self._session.execute(select(_FILES).where(_FILES.c.recording_fk.in_(keys)))
        return {row["recording_fk"]: dict(row) for row in found.mappings()}

    def _look_at(
        self, descriptor: RecordingDescriptor, row: _Row, before: Values | None
    ) -> tuple[Values, list[Values]] | None:
        """The rows of a recording; None when it has no usable index or its state has changed."""
        state = State.ACTIVE if descriptor.is_active else State.STOPPED
        if row.state != state:
            return None  # It may have stopped meanwhile; the next sync brings it up to date.
        stamp: Values = {"end_position": None, "size_bytes": None, "modified_ns": None}
        if state == State.STOPPED:
            try:
                path = index_path(self._scan.path, descriptor.recording_id)
                status = self._scan.files.stamp(path)
            except FileNotFoundError:
                return None
            stamp = {
                "end_position": row.end_position,
                "size_bytes": status.size,
                "modified_ns": status.mtime_ns,
            }
            named = {**stamp, "start_position": row.start_position}
            if before is not None and all(before[name] == named[name] for name in named):
                return before, []
        index = self._open(descriptor, row)
        if index is None:
            return None
        with index:
            grid = _Grid.of(index, descriptor)
            values = {
                "recording_fk": row.key,
                "source": index.source,
                "is_rebuilt": int(index.is_rebuilt),
                "shift": grid.shift,
                "first_ns": grid.bounds[0],
                "last_ns": grid.bounds[-2],
                "steps_back": index.clock_steps_back,
                "start_position": row.start_position,
                **stamp,
            }
            if values == before:
                return before, []
            spans = grid.spans(index, is_active=state == State.ACTIVE)
        return values, [{"recording_fk": row.key, **span} for span in spans]

    def _open(self, descriptor: RecordingDescriptor, row: _Row) -> TimeIndex | None:
        try:
            index = TimeIndex.beside(
                self._scan.path,
                descriptor,
                row.start_position,
                row.end_position,
                self._scan.files,
            )
        except (FileFormatError, OSError) as error:
            self._scan.problems.setdefault(str(error))
            return None
        for problem in index.problems:
            self._scan.problems.setdefault(
                f"time index of recording {descriptor.recording_id}: {problem}"
            )
        if index.source == SOURCE_DESCRIPTOR or not index.entries:
            index.close()
            return None
        return index


@dataclass(frozen=True, slots=True)
class _Grid:
    """The bounds at which time is cut; a span before the first and behind the last may be added."""

    shift: int
    bounds: list[int]

    @classmethod
    def of(cls, index: TimeIndex, descriptor: RecordingDescriptor) -> _Grid:
        """The finest grid that has at most ``SPANS`` spans."""
        first = min(descriptor.start_timestamp * NS_PER_MS, index.first_time_ns)
        last = max(first, index.last_time_ns)
        if not descriptor.is_active:
            last = max(last, (descriptor.stop_timestamp + 1) * NS_PER_MS - 1)
        first, last = bounded(first), bounded(last)
        shift = _SHIFT_MIN
        while shift < _SHIFT_MAX and (last >> shift) - (first >> shift) >= SPANS:
            shift += 1
        numbers = range(first >> shift, (last >> shift) + 2)
        return cls(shift, [bounded(number << shift) for number in numbers])

    def spans(self, index: TimeIndex, *, is_active: bool) -> list[Values]:
        """The spans in which something was recorded, or may be recorded still."""
        bounds, found = self.bounds, list[Values]()
        begin, end = index.start_position, index.end_position
        # The margin of a nanosecond is needed because an entry's time may also occur before it.
        ends = [index.end_position_at(min(bound + 1, INT64_MAX)) for bound in bounds]
        starts = [index.position_at(max(bound - 1, INT64_MIN)) for bound in bounds]
        if ends[0] > begin:
            found.append(_span(INT64_MIN, bounds[0], begin, ends[0]))
        found += [
            _span(bounds[at], bounds[at + 1], starts[at], ends[at + 1])
            for at in range(len(bounds) - 1)
            if ends[at + 1] > starts[at]
        ]
        if not is_active:
            if starts[-1] < end:
                found.append(_span(bounds[-1], None, starts[-1], end))
            return found
        last = _span(bounds[-2], None, starts[-2], None)
        found = [span for span in found if span["time_ns"] != last["time_ns"]]
        if index.clock_steps_back:
            # The clock has been set back, so new data may have any of these times.
            found = [{**span, "until_position": None} for span in found]
        return [*found, last]


def _span(time_ns: int, until_ns: int | None, position: int, until_position: int | None) -> Values:
    return {
        "time_ns": time_ns,
        "until_ns": until_ns,
        "position": position,
        "until_position": until_position,
    }
