"""Parquet export of a recording, beside pyarrow writing the same rows from memory."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aerolog.archive.format.archive_folder import ArchiveFolder, ScanTotals
from aerolog.catalog.arrow.schema import arrow_schema
from aerolog.catalog.export import ExportOptions, export_parquet
from aerolog.catalog.export.part_writer import writer_options
from aerolog.catalog.export.row_groups import row_groups
from aerolog.catalog.export.sources import FolderSource
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH
from benchmarks.embedded_archive import frame_length
from benchmarks.folders import archive_folder, chosen_folder, temporary_folder
from benchmarks.result import BenchmarkFailedError, Result
from benchmarks.scan import SEGMENT_LENGTH, TERM_LENGTH, make_recording

if TYPE_CHECKING:
    from benchmarks.scan import Made

DATA_BYTES = int(os.environ.get("AEROLOG_BENCH_EXPORT_BYTES") or 2 * 1024**3)
PAYLOAD_LENGTHS = (1024, 64)
ROUNDS = 3
PEER_NAME = "pyarrow.parquet of the same table in memory"


def export() -> list[Result]:
    """Megabytes of payload a second, from the recording's segments to files.

    Both sides write the same columns in the same row groups with the same options.

    Raises:
        BenchmarkFailedError: rows are missing.
    """
    results = [_measure(length, archive_folder()) for length in PAYLOAD_LENGTHS]
    if chosen_folder():
        return results
    on_disk = [_measure(length, tempfile.gettempdir()) for length in PAYLOAD_LENGTHS]
    return results + [replace(one, name=f"{one.name}-disk") for one in on_disk]


def _measure(payload_length: int, where: str | None) -> Result:
    with temporary_folder(where) as name:
        folder = Path(name)
        archive = folder / "archive"
        archive.mkdir()
        made = make_recording(archive, payload_length, DATA_BYTES)
        _fill(made, payload_length)
        options = ExportOptions()
        groups = _groups(made, options)
        mine, theirs = [], []
        for number in range(ROUNDS + 1):
            ours_s = _export_once(made, folder / "ours")
            peer_s = _write_once(groups, options, folder / "peer.parquet")
            if number:  # the first warms both up
                mine.append(ours_s)
                theirs.append(peer_s)
        size = made.frames * payload_length / 1e6
        return Result(
            f"export-parquet-{payload_length}",
            "MB/s",
            size / statistics.median(mine),
            size / statistics.median(theirs),
            PEER_NAME,
        )


def _fill(made: Made, payload_length: int) -> None:
    """Payloads as text has them: digits without a pattern, a factor of two to compress."""
    stride = frame_length(payload_length)
    count = TERM_LENGTH // stride
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    random = np.random.default_rng(7)
    content = digits[random.integers(0, 16, (count, payload_length), np.uint8)]
    for path in made.folder.glob("*.rec"):
        segment = np.memmap(path, np.uint8, "r+")
        for at in range(0, SEGMENT_LENGTH, TERM_LENGTH):
            frames = segment[at : at + count * stride].reshape(count, stride)
            if frames[0, 0]:
                payloads = frames[:, DATA_HEADER_LENGTH : DATA_HEADER_LENGTH + payload_length]
                payloads[:] = content
        segment.flush()


def _groups(made: Made, options: ExportOptions) -> list[pa.Table]:
    """The export's row groups, in memory."""
    with ArchiveFolder(made.folder) as folder:
        recording = FolderSource(folder, str(made.folder)).recording(0)
        totals = ScanTotals(0)
        batches = recording.batches(
            _schema(options).names,
            from_position=0,
            until_position=made.length,
            assemble=True,
            totals=totals,
        )
        found = row_groups(
            ((batch, None) for batch in batches),
            length=options.row_group_length,
            from_position=0,
            totals=totals,
        )
        groups = [pa.Table.from_batches(group.rows) for group in found if group.rows]
    if sum(group.num_rows for group in groups) != made.frames:
        raise BenchmarkFailedError("the table has not all rows")
    return groups


def _schema(options: ExportOptions) -> Any:
    names = tuple(name for name in arrow_schema().names if name not in options.dropped_columns)
    return arrow_schema(names)


def _export_once(made: Made, target: Path) -> float:
    begun = time.perf_counter()
    report = export_parquet(made.folder, [0], target)
    seconds = time.perf_counter() - begun
    if report.rows != made.frames:
        raise BenchmarkFailedError(f"{report.rows} of {made.frames} rows were exported")
    shutil.rmtree(target)
    return seconds


def _write_once(groups: list[pa.Table], options: ExportOptions, path: Path) -> float:
    schema = _schema(options)
    begun = time.perf_counter()
    with pq.ParquetWriter(path, schema, **writer_options(schema, options)) as writer:
        for group in groups:
            writer.write_table(group, row_group_size=group.num_rows)
    seconds = time.perf_counter() - begun
    path.unlink()
    return seconds
