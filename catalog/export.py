"""Export of recordings to Parquet: one file a recording, complete or not there.

A file is written under a temporary name, which Spark and others do not see, and renamed when its
last row group is on disk. Memory is bounded by one row group, whatever the recording's length.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerolog.archive.files.recording import ArchiveFolder, Recording, ScanTotals
from aerolog.catalog.arrow import record_batches
from aerolog.catalog.extras import require
from aerolog.catalog.schema import METADATA_TOTALS, arrow_schema, recording_metadata
from aerolog.transport.memory.aeron_directory import process_exists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pyarrow as pa

ROW_GROUP_ROWS = 1_000_000
ROW_GROUP_BYTES = 32 * 1024 * 1024
COMPRESSION_LEVEL = 1


@dataclass(frozen=True, slots=True)
class ExportProgress:
    """How far the export of one recording has come.

    Attributes:
        recording_id: of the recording.
        position: up to which it was read.
        from_position: where the export began.
        until_position: where it will end.
        rows: written so far.
        payload_bytes: in those rows.
    """

    recording_id: int
    position: int
    from_position: int
    until_position: int
    rows: int
    payload_bytes: int


@dataclass(frozen=True, slots=True)
class ExportResult:
    """A finished file.

    Attributes:
        recording_id: of the recording.
        path: of the file.
        file_bytes: its length.
        until_position: up to which the recording was exported.
        rows: in the file.
        payload_bytes: in those rows.
        skipped_fragments: of messages whose beginning or end the recording does not have.
        checksum_mismatches: frames in checksummed data whose checksum does not match.
        seconds: that it took.
    """

    recording_id: int
    path: str
    file_bytes: int
    until_position: int
    rows: int
    payload_bytes: int
    skipped_fragments: int
    checksum_mismatches: int
    seconds: float


def parquet_name(recording_id: int) -> str:
    """Name of a recording's file."""
    return f"recording-{recording_id}.parquet"


def export_recordings(
    archive_dir: str | Path,
    ids: Iterable[int] | None,
    to: str | Path,
    *,
    raw_fragments: bool = False,
    progress: Callable[[ExportProgress], object] | None = None,
    until_positions: Mapping[int, int] | None = None,
    compression: str = "zstd",
    compression_level: int | None = COMPRESSION_LEVEL,
) -> list[ExportResult]:
    """Write recordings of an archive's folder to Parquet files, one each.

    The folder may belong to a running archive: what it had recorded when the export of a recording
    began is exported. An existing file of a recording is replaced. An interruption (or any error)
    leaves the files that were finished, and nothing of the one that was not.

    Args:
        archive_dir: the folder, ours or the reference's; it is only read.
        ids: of VALID recordings; None for all of them.
        to: folder of the files, created when it is missing.
        raw_fragments: a row is a fragment as it was sent, not a message.
        progress: called after every batch.
        until_positions: by recording id, where to end before the recording does.
        compression: of the Parquet files.
        compression_level: of it; None for its default.

    Raises:
        MissingExtraError: Arrow is not installed.
        FileNotFoundError: the folder has no catalog.
        ArchiveError: UNKNOWN_RECORDING, before anything is written.
        FileFormatError: the catalog or a segment is damaged or missing.
    """
    require("pyarrow.parquet", "exporting recordings to Parquet")
    target = Path(to)
    limits = until_positions or {}
    options = {"compression": compression, "compression_level": compression_level}
    with ArchiveFolder(archive_dir) as folder:
        wanted = folder.catalog.ids() if ids is None else list(dict.fromkeys(ids))
        for recording_id in wanted:
            folder.catalog.entry(recording_id)
        target.mkdir(parents=True, exist_ok=True)
        return [
            export_recording(
                folder.recording(recording_id),
                target / parquet_name(recording_id),
                assemble=not raw_fragments,
                until_position=limits.get(recording_id),
                progress=progress,
                writer_options=options,
            )
            for recording_id in wanted
        ]


def export_recording(
    recording: Recording,
    path: Path,
    *,
    assemble: bool = True,
    from_position: int | None = None,
    until_position: int | None = None,
    progress: Callable[[ExportProgress], object] | None = None,
    writer_options: Mapping[str, Any] | None = None,
) -> ExportResult:
    """Write a range of one recording to one file; arguments and errors as above."""
    begun = time.monotonic()
    start = recording.start_position if from_position is None else from_position
    until = recording.end_position if until_position is None else until_position
    totals = ScanTotals(start)
    metadata = recording_metadata(
        recording, assemble=assemble, from_position=start, until_position=until
    )
    batches = record_batches(
        recording,
        assemble=assemble,
        from_position=start,
        until_position=until,
        compact=True,
        totals=totals,
    )

    def reported() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if progress is not None:
                progress(
                    ExportProgress(
                        recording.recording_id,
                        totals.position,
                        start,
                        until,
                        totals.rows,
                        totals.payload_bytes,
                    )
                )

    write_parquet(path, reported(), metadata, totals, writer_options or {})
    return ExportResult(
        recording.recording_id,
        str(path),
        path.stat().st_size,
        until,
        totals.rows,
        totals.payload_bytes,
        totals.skipped_fragments,
        totals.checksum_mismatches,
        time.monotonic() - begun,
    )


def write_parquet(
    path: Path,
    batches: Iterator[pa.RecordBatch],
    metadata: dict[bytes, bytes],
    totals: ScanTotals,
    writer_options: Mapping[str, Any],
) -> None:
    """Write batches to a file that appears under its name when it is complete.

    Args:
        path: of the file; its folder exists.
        batches: rows.
        metadata: key-value metadata of the file.
        totals: of the read, stored behind the rows when they are all there.
        writer_options: of ``pyarrow.parquet.ParquetWriter``.
    """
    parquet = require("pyarrow.parquet", "exporting recordings to Parquet")
    schema = arrow_schema().with_metadata(metadata)
    _remove_abandoned(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as sink:
            with parquet.ParquetWriter(sink, schema, **writer_options) as writer:
                for group in _row_groups(batches):
                    writer.write_table(group, row_group_size=group.num_rows)
                writer.add_key_value_metadata({METADATA_TOTALS: json.dumps(asdict(totals))})
            sink.flush()
            os.fsync(sink.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _row_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together to tables of a row group's size."""
    pyarrow = require("pyarrow", "exporting recordings to Parquet")
    pending: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        pending.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= ROW_GROUP_ROWS or size >= ROW_GROUP_BYTES:
            yield pyarrow.Table.from_batches(pending)
            pending, rows, size = [], 0, 0
    if pending:
        yield pyarrow.Table.from_batches(pending)


def _remove_abandoned(path: Path) -> None:
    """Remove temporary files of this one that a process left which is gone."""
    for found in path.parent.glob(f".{path.name}.*.tmp"):
        owner = found.name.split(".")[-2]
        if owner.isdigit() and not process_exists(int(owner)):
            found.unlink(missing_ok=True)
