"""Export of recordings that a running archive replays, to the same files as from its folder."""

from __future__ import annotations

import time
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.files.recording import ScanTotals
from aerolog.catalog.export import (
    COMPRESSION_LEVEL,
    ExportProgress,
    ExportResult,
    parquet_name,
    write_parquet,
)
from aerolog.catalog.extras import require
from aerolog.catalog.schema import arrow_schema, recording_metadata
from aerolog.tools.following import Idle
from aerolog.tools.recordings_view import known_recording
from aerolog.tools.replayer import Range, check_complete, range_in_archive
from aerolog.tools.watching import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from aerolog.archive.client import AeronArchive
    from aerolog.archive.files.descriptor import RecordingDescriptor
    from aerolog.transport.client import Subscription

_ROWS_MAX: Final = 10_000
_BYTES_MAX: Final = 1 << 20
_BEGIN: Final = 0x80
_END: Final = 0x40
_POLL_LIMIT: Final = 256


@dataclass(slots=True)
class Row:
    """A message put together, or a fragment; fields as the columns of the export."""

    position: int
    term_id: int
    term_offset: int
    session_id: int
    stream_id: int
    flags: int
    reserved_value: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class _Described:
    """What `recording_metadata` needs to know."""

    descriptor: RecordingDescriptor


class Assembler:
    """Puts messages together; a row has the position of its last fragment, the rest of its first.

    Attributes:
        skipped_fragments: of messages whose beginning did not come.
    """

    def __init__(self) -> None:
        self.skipped_fragments = 0
        self._first: Row | None = None
        self._parts: list[bytes] = []

    def add(self, fragment: Row) -> Row | None:
        """Takes a fragment; the message that it completes."""
        if fragment.flags & _BEGIN:
            self.skipped_fragments += len(self._parts)
            if fragment.flags & _END:
                self._first, self._parts = None, []
                return fragment
            self._first, self._parts = fragment, [fragment.payload]
            return None
        first = self._first
        if first is None:
            self.skipped_fragments += 1
            return None
        self._parts.append(fragment.payload)
        first.flags |= fragment.flags
        if not fragment.flags & _END:
            return None
        first.position = fragment.position
        first.payload = b"".join(self._parts)
        self._first, self._parts = None, []
        return first

    def finish(self) -> None:
        """Counts the fragments of a message whose end did not come."""
        self.skipped_fragments += len(self._parts)
        self._first, self._parts = None, []


def export_from_archive(
    archive: AeronArchive,
    ids: Iterable[int],
    to: Path,
    *,
    raw_fragments: bool,
    progress: Callable[[ExportProgress], object],
) -> list[ExportResult]:
    """Writes recordings to Parquet files, one each; what is recorded when each export begins.

    Raises:
        MissingExtraError: Arrow is not installed.
        ArchiveError: an unknown recording, before anything is written.
        AerologError: a replay ended early, or the driver or archive is gone.
    """
    require("pyarrow.parquet", "exporting recordings to Parquet")
    descriptors = [known_recording(archive, recording_id) for recording_id in dict.fromkeys(ids)]
    to.mkdir(parents=True, exist_ok=True)
    return [_export(archive, descriptor, to, raw_fragments, progress) for descriptor in descriptors]


def _export(
    archive: AeronArchive,
    descriptor: RecordingDescriptor,
    to: Path,
    raw_fragments: bool,
    progress: Callable[[ExportProgress], object],
) -> ExportResult:
    begun = time.monotonic()
    recording_id = descriptor.recording_id
    part = range_in_archive(archive, recording_id, None, None, follow_live=False)
    assert part.end is not None
    totals = ScanTotals(part.start)
    metadata = recording_metadata(
        _Described(descriptor),  # type: ignore[arg-type]
        assemble=not raw_fragments,
        from_position=part.start,
        until_position=part.end,
    )
    path = to / parquet_name(recording_id)

    def batches() -> Iterator[Any]:
        if part.length == 0:
            return
        with archive.replay(recording_id, part.start, part.length) as subscription:
            fragments = _fragments(subscription, totals, part, Watch(archive.aeron, archive))
            for rows in _rows(fragments, totals, raw_fragments):
                yield _record_batch(recording_id, rows)
                progress(
                    ExportProgress(
                        recording_id,
                        totals.position,
                        part.start,
                        part.end or 0,
                        totals.rows,
                        totals.payload_bytes,
                    )
                )

    options = {"compression": "zstd", "compression_level": COMPRESSION_LEVEL}
    write_parquet(path, batches(), metadata, totals, options)
    return ExportResult(
        recording_id,
        str(path),
        path.stat().st_size,
        part.end,
        totals.rows,
        totals.payload_bytes,
        totals.skipped_fragments,
        totals.checksum_mismatches,
        time.monotonic() - begun,
    )


def _rows(fragments: Iterator[Row], totals: ScanTotals, raw_fragments: bool) -> Iterator[list[Row]]:
    """Rows in batches of bounded size."""
    assembler = Assembler()
    rows: list[Row] = []
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
) -> Iterator[Row]:
    """The fragments of a replay.

    Raises:
        AerologError: the replay ended early, or the driver or archive is gone.
    """
    # A replay has a session and a stream of its own: rows have the recording's.
    session_id, stream_id = part.descriptor.session_id, part.descriptor.stream_id
    idle = Idle()
    seen = False
    while totals.position < (part.end or 0):
        images = subscription.images
        seen = seen or bool(images)
        ended = seen and all(image.is_end_of_stream or image.closed for image in images)
        batch = subscription.poll_messages(_POLL_LIMIT, assemble=False)
        for message in batch:
            totals.frames += 1
            yield Row(
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


def _record_batch(recording_id: int, rows: list[Row]) -> Any:
    pyarrow = require("pyarrow", "exporting recordings to Parquet")
    schema = arrow_schema()
    columns: dict[str, list[Any]] = {
        "recording_id": [recording_id] * len(rows),
        "record_time": [None] * len(rows),
    }
    arrays = [
        pyarrow.array(
            columns.get(name) or list(map(attrgetter(name), rows)), schema.field(name).type
        )
        for name in schema.names
    ]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)
