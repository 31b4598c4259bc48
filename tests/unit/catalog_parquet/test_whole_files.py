"""Export to Parquet: content, metadata, whole files or none, bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from aerolog.catalog import ExportProgress, arrow_schema, export_recordings, parquet_name
from aerolog.catalog.export import MANIFEST_NAME, export_parquet
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import ArchiveError, FileFormatError, MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

MESSAGES = [bytes([i % 256]) * (i * 37 % 4000) for i in range(250)]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "archive"
    folder.mkdir()
    for stream_id in (5, 6):
        builder = RecordingBuilder(stream_id=stream_id)
        for message in MESSAGES:
            builder.add(message)
        builder.write(folder, stopped=stream_id == 5)
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "out"


def names(folder: Path) -> list[str]:
    """What is in a folder, but for the manifest."""
    return sorted(path.name for path in folder.iterdir() if path.name != MANIFEST_NAME)


def test_a_file_a_recording_with_every_message(archive: Path, out: Path) -> None:
    results = export_recordings(archive, None, out)
    assert names(out) == ["recording-0.parquet", "recording-1.parquet"]
    for result in results:
        table = pq.read_table(result.path)
        assert table.schema.equals(arrow_schema())
        assert table["payload"].to_pylist() == MESSAGES
        assert set(table["recording_id"].to_pylist()) == {result.recording_id}
        assert result.rows == 250
        assert result.payload_bytes == sum(map(len, MESSAGES))
        assert result.file_bytes == (out / parquet_name(result.recording_id)).stat().st_size
        assert result.until_position == table["position"][-1].as_py()
        assert result.skipped_fragments == result.checksum_mismatches == 0


def test_an_unfinished_recording_is_exported_to_its_last_complete_frame(
    archive: Path, out: Path
) -> None:
    stopped, unfinished = export_recordings(archive, [0, 1], out)
    assert unfinished.until_position == stopped.until_position
    metadata = pq.read_metadata(unfinished.path).metadata
    assert json.loads(metadata[b"aerolog.recording"])["stop_position"] == -1
    assert int(metadata[b"aerolog.until_position"]) == stopped.until_position


def test_the_descriptor_and_the_totals_are_in_the_file(archive: Path, out: Path) -> None:
    (result,) = export_recordings(archive, [0], out)
    metadata = pq.read_metadata(result.path).metadata
    descriptor = json.loads(metadata[b"aerolog.recording"])
    assert descriptor["stream_id"] == 5
    assert descriptor["term_buffer_length"] == 65536
    assert descriptor["original_channel"] == "aeron:ipc"
    assert metadata[b"aerolog.rows_are"] == b"messages"
    assert metadata[b"aerolog.schema_version"] == b"1"
    totals = json.loads(metadata[b"aerolog.totals"])
    assert totals["rows"] == 250
    assert totals["position"] == result.until_position


def test_raw_fragments_on_request(archive: Path, out: Path) -> None:
    (result,) = export_recordings(archive, [0], out, raw_fragments=True)
    table = pq.read_table(result.path)
    assert table.num_rows > 250
    assert b"".join(table["payload"].to_pylist()) == b"".join(MESSAGES)
    assert set(table["flags"].to_pylist()) == {0xC0, 0x80, 0x40, 0}
    assert pq.read_metadata(result.path).metadata[b"aerolog.rows_are"] == b"fragments"


def test_files_are_compressed_with_zstd(archive: Path, out: Path) -> None:
    (result,) = export_recordings(archive, [0], out)
    group = pq.read_metadata(result.path).row_group(0)
    assert {group.column(i).compression for i in range(group.num_columns)} == {"ZSTD"}


def test_progress_is_told_and_reaches_the_end(archive: Path, out: Path) -> None:
    seen: list[ExportProgress] = []
    (result,) = export_recordings(archive, [0], out, progress=seen.append)
    assert seen[-1].position == seen[-1].until_position == result.until_position
    assert (seen[-1].rows, seen[-1].payload_bytes) == (result.rows, result.payload_bytes)
    assert [p.position for p in seen] == sorted(p.position for p in seen)


def test_an_interruption_leaves_nothing_of_the_file(archive: Path, out: Path) -> None:
    def interrupt(progress: ExportProgress) -> None:
        if progress.recording_id == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_recordings(archive, None, out, progress=interrupt)
    assert names(out) == ["recording-0.parquet"]


def test_an_interrupted_export_keeps_the_file_that_was_there(archive: Path, out: Path) -> None:
    (before,) = export_recordings(archive, [0], out, raw_fragments=True)

    def interrupt(progress: ExportProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_recordings(archive, [0], out, progress=interrupt)
    assert pq.read_table(before.path).num_rows == before.rows
    (after,) = export_recordings(archive, [0], out)
    assert pq.read_table(after.path).num_rows == 250
    assert names(out) == ["recording-0.parquet"]


def test_damage_ends_a_file_before_it_and_is_raised(archive: Path, out: Path) -> None:
    (archive / "0-65536.rec").unlink()
    with pytest.raises(FileFormatError, match=r"0-65536\.rec"):
        export_recordings(archive, None, out)
    assert names(out) == ["recording-0.parquet", "recording-1.parquet"]
    table = pq.read_table(out / "recording-0.parquet")
    assert 0 < table.num_rows < 250
    assert table["payload"].to_pylist() == MESSAGES[: table.num_rows]
    metadata = pq.read_metadata(out / "recording-0.parquet").metadata
    assert int(metadata[b"aerolog.until_position"]) == table["position"][-1].as_py() <= 65536
    assert pq.read_table(out / "recording-1.parquet").num_rows == 250


def test_a_file_is_hidden_until_it_is_complete(archive: Path, out: Path) -> None:
    visible: list[list[str]] = []

    def look(progress: ExportProgress) -> None:
        visible.append([name for name in names(out) if not name.startswith((".", "_"))])

    export_recordings(archive, [0], out, progress=look)
    assert visible
    assert all(found == [] for found in visible)
    assert names(out) == ["recording-0.parquet"]


def test_what_a_killed_export_left_is_removed_by_the_next(archive: Path, out: Path) -> None:
    (out / "_temporary").mkdir(parents=True)
    (out / "_temporary" / "recording-0.parquet").write_bytes(b"half")
    report = export_parquet(archive, [0], out, partition_by=())
    assert names(out) == ["recording-0.parquet"]
    assert report.abandoned == ["recording-0.parquet"]


def test_an_unknown_recording_stops_before_anything_is_written(archive: Path, out: Path) -> None:
    with pytest.raises(ArchiveError, match="unknown recording id: 9"):
        export_recordings(archive, [0, 9], out)
    assert not out.exists()


def test_a_recording_named_twice_is_exported_once(archive: Path, out: Path) -> None:
    assert [r.recording_id for r in export_recordings(archive, [1, 1, 0], out)] == [1, 0]


def test_an_earlier_end_may_be_asked_for(archive: Path, out: Path) -> None:
    (result,) = export_recordings(archive, [0], out, until_positions={0: 65536})
    positions = pq.read_table(result.path)["position"].to_pylist()
    assert positions[-1] <= 65536
    assert len(positions) < 250


def test_an_empty_recording_is_an_empty_file(tmp_path: Path, out: Path) -> None:
    RecordingBuilder().write(tmp_path)
    (result,) = export_recordings(tmp_path, None, out)
    table = pq.read_table(result.path)
    assert table.num_rows == 0
    assert table.schema.equals(arrow_schema())


def test_without_arrow_the_extra_is_named(
    archive: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"aerolog\[arrow\]"):
        export_recordings(archive, [0], out)
    assert not out.exists()


def test_importing_the_catalog_imports_no_optional_package() -> None:
    code = (
        "import sys, aerolog.catalog;"
        "found = {'pyarrow', 'pandas', 'polars', 'pyspark', 'numpy'} & set(sys.modules);"
        "sys.exit(', '.join(sorted(found)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0
