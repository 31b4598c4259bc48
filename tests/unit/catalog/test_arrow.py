"""Recordings as Arrow batches, tables and frames."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from aerolog.archive.format.archive_folder import ScanTotals
from aerolog.archive.format.checksum import checksum_for
from aerolog.catalog import arrow_schema, open_recording
from aerolog.catalog.arrow.schema import COLUMN_NAMES
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import ArchiveError, FileFormatError, MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

MESSAGES = [bytes([i % 256]) * (i * 37 % 4000) for i in range(250)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    builder = RecordingBuilder(initial_term_id=-1, session_id=-77, stream_id=5)
    for index, message in enumerate(MESSAGES):
        builder.add(message, reserved_value=-index)
    builder.write(tmp_path)
    return tmp_path


def test_the_schema_is_the_documented_one() -> None:
    assert [(field.name, str(field.type), field.nullable) for field in arrow_schema()] == [
        ("recording_id", "int64", False),
        ("position", "int64", False),
        ("term_id", "int32", False),
        ("term_offset", "int32", False),
        ("session_id", "int32", False),
        ("stream_id", "int32", False),
        ("flags", "int16", False),
        ("reserved_value", "int64", False),
        ("payload", "binary", False),
        ("record_time", "timestamp[us, tz=UTC]", True),
    ]


def test_a_recording_says_what_it_is(folder: Path) -> None:
    with open_recording(folder, 0) as recording:
        end = recording.recording.end_position
        channel = recording.descriptor.stripped_channel
        assert repr(recording) == (
            f"<ArrowRecording 0 of {folder}: stream 5 of {channel}, positions 0 to {end}>"
        )


def test_a_table_holds_every_message_and_column(folder: Path) -> None:
    with open_recording(folder, 0) as recording:
        table = recording.to_arrow()
    table.validate(full=True)
    assert table.schema.equals(arrow_schema())
    assert table["payload"].to_pylist() == MESSAGES
    assert table["reserved_value"].to_pylist() == [-i for i in range(250)]
    assert set(table["recording_id"].to_pylist()) == {0}
    assert set(table["session_id"].to_pylist()) == {-77}
    assert set(table["stream_id"].to_pylist()) == {5}
    assert set(table["flags"].to_pylist()) == {0xC0}
    assert table["record_time"].null_count == 250
    assert table["position"][-1].as_py() == recording.recording.end_position
    assert table["term_id"][0].as_py() == -1
    assert table["term_id"][-1].as_py() > 0


def test_the_position_is_behind_the_message(folder: Path) -> None:
    table = open_recording(folder, 0).to_arrow(until_position=64)
    assert table["position"].to_pylist() == [32]
    assert table["term_offset"].to_pylist() == [0]


def test_wanted_columns_alone_come_in_the_order_of_the_table(folder: Path) -> None:
    table = open_recording(folder, 0).to_arrow(columns=("stream_id", "position", "recording_id"))
    assert table.column_names == ["recording_id", "position", "stream_id"]
    assert table.num_rows == 250
    only = open_recording(folder, 0).to_arrow(columns=("recording_id",))
    assert only["recording_id"].to_pylist() == [0] * 250
    with pytest.raises(ValueError, match="no such column: colour"):
        open_recording(folder, 0).to_arrow(columns=("colour",))


def test_batches_are_bounded(folder: Path) -> None:
    totals = ScanTotals(0)
    batches = list(open_recording(folder, 0).to_batches(rows_max=40, totals=totals))
    assert [batch.num_rows for batch in batches] == [40] * 6 + [10]
    assert totals.rows == 250
    by_bytes = list(open_recording(folder, 0).to_batches(payload_capacity=10_000))
    lengths = [sum(map(len, batch["payload"].to_pylist())) for batch in by_bytes]
    assert max(lengths) <= 10_000
    assert sum(lengths) == sum(map(len, MESSAGES))


def test_memory_of_arrow_is_let_go_with_the_batches(folder: Path) -> None:
    before = pa.total_allocated_bytes()
    peak = 0
    for batch in open_recording(folder, 0).to_batches(payload_capacity=8192, rows_max=100):
        assert batch.num_rows > 0
        peak = max(peak, pa.total_allocated_bytes() - before)
        del batch
    assert 0 < peak < 64 * 1024
    assert pa.total_allocated_bytes() == before


def test_one_line_gives_a_pandas_frame(folder: Path) -> None:
    frame = open_recording(folder, 0).to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(COLUMN_NAMES)
    assert frame["payload"].tolist() == MESSAGES
    assert frame["record_time"].isna().all()


def test_one_line_gives_a_polars_frame(folder: Path) -> None:
    frame = open_recording(folder, 0).to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == list(COLUMN_NAMES)
    assert frame["payload"].to_list() == MESSAGES
    assert frame.schema["record_time"] == pl.Datetime("us", "UTC")


def test_an_empty_recording_is_an_empty_table(tmp_path: Path) -> None:
    RecordingBuilder().write(tmp_path)
    recording = open_recording(tmp_path, 0)
    assert recording.to_arrow().num_rows == 0
    assert recording.to_arrow().schema.equals(arrow_schema())
    assert recording.to_pandas().empty


def test_a_table_says_which_recording_it_is_from(folder: Path) -> None:
    metadata = open_recording(folder, 0).to_arrow(assemble=False).schema.metadata
    assert metadata[b"aerolog.rows_are"] == b"fragments"
    assert b'"session_id": -77' in metadata[b"aerolog.recording"]


def test_session_ids_are_restored_where_checksums_stand(tmp_path: Path) -> None:
    builder = RecordingBuilder(session_id=31, checksum=checksum_for("CRC-32C"))
    for message in MESSAGES[:50]:
        builder.add(message)
    builder.write(tmp_path)
    table = open_recording(tmp_path, 0).to_arrow(assemble=False)
    assert set(table["session_id"].to_pylist()) == {31}


def test_unknown_recordings_and_missing_folders_are_errors(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="unknown recording id: 3"):
        open_recording(folder, 3)
    with pytest.raises(FileNotFoundError):
        open_recording(tmp_path / "nowhere", 0)
    (folder / "archive.catalog").write_bytes(b"garbage")
    with pytest.raises(FileFormatError):
        open_recording(folder, 0)


@pytest.mark.parametrize(
    ("module", "extra", "use"),
    [
        ("pyarrow", "arrow", "to_arrow"),
        ("pandas", "pandas", "to_pandas"),
        ("polars", "polars", "to_polars"),
    ],
)
def test_a_missing_package_names_its_extra(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, extra: str, use: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"aerolog\[{extra}\]") as raised:
        getattr(open_recording(folder, 0), use)()
    assert raised.value.extra == extra
