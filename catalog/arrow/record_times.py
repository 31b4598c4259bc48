"""The times of one recording's rows, batch by batch, from its time index or its messages."""

from __future__ import annotations

import shlex
import warnings
from array import array
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from aerolog.archive.time_index import SOURCE_DESCRIPTOR, TimeIndex
from aerolog.catalog.arrow.row_times import carried_times, first_positions, settle, to_microseconds
from aerolog.catalog.extras import require
from aerolog.catalog.times import FROM_INDEX, MissingTimesWarning, TimeRange, TimeSource, bounded
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.secrets import without_secrets
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from typing_extensions import Buffer

    from aerolog.archive.format.archive_folder import Recording
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.format.scan_columns import ScanColumns
    from aerolog.transport.concurrent.clock import Clock

_PURPOSE: Final = "reading recordings as Arrow data"
_PLACES: Final = ("term_id", "term_offset")
#: An index that lags by more than this is not written any more: rows behind its end have no time.
LAG_NS_MAX: Final = 10_000_000_000


@dataclass(frozen=True, slots=True)
class SettledTimes:
    """The part of a recording's time index that a read uses.

    An index grows while a recording is active, and rows behind its last entry get other times when
    the next entry comes. A read in parts, or one that is repeated after a crash, keeps this value
    from its beginning, so that rows have the same times each time.

    Attributes:
        position: the position of the last entry that is used; -1 when there is no index. Rows that
            begin before it have their times from entries, which never change.
        time_ns: the time of that entry, epoch nanoseconds.
        end_position: the recording's end position.
        end_time_ns: when the end position was reached; the rows behind the entry are spread evenly
            up to that time. -1 when it is unknown, and then these rows have no times.
    """

    position: int = -1
    time_ns: int = -1
    end_position: int = -1
    end_time_ns: int = -1

    @classmethod
    def of(
        cls,
        index: TimeIndex | None,
        descriptor: RecordingDescriptor,
        end_position: int,
        clock: Clock | None = None,
    ) -> SettledTimes:
        """The present state of a recording's index.

        Args:
            index: the time index, None without one.
            descriptor: the recording's descriptor.
            end_position: the position up to which the recording has frames.
            clock: the clock that tells when an active recording reached its end, the system's by
                default.
        """
        if index is None:
            return UNINDEXED
        last_ns = index.last_time_ns
        if not descriptor.is_active:
            end_ns = (descriptor.stop_timestamp + 1) * NS_PER_MS
        else:
            end_ns = (clock or SystemClock()).now_epoch_ns()
        if abs(end_ns - last_ns) > LAG_NS_MAX:
            end_ns = -1
        if end_ns >= 0:
            end_ns = max(end_ns, last_ns)
        return cls(min(index.last_position, end_position), last_ns, end_position, end_ns)

    @classmethod
    def from_json(cls, values: Sequence[int] | None) -> SettledTimes:
        """Make the value from the result of `to_json`; None and an empty list mean no index.

        Raises:
            TypeError: the value is something else.
        """
        return cls(*values) if values else UNINDEXED

    def time_at(self, index: TimeIndex, position: int) -> int | None:
        """The time at which a frame was recorded, epoch nanoseconds; None when it is unknown.

        Args:
            index: the recording's time index.
            position: the position of a message's first frame.
        """
        places, times = array("q", [position]), array("q", [0])
        index.fill_times(places, times)
        settle(places, times, *astuple(self))
        return times[0] or None

    def to_json(self) -> list[int]:
        """The value as a list of numbers, which is empty without an index."""
        return list(astuple(self)) if self.position >= 0 else []


UNINDEXED: Final = SettledTimes()


def index_of(recording: Recording) -> TimeIndex | None:
    """The time index of a recording, None when it has none that can be used.

    Rows that have no times for that reason are told with a `MissingTimesWarning`.
    """
    index = TimeIndex.of(recording)
    if index.source == SOURCE_DESCRIPTOR or not index.entries:
        index.close()
        if recording.start_position < recording.end_position:
            warn_of_missing_times(recording.recording_id, recording.folder.path, index.problems)
        return None
    return index


def warn_of_missing_times(
    recording_id: int, place: str | None = None, problems: Sequence[str] = ()
) -> None:
    """Say that rows of a recording have no times, with a `MissingTimesWarning`.

    Those without an index are told once for all of their folder, which may be another archive's
    and have no index at all.

    Args:
        recording_id: the recording's id.
        place: where its folder is, None where only its archive knows.
        problems: what is wrong with its time index, nothing where there is none.
    """
    where = "the archive" if place is None else without_secrets(place)
    folder = "DIR" if place is None or "://" in place else shlex.quote(place)
    if problems:
        which, one = f"recording {recording_id} of", str(recording_id)
        what = f"has a time index that cannot be used ({problems[0]})"
    else:
        which, one, what = "recordings of", "ID", "have no time index"
    warnings.warn(
        f"{which} {where} {what}: record_time is null in their rows, and a range of time takes all"
        f" of one or nothing; `aerolog recordings times {one} --archive-dir {folder} --rebuild`"
        " makes an index, and the time source says where else times are, or none",
        MissingTimesWarning,
        stacklevel=2,
    )


def settled_times(
    recording: Recording, source: TimeSource = FROM_INDEX, clock: Clock | None = None
) -> SettledTimes:
    """The part of a recording's time index that reads can use now, for times from the index."""
    if source.kind != "index":
        return UNINDEXED
    index = index_of(recording)
    found = SettledTimes.of(index, recording.descriptor, recording.end_position, clock)
    if index is not None:
        index.close()
    return found


class RowTimes:
    """The times of one recording's rows.

    Attributes:
        source: the source of the times; ``channel`` has become the channel's own source.
        needs: the columns of the scan that the times are computed from.
        index: the time index; None without one, or with another source.
        settled: the part of the index that is used.
    """

    def __init__(
        self,
        descriptor: RecordingDescriptor,
        source: TimeSource = FROM_INDEX,
        index: TimeIndex | None = None,
        settled: SettledTimes = UNINDEXED,
    ) -> None:
        self.source = source.of(descriptor)
        is_indexed = self.source.kind == "index" and settled.position >= 0
        self.index = index if is_indexed else None
        self.settled = settled
        self._initial_term_id = descriptor.initial_term_id
        self._term_length = descriptor.term_buffer_length
        self._pa = require("pyarrow", _PURPOSE)
        self._kind = self._pa.timestamp("us", tz="UTC")
        self.needs = self._needs()

    @classmethod
    def of(
        cls,
        recording: Recording,
        source: TimeSource = FROM_INDEX,
        settled: SettledTimes | None = None,
    ) -> RowTimes:
        """The times of a recording in an archive's folder.

        Args:
            recording: the recording whose rows get times.
            source: where the times come from.
            settled: the part of the index to use; None for all that there is now.
        """
        index = index_of(recording) if source.kind == "index" and settled != UNINDEXED else None
        descriptor = recording.descriptor
        if settled is None:
            settled = SettledTimes.of(index, descriptor, recording.end_position)
        return cls(descriptor, source, index, settled)

    @property
    def known(self) -> bool:
        """Whether rows have times at all; otherwise the column is null."""
        return self.index is not None or self.source.kind in {"reserved", "payload"}

    def _needs(self) -> tuple[str, ...]:
        if not self.known:
            return ()
        return {"reserved": ("reserved_value",), "payload": ("payload",)}.get(
            self.source.kind, _PLACES
        )

    def column(self, columns: ScanColumns) -> pa.Array:
        """Make the column ``record_time`` of a scanned batch.

        Args:
            columns: the scanned columns, among them those in ``needs``.
        """
        rows = columns.rows
        if self.index is not None:
            return self._of_places(*(columns.column(name) for name in _PLACES))
        if not self.known:
            return self._pa.nulls(rows, self._kind)
        if self.source.kind == "reserved":
            return self._reserved(columns.column("reserved_value"))
        return self._carried(columns.column("payload"), columns.column("payload_offset"))

    def of_arrays(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        """Do the same as `column` for Arrow arrays that are neither sliced nor have nulls."""
        if self.index is not None:
            return self._of_places(*(_numbers(columns[name], "i") for name in _PLACES))
        if not self.known:
            return self._pa.nulls(len(columns["position"]), self._kind)
        if self.source.kind == "reserved":
            return self._reserved(_numbers(columns["reserved_value"], "q"))
        _, offsets, payload = columns["payload"].buffers()
        content = b"" if payload is None else memoryview(payload).cast("B")
        ends = memoryview(offsets).cast("B").cast("i")
        return self._carried(content, ends[: len(columns["payload"]) + 1])

    def _reserved(self, values: memoryview) -> pa.Array:
        times, view = self._room(len(values))
        view[:] = values
        return self._array(times, view)

    def _carried(self, payload: Buffer, offsets: memoryview) -> pa.Array:
        times, view = self._room(len(offsets) - 1)
        carried_times(payload, offsets, self.source.offset, view)
        return self._array(times, view)

    def _of_places(self, term_ids: memoryview, term_offsets: memoryview) -> pa.Array:
        rows = len(term_ids)
        assert self.index is not None
        times, view = self._room(rows)
        places = memoryview(bytearray(8 * rows)).cast("q")
        first_positions(term_ids, term_offsets, places, self._initial_term_id, self._term_length)
        self.index.fill_times(places, view)
        self.index.check_length()  # what is left of an index knows times less precisely
        settle(places, view, *astuple(self.settled))
        return self._array(times, view)

    def narrowed(self, within: TimeRange, start: int, end: int) -> tuple[int, int]:
        """The positions between which all messages begin whose times are in a range.

        Args:
            within: the range.
            start: the recording's start position.
            end: the recording's end position.
        """
        if self.index is None:
            return start, end
        # Data behind the last entry that is used gets its times from the end of the recording.
        last = self.settled.position
        if within.since_ns is not None:
            # The margin of a nanosecond is needed because an entry's time may also occur before it.
            found = self.index.position_at(bounded(within.since_ns - 1))
            start = max(start, min(found, last))
        if within.until_ns is not None:
            found = self.index.end_position_at(bounded(within.until_ns + 1))
            end = min(end, found) if found < last else end
        return start, end

    def is_behind(self, columns: ScanColumns, position: int) -> bool:
        """Whether the last row of a scanned batch begins at a position or behind it."""
        rows = columns.rows
        if self.index is None or not rows:
            return False
        last = memoryview(bytearray(8)).cast("q")
        ids, offsets = (columns.column(name)[rows - 1 :] for name in _PLACES)
        first_positions(ids, offsets, last, self._initial_term_id, self._term_length)
        return bool(last[0] >= position)

    def _room(self, rows: int) -> tuple[Any, memoryview]:
        times = self._pa.allocate_buffer(8 * rows)
        return times, memoryview(times).cast("B").cast("q")

    def _array(self, times: Any, view: memoryview) -> pa.Array:
        rows = len(view)
        validity = self._pa.allocate_buffer(max((rows + 7) // 8, 1))
        nulls = to_microseconds(view, memoryview(validity).cast("B"))
        buffers = [validity if nulls else None, times]
        return self._pa.Array.from_buffers(self._kind, rows, buffers, nulls)


def _numbers(column: pa.Array, form: Literal["i", "q"]) -> memoryview:
    """The values of an array, which must not be a slice."""
    values: memoryview = memoryview(column.buffers()[1]).cast("B").cast(form)
    return values[: len(column)]
