"""Exports of decoded columns: rows beside rejects, schemas that stay, damage and kills."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aerolog.archive.format.archive_folder import ScanTotals
from aerolog.catalog.decoders import make_decoder
from aerolog.catalog.export import TargetMismatchError, check_export, export_parquet
from aerolog.catalog.export.row_groups import row_groups
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIZES: dict[str, Any] = {"file_length": 64 * 1024, "row_group_length": 64 * 1024}
COUNT = 3000


def message(index: int) -> bytes:
    return b"no json" if index % 10 == 3 else json.dumps({"n": index}).encode()


@pytest.fixture
def archive(empty_archive: Path) -> Path:
    builder = RecordingBuilder()
    for index in range(COUNT):
        builder.add(message(index))
    builder.write(empty_archive)
    return empty_archive


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def column(out: Path, table: str, name: str) -> list[Any]:
    return [
        value
        for path in sorted((out / table).rglob("*.parquet"))
        for value in pq.read_table(path, partitioning=None)[name].to_pylist()
    ]


def test_rows_have_the_decoded_columns_and_rejects_stand_beside_them(
    archive: Path, out: Path
) -> None:
    report = export_parquet(archive, None, out, decoder="json", **SIZES)
    good = [index for index in range(COUNT) if index % 10 != 3]
    assert column(out, "rows", "n") == good
    assert (report.rows, report.rejected) == (len(good), COUNT - len(good))
    rejects = column(out, "rejects", "payload")
    assert rejects == [b"no json"] * (COUNT - len(good))
    assert all("JSON" in reason for reason in column(out, "rejects", "reason"))
    positions = column(out, "rows", "position") + column(out, "rejects", "position")
    assert len(set(positions)) == COUNT
    first = next((out / "rows").rglob("*.parquet"))
    assert "recording_id" not in pq.read_schema(first).names
    assert pq.read_schema(first).field("n").type == pa.int64()
    assert check_export(out).rows == len(good)


def test_a_file_each_has_two_tables_as_well(archive: Path, out: Path) -> None:
    report = export_parquet(archive, None, out, decoder="json", partition_by=())
    assert report.results[0].path == str(out / "rows" / "recording-0.parquet")
    assert pq.read_table(out / "rejects" / "recording-0.parquet").num_rows == report.rejected
    again = export_parquet(archive, None, out, decoder="json", partition_by=())
    assert (again.rows, again.rejected) == (report.rows, report.rejected)
    assert check_export(out).sound


def test_an_inferred_schema_stays_when_the_recording_grows(archive: Path, out: Path) -> None:
    export_parquet(archive, None, out, decoder="json", until_positions={0: 6400}, **SIZES)
    builder = RecordingBuilder()
    for index in range(COUNT):
        builder.add(json.dumps({"n": str(index)}).encode() if index > 200 else message(index))
    # The same recording, whose messages have another form from some place on.
    for path in archive.glob("0-*.rec"):
        base = int(path.stem.partition("-")[2])
        data = bytes(builder.data[base : base + 65536])
        path.write_bytes(data.ljust(65536, b"\0"))
    report = export_parquet(archive, None, out, decoder="json", **SIZES)
    assert report.rejected > COUNT / 2
    types = {pq.read_schema(path).field("n").type for path in (out / "rows").rglob("*.parquet")}
    assert types == {pa.int64()}


def test_another_decoder_than_before_is_refused(archive: Path, out: Path) -> None:
    export_parquet(archive, None, out, decoder="json", **SIZES)
    for decoder in ("text", None, make_decoder("json", {"schema": "n string"})):
        with pytest.raises(TargetMismatchError, match="decoder"):
            export_parquet(archive, None, out, decoder=decoder, **SIZES)
    assert check_export(out).sound


def test_a_range_without_rows_still_has_its_rejects(empty_archive: Path, out: Path) -> None:
    builder = RecordingBuilder()
    for _ in range(9):
        builder.add(b"\xff\xfe")
    builder.write(empty_archive)
    report = export_parquet(empty_archive, None, out, decoder="text", **SIZES)
    assert (report.rows, report.rejected) == (0, 9)
    assert column(out, "rejects", "payload") == [b"\xff\xfe"] * 9
    assert column(out, "rows", "position") == []
    assert export_parquet(empty_archive, None, out, decoder="text", **SIZES).rejected == 0


def test_rows_that_are_longer_than_their_messages_end_row_groups_early() -> None:
    def batches() -> Iterator[tuple[pa.RecordBatch, None]]:
        for position in range(32, 352, 32):
            ends = pa.array([position] * 4000, pa.int64())
            yield pa.record_batch({"position": ends, "v": ends}), None  # 64,000 bytes

    groups = list(row_groups(batches(), length=65536, from_position=0, totals=ScanTotals(0)))
    assert [sum(batch.num_rows for batch in group.rows) for group in groups] == [
        12_000, 12_000, 12_000, 4_000,
    ]  # fmt: skip
    assert [group.position for group in groups] == [96, 192, 288, 320]
