"""Rows of exports have their times, the same however often an export is killed and run again."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.catalog import open_recording
from aerolog.catalog.export import MANIFEST_NAME, TargetMismatchError, export_parquet
from aerolog.catalog.export.part_writer import PartWriter
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

START_NS = 1_700_000_000_000_000_000
SIZES: dict[str, Any] = {"file_length": 64 * 1024, "row_group_length": 64 * 1024}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def recorded(folder: Path, *, stopped: bool = True) -> int:
    builder = RecordingBuilder()
    for index in range(900):
        builder.add(struct.pack("<q", START_NS + index * 1000) + b"m" * (index % 300), index)
    builder.write(folder, stopped=stopped)
    return builder.position


def index_up_to(folder: Path, position: int, end: int) -> None:
    """Entries every 4 KiB up to a position of a recording that lasted a second."""
    places = range(0, position, 4096)
    entries = [(START_NS + at * 1_000_000_000 // end, at) for at in places]
    write_time_index(folder, 0, entries)


def exported(out: Path) -> pa.Table:
    return ds.dataset(out, partitioning="hive").to_table().sort_by("position")


@pytest.mark.parametrize("partition_by", [(), ("recording_id",)])
def test_an_export_has_the_times_that_a_read_has(
    empty_archive: Path, out: Path, partition_by: tuple[str, ...]
) -> None:
    end = recorded(empty_archive)
    index_up_to(empty_archive, end, end)
    export_parquet(empty_archive, [0], out, partition_by=partition_by, **SIZES)
    with open_recording(empty_archive, 0) as recording:
        expected = recording.to_arrow()["record_time"]
    assert expected.null_count == 0
    assert exported(out)["record_time"].to_pylist() == expected.to_pylist()
    statistics = [
        pq.read_metadata(path)
        .row_group(0)
        .column(pq.read_schema(path).get_field_index("record_time"))
        .statistics
        for path in sorted(out.rglob("*.parquet"))
    ]  # readers skip row groups by time
    assert all(one.has_min_max for one in statistics)


def test_times_in_messages_are_exported_when_asked_for(empty_archive: Path, out: Path) -> None:
    recorded(empty_archive)
    export_parquet(empty_archive, [0], out, time_source="0", **SIZES)
    found = exported(out)["record_time"].cast(pa.int64()).to_pylist()
    assert found == [START_NS // 1000 + index for index in range(900)]
    with pytest.raises(TargetMismatchError, match="time_source"):
        export_parquet(empty_archive, [0], out, **SIZES)
    with pytest.raises(ConfigurationError, match="source of times"):
        export_parquet(empty_archive, [0], out / "other", time_source="sometime")


def test_without_an_index_rows_have_no_times(empty_archive: Path, out: Path) -> None:
    recorded(empty_archive)
    export_parquet(empty_archive, [0], out, **SIZES)
    assert exported(out)["record_time"].null_count == 900
    assert '"times": []' in (out / MANIFEST_NAME).read_text()


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("partition_by", [(), ("recording_id",)])
@pytest.mark.parametrize("then", ["more-entries", "stopped"])
def test_an_export_that_is_gone_on_with_has_the_times_of_its_beginning(
    empty_archive: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    then: str,
    partition_by: tuple[str, ...],
) -> None:
    end = recorded(empty_archive, stopped=False)
    index_up_to(empty_archive, end * 3 // 5, end)
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    options = {"partition_by": partition_by, **SIZES}
    export_parquet(empty_archive, [0], whole, until_positions={0: end - 64}, **options)
    write = PartWriter.write
    written: list[int] = []

    def killed(self: PartWriter, part: Any, *args: Any) -> Any:
        if len(written) == (1 if partition_by else 0):
            raise Killed
        written.append(part.from_position)
        return write(self, part, *args)

    with monkeypatch.context() as patch:
        patch.setattr(PartWriter, "write", killed)
        with pytest.raises(Killed):
            export_parquet(empty_archive, [0], resumed, until_positions={0: end - 64}, **options)
    if then == "stopped":
        with CatalogFile.open(empty_archive) as catalog:
            catalog.recording_stopped(0, end, 1_700_000_002_000)
    index_up_to(empty_archive, end, end)
    export_parquet(empty_archive, [0], resumed, until_positions={0: end - 64}, **options)
    if not partition_by:
        # A whole file is planned anew, with what there is then.
        assert exported(resumed)["record_time"].null_count == 0
        return
    names = sorted(path.relative_to(whole) for path in whole.rglob("*.parquet"))
    assert len(names) >= 3
    for name in names:
        assert (resumed / name).read_bytes() == (whole / name).read_bytes()
    times = exported(whole)["record_time"]
    assert 0 < times.null_count < 900, "what lies behind the index has no times"


def test_what_came_since_has_the_times_of_then(empty_archive: Path, out: Path) -> None:
    end = recorded(empty_archive, stopped=False)
    index_up_to(empty_archive, end // 2, end)
    export_parquet(empty_archive, [0], out, until_positions={0: end // 2 - 8192}, **SIZES)
    assert exported(out)["record_time"].null_count == 0
    with CatalogFile.open(empty_archive) as catalog:
        catalog.recording_stopped(0, end, 1_700_000_001_000)
    index_up_to(empty_archive, end, end)
    export_parquet(empty_archive, [0], out, **SIZES)
    times = exported(out)["record_time"]
    assert (len(times), times.null_count) == (900, 0)
    numbers = times.cast(pa.int64())
    assert pc.all(pc.greater_equal(numbers[1:], numbers[:-1])).as_py()
