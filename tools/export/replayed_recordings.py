"""Recordings to export that a running archive replays; files are the same as from its folder."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.format.archive_folder import Message
from aerolog.catalog.arrow.record_times import (
    UNINDEXED,
    RowTimes,
    SettledTimes,
    warn_of_missing_times,
)
from aerolog.catalog.arrow.schema import arrow_schema
from aerolog.catalog.extras import require
from aerolog.catalog.times import FROM_INDEX, TimeSource
from aerolog.tools.connection.idle import sleeping_idle
from aerolog.tools.connection.liveness import Watch
from aerolog.tools.replay.replayer import Range, check_complete, range_in_archive
from aerolog.transport.errors import TimeIndexUnavailableError
from aerolog.transport.protocol.frames import FLAG_BEGIN, FLAG_END

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from aerolog.archive.client import AeronArchive
    from aerolog.archive.format.archive_folder import ScanTotals
    from aerolog.archive.time_index import TimeIndex
    from aerolog.transport.client import Subscription

_ROWS_MAX: Final = 10_000
_BYTES_MAX: Final = 1 << 20
_POLL_LIMIT: Final = 256


class Assembler:
    """Puts messages together; a row has the position of its last fragment, the rest of its first.

    Attributes:
        skipped_fragments: how many fragments belonged to messages whose beginning did not come.
    """

    def __init__(self) -> None:
        self.skipped_fragments = 0
        self._first: Message | None = None
        self._flags = 0
        self._parts: list[bytes] = []

    def add(self, fragment: Message) -> Message | None:
        """Takes a fragment; the message that it completes."""
        if fragment.flags & FLAG_BEGIN:
            self.skipped_fragments += len(self._parts)
            if fragment.flags & FLAG_END:
                self._first, self._parts = None, []
                return fragment
            self._first, self._parts = fragment, [fragment.payload]
            self._flags = fragment.flags
            return None
        first = self._first
        if first is None:
            self.skipped_fragments += 1
            return None
        self._parts.append(fragment.payload)
        self._flags |= fragment.flags
        if not fragment.flags & FLAG_END:
            return None
        payload = b"".join(self._parts)
        self._first, self._parts = None, []
        return replace(first, position=fragment.position, flags=self._flags, payload=payload)

    def finish(self) -> None:
        """Counts the fragments of a message whose end did not come."""
        self.skipped_fragments += len(self._parts)
        self._first, self._parts = None, []


class ReplaySource:
    """Recordings of a running archive, as it replays them. For one thread."""

    threaded = False
    place = None

    def __init__(self, archive: AeronArchive) -> None:
        self._archive = archive

    @property
    def archive_id(self) -> int | None:
        """The id that the archive says it has."""
        return self._archive.archive_id

    def ids(self) -> list[int]:
        """The ids of all recordings."""
        return [descriptor.recording_id for descriptor in self._archive.recordings()]

    def recording(
        self, recording_id: int, time_source: TimeSource = FROM_INDEX
    ) -> ReplayedRecording:
        """One of them, up to where it is recorded now, with times from a source.

        Raises:
            ArchiveError: there is no such recording.
        """
        part = range_in_archive(self._archive, recording_id, None, None, follow_live=False)
        return ReplayedRecording(self._archive, part, time_source)


class ReplayedRecording:
    """A recording of a running archive."""

    def __init__(
        self, archive: AeronArchive, part: Range, time_source: TimeSource = FROM_INDEX
    ) -> None:
        self._archive = archive
        self._part = part
        self._time_source = time_source
        self._fetched: TimeIndex | None = None
        self.descriptor = part.descriptor

    @property
    def start_position(self) -> int:
        """The position of the recording's first frame."""
        return self._part.start

    @property
    def end_position(self) -> int:
        """Up to which it was recorded when it was opened."""
        assert self._part.end is not None
        return self._part.end

    def settled_times(self) -> SettledTimes:
        """What of the archive's time index counts for rows that are replayed now."""
        if self._time_source.kind != "index":
            return UNINDEXED
        self._fetched = self._fetch()
        return SettledTimes.of(self._fetched, self.descriptor, self.end_position)

    def _index(self, settled: SettledTimes) -> TimeIndex | None:
        """The index, if it counts; fetched once."""
        if settled != UNINDEXED and self._fetched is None:
            self._fetched = self._fetch()
        return self._fetched

    def _fetch(self) -> TimeIndex | None:
        index = None
        with suppress(TimeIndexUnavailableError):
            index = self._archive.time_index(self.descriptor.recording_id)
        if index is not None and index.entries:
            return index
        if self.start_position < self.end_position:
            warn_of_missing_times(self.descriptor.recording_id)
        return None

    def batches(
        self,
        columns: tuple[str, ...],
        *,
        from_position: int,
        until_position: int,
        assemble: bool,
        totals: ScanTotals,
        short: bool = True,
        settled: SettledTimes = UNINDEXED,
        skip_damage: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Rows of a range, always in short batches; a replay cannot skip damage.

        Raises:
            AerologError: the replay ended early, or the driver or archive is gone.
        """
        del short, skip_damage
        if until_position == from_position:
            return
        whole = until_position == self.end_position
        part = Range(self.descriptor, from_position, until_position, ends_with_recording=whole)
        recording_id = self.descriptor.recording_id
        times = RowTimes(self.descriptor, self._time_source, self._index(settled), settled)
        with self._archive.replay(recording_id, from_position, part.length) as subscription:
            watch = Watch(self._archive.aeron, self._archive)
            fragments = _fragments(subscription, totals, part, watch)
            for rows in _rows(fragments, totals, not assemble):
                yield _record_batch(recording_id, rows, times).select(columns)


def _rows(
    fragments: Iterator[Message], totals: ScanTotals, raw_fragments: bool
) -> Iterator[list[Message]]:
    """Rows in batches of bounded size."""
    assembler = Assembler()
    rows: list[Message] = []
    size = 0
    for fragment in fragments:
        row = fragment if raw_fragments else assembler.add(fragment)
        totals.skipped_fragments = assembler.skipped_fragments
        if row is None:
            continue
        rows.append(row)
        size += len(row.payload)
        totals.rows += 1
        totals.payload_bytes += len(row.payload)
        if len(rows) >= _ROWS_MAX or size >= _BYTES_MAX:
            yield rows
            rows, size = [], 0
    assembler.finish()
    totals.skipped_fragments = assembler.skipped_fragments
    if rows:
        yield rows


def _fragments(
    subscription: Subscription, totals: ScanTotals, part: Range, watch: Watch
) -> Iterator[Message]:
    """The fragments of a replay.

    Raises:
        AerologError: the replay ended early, or the driver or archive is gone.
    """
    # A replay has a session and a stream of its own: rows have the recording's.
    session_id, stream_id = part.descriptor.session_id, part.descriptor.stream_id
    idle = sleeping_idle()
    seen = False
    while totals.position < (part.end or 0):
        images = subscription.images
        seen = seen or bool(images)
        ended = seen and all(image.is_end_of_stream or image.closed for image in images)
        batch = subscription.poll_messages(_POLL_LIMIT, assemble=False)
        for message in batch:
            totals.frames += 1
            yield Message(
                message.position,
                message.term_id,
                message.term_offset,
                session_id,
                stream_id,
                message.flags,
                message.reserved_value,
                message.data,
            )
        totals.position = max([totals.position, *(image.position for image in images)])
        watch()
        if ended and not batch:
            break
        idle(len(batch))
    check_complete(part, totals.position)


def _record_batch(recording_id: int, rows: list[Message], times: RowTimes) -> Any:
    pyarrow = require("pyarrow", "exporting recordings to Parquet")
    schema = arrow_schema()
    columns: dict[str, Any] = {
        field.name: pyarrow.array(list(map(attrgetter(field.name), rows)), field.type)
        for field in schema
        if field.name not in {"recording_id", "record_time"}
    }
    columns["recording_id"] = pyarrow.array([recording_id] * len(rows), pyarrow.int64())
    columns["record_time"] = times.of_arrays(columns)
    arrays = [columns[name] for name in schema.names]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)
