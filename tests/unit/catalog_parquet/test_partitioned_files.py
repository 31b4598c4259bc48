"""Partitioned exports: names from positions, row groups, going on, damage, purges, live ends."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.catalog.export import (
    MANIFEST_NAME,
    ExportUnderWayError,
    ManifestError,
    TargetMismatchError,
    check_export,
    export_parquet,
)
from aerolog.catalog.export.checksum import RunningChecksum
from aerolog.catalog.export.layout import end_of_part, part_name
from aerolog.catalog.export.store import FolderStore
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.catalog.export import ExportReport

MESSAGES = [b"%d" % index * (index % 300) for index in range(900)]
SIZES: dict[str, Any] = {"file_length": 128 * 1024, "row_group_length": 64 * 1024}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def archive(empty_archive: Path) -> Path:
    filled(MESSAGES).write(empty_archive)
    return empty_archive


def filled(messages: list[bytes]) -> RecordingBuilder:
    builder = RecordingBuilder()
    for message in messages:
        builder.add(message)
    return builder


def positions(messages: list[bytes]) -> list[int]:
    """Behind each message of a recording of them."""
    builder = RecordingBuilder()
    return [builder.add(message) for message in messages]


def parts(out: Path) -> list[Path]:
    return sorted(out.rglob("part-*.parquet"))


def payloads(out: Path) -> list[bytes]:
    """Of all rows, in the order of the files' names."""
    return [value for path in parts(out) for value in read(path)["payload"].to_pylist()]


def read(path: Path) -> Any:
    return pq.read_table(path, partitioning=None)


def run(archive: Path, out: Path, **options: Any) -> ExportReport:
    return export_parquet(archive, None, out, **(SIZES | options))


def test_files_are_named_by_the_positions_that_they_hold(archive: Path, out: Path) -> None:
    report = run(archive, out)
    found = parts(out)
    assert {path.parent.relative_to(out).as_posix() for path in found} == {"recording_id=0"}
    ranges: list[tuple[int, int]] = []
    for path in found:
        _, first, until = path.stem.split("-")
        ranges.append(named := (int(first), int(until)))
        assert path.name == part_name(*named)
        ends = read(path)["position"].to_pylist()
        assert named[0] < ends[0] <= ends[-1] <= named[1]
        told = pq.read_metadata(path).metadata
        assert (int(told[b"aerolog.from_position"]), int(told[b"aerolog.until_position"])) == named
        assert json.loads(told[b"aerolog.recording"])["recording_id"] == 0
    assert ranges[0] == (0, 128 * 1024)
    assert [first for first, _ in ranges[1:]] == [last for _, last in ranges[:-1]]
    assert payloads(out) == MESSAGES
    assert (report.rows, report.results[0].files) == (len(MESSAGES), len(found))


def test_row_groups_end_at_positions_and_have_statistics_and_a_page_index(
    archive: Path, out: Path
) -> None:
    run(archive, out)
    metadata = pq.read_metadata(parts(out)[0])
    assert metadata.num_row_groups == 2
    names = metadata.schema.names
    for number in range(2):
        group = metadata.row_group(number)
        position = group.column(names.index("position"))
        assert number * 65536 < position.statistics.min <= position.statistics.max
        assert position.statistics.max <= (number + 1) * 65536
        assert position.has_offset_index
        assert position.has_column_index
        assert position.compression == "ZSTD"
        assert group.column(names.index("payload")).statistics is None
        assert group.sorting_columns[0].column_index == names.index("position")


def test_hive_folders_give_the_columns_that_the_files_leave_out(archive: Path, out: Path) -> None:
    filled(MESSAGES[:9]).write(archive)
    run(archive, out, partition_by=("date", "stream_id", "recording_id"))
    assert parts(out)[-1].parent.relative_to(out).as_posix() == (
        "date=2023-11-14/stream_id=10/recording_id=1"
    )
    assert not {"recording_id", "stream_id"} & set(read(parts(out)[0]).schema.names)
    table = ds.dataset(out, partitioning="hive").to_table(filter=ds.field("recording_id") == 1)
    assert table.num_rows == 9
    assert set(table["date"].to_pylist()) == {"2023-11-14"}


def test_a_second_run_writes_nothing(archive: Path, out: Path) -> None:
    run(archive, out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    report = run(archive, out)
    assert (report.rows, report.file_bytes) == (0, 0)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


def test_a_recording_that_has_grown_adds_files_and_changes_none(archive: Path, out: Path) -> None:
    run(archive, out, until_positions={0: 150_000})
    before = {path: path.read_bytes() for path in parts(out)}
    for until in (150_016, 200_000, None):
        run(archive, out, until_positions={} if until is None else {0: until})
        assert payloads(out) == MESSAGES[: len(payloads(out))]
    assert {path: path.read_bytes() for path in before} == before
    assert len(parts(out)) > len(before)
    assert payloads(out) == MESSAGES
    assert check_export(out).sound


def test_a_message_that_is_half_recorded_is_exported_when_it_is_whole(
    empty_archive: Path, out: Path
) -> None:
    builder = filled(MESSAGES[:50])
    start = builder.position
    builder.add(b"m" * 5000)  # four fragments
    builder.write(empty_archive, stopped=False)
    for until in range(start, builder.position, 1408):
        run(empty_archive, out, until_positions={0: until})
        assert payloads(out) == MESSAGES[:50]
    run(empty_archive, out)
    assert payloads(out) == [*MESSAGES[:50], b"m" * 5000]
    assert check_export(out).rows == 51


def test_a_message_that_is_half_recorded_behind_damage_is_exported_when_it_is_whole(
    empty_archive: Path, out: Path
) -> None:
    builder = filled(MESSAGES)
    start = builder.position
    builder.add(b"m" * 5000)
    builder.write(empty_archive, stopped=False)
    ends = positions(MESSAGES)
    cut = ends[40]
    first = empty_archive / "0-0.rec"
    first.write_bytes(first.read_bytes()[:cut].ljust(65536, b"\0"))
    for until in (start + 1408, start + 2816):
        run(empty_archive, out, until_positions={0: until}, skip_damage=True)
    assert run(empty_archive, out, skip_damage=True).complete
    found = [
        value
        for path in sorted((out / "recording_id=0").iterdir())
        for value in read(path)["payload"].to_pylist()
    ]
    assert found[-1] == b"m" * 5000
    assert found[:-1] == [
        message for message, end in zip(MESSAGES, ends, strict=True) if end <= cut or end > 65536
    ]
    (missing,) = check_export(out).missing
    assert (missing.from_position, missing.until_position) == (cut, 65536)


def test_fragments_end_anywhere(empty_archive: Path, out: Path) -> None:
    builder = filled([b"m" * 5000] * 3)
    builder.write(empty_archive, stopped=False)
    run(empty_archive, out, assemble=False, until_positions={0: 2816})
    run(empty_archive, out, assemble=False)
    assert b"".join(payloads(out)) == b"m" * 15000
    assert len(payloads(out)) == 12


def test_damage_ends_one_recording_and_a_repaired_one_is_gone_on_with(
    archive: Path, out: Path
) -> None:
    filled(MESSAGES[:9]).write(archive)
    segment = archive / "0-196608.rec"
    sound = segment.read_bytes()
    frame = (
        next(end for end in positions(MESSAGES) if end > 196608 + 32000) - 196608
    )  # a message begins where another ends
    segment.write_bytes(sound[:frame] + b"\xff" * 1000 + sound[frame + 1000 :])
    report = run(archive, out)
    damaged, other = report.results
    assert not report.complete
    assert other.damage is None
    assert other.rows == 9
    assert damaged.damage is not None
    assert "0-196608.rec" in damaged.damage
    assert "recording 0" in damaged.damage
    assert damaged.until_position == 196608 + frame
    first = [path for path in parts(out) if "recording_id=0" in str(path)]
    before = {path: path.read_bytes() for path in first}
    again = run(archive, out)
    assert again.results[0].damage is not None
    assert again.results[0].rows == 0
    segment.write_bytes(sound)
    assert run(archive, out).complete
    found = [value for path in sorted((out / "recording_id=0").iterdir())
             for value in read(path)["payload"].to_pylist()]  # fmt: skip
    assert found == MESSAGES
    assert {path: path.read_bytes() for path in before} == before
    assert check_export(out).sound


def test_what_was_purged_before_it_was_exported_is_told_once(archive: Path, out: Path) -> None:
    run(archive, out, until_positions={0: 65536})
    with CatalogFile.open(archive) as catalog:
        catalog.update_start_position(0, 196608)
    for base in (0, 65536, 131072):
        (archive / f"0-{base}.rec").unlink()
    report = run(archive, out)
    (purged,) = report.results[0].purged
    assert (purged.from_position, purged.until_position) == (65536, 196608)
    assert not report.complete
    assert run(archive, out).complete
    found = [value for path in parts(out) for value in read(path)["position"].to_pylist()]
    assert found == [end for end in positions(MESSAGES) if not 65536 < end <= 196608]


def test_a_truncated_recording_is_told(archive: Path, out: Path) -> None:
    run(archive, out)
    with CatalogFile.open(archive) as catalog:
        catalog.update_stop_position(0, 65536)
    report = run(archive, out)
    assert report.results[0].damage is not None
    assert "truncated" in report.results[0].damage


def test_another_recording_of_the_same_id_is_refused(
    archive: Path, out: Path, tmp_path: Path
) -> None:
    run(archive, out)
    other = tmp_path / "other"
    other.mkdir()
    builder = RecordingBuilder(stream_id=99)
    builder.add(b"x")
    builder.write(other)
    with pytest.raises(TargetMismatchError, match="recording 0 is another one"):
        run(other, out)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"assemble": False}, "rows_are"),
        ({"file_length": 1 << 20}, "file_length"),
        ({"compression": "snappy", "compression_level": None}, "compression"),
        ({"partition_by": ("recording_id", "date")}, "partition_by"),
        ({"partition_by": ()}, "partition_by"),
        ({"decoder": "text"}, "decoder"),
    ],
)
def test_other_options_than_before_are_refused(
    archive: Path, out: Path, options: dict[str, Any], told: str
) -> None:
    run(archive, out)
    with pytest.raises(TargetMismatchError, match=told):
        run(archive, out, **options)
    assert check_export(out).sound


@pytest.mark.parametrize(
    "options",
    [
        {"partition_by": ("recording_id", "hour")},
        {"partition_by": ("date",)},
        {"partition_by": ("recording_id", "recording_id")},
        {"partition_by": ("recording_id", "archive_id")},
        {"file_length": 100},
    ],
)
def test_impossible_layouts_are_refused(archive: Path, out: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        run(archive, out, **options)
    assert not parts(out)


def test_files_of_somebody_are_not_mixed_with(archive: Path, out: Path) -> None:
    out.mkdir()
    (out / "theirs.parquet").write_bytes(b"x")
    with pytest.raises(TargetMismatchError, match=r"theirs\.parquet"):
        run(archive, out)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"format": "other"}', '{"format": "aerolog-export"}',
     '{"format": "aerolog-export", "version": 99}',
     '{"format": "aerolog-export", "version": 1, "layout": {}, "recordings": {"0": {}}}'],
)  # fmt: skip
def test_a_damaged_manifest_is_told_and_left_alone(archive: Path, out: Path, text: str) -> None:
    run(archive, out)
    (out / MANIFEST_NAME).write_text(text)
    with pytest.raises(ManifestError, match=MANIFEST_NAME):
        run(archive, out)
    with pytest.raises(ManifestError, match=MANIFEST_NAME):
        check_export(out)
    assert (out / MANIFEST_NAME).read_text() == text


def test_a_check_tells_what_is_not_as_it_was_written(archive: Path, out: Path) -> None:
    run(archive, out)
    first, second, third = parts(out)[:3]
    data = bytearray(first.read_bytes())
    data[len(data) // 2] ^= 1
    first.write_bytes(data)
    second.write_bytes(b"PAR1")
    third.rename(third.with_name(part_name(7, 8)))
    report = check_export(out)
    assert not report.sound
    told = {one.path.rpartition("/")[2]: one.problem for one in report.problems}
    assert "checksum" in told[first.name]
    assert "4 bytes" in told[second.name]
    assert "missing" in told[third.name]
    assert "not in the manifest" in told[part_name(7, 8)]


def test_a_manifest_that_points_outside_reads_nothing_there(archive: Path, out: Path) -> None:
    run(archive, out)
    manifest = out / MANIFEST_NAME
    content = json.loads(manifest.read_text())
    content["files"][0]["path"] = "../secret.parquet"
    manifest.write_text(json.dumps(content))
    assert (
        "outside"
        in {one.path: one.problem for one in check_export(out).problems}["../secret.parquet"]
    )


def test_a_target_belongs_to_one_export_at_a_time(archive: Path, out: Path) -> None:
    with FolderStore(out).lock(), pytest.raises(ExportUnderWayError, match=str(out)):
        run(archive, out)
    assert run(archive, out).complete


def test_an_interrupted_export_is_told_by_a_check_until_it_is_done(
    archive: Path, out: Path
) -> None:
    def interrupt(progress: Any) -> None:
        if progress.position > 200_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(archive, out, progress=interrupt)
    assert check_export(out).unfinished == [0]
    assert not (out / "_temporary").exists()
    before = {path: path.stat().st_mtime_ns for path in parts(out)}
    run(archive, out)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert check_export(out).sound
    assert payloads(out) == MESSAGES


def test_progress_goes_over_all_files_of_a_recording(archive: Path, out: Path) -> None:
    seen: list[Any] = []
    report = run(archive, out, progress=seen.append)
    assert [one.position for one in seen] == sorted(one.position for one in seen)
    assert seen[-1].rows == report.rows
    assert seen[-1].payload_bytes == sum(map(len, MESSAGES))


def test_parts_end_where_terms_do() -> None:
    assert end_of_part(0, 128, 64) == 128
    assert end_of_part(127, 128, 64) == 128
    assert end_of_part(128, 128, 64) == 256
    assert end_of_part(0, 100, 64) == 128
    assert end_of_part(0, 10, 64) == 64


def test_a_running_checksum_is_that_of_the_whole() -> None:
    data = bytes(range(256)) * 5000
    whole = RunningChecksum()
    whole.update(data)
    for step in (1, 3, 1000, 300_000):
        running = RunningChecksum()
        for at in range(0, 20_000 if step < 4 else len(data), step):
            running.update(data[at : at + step])
            if at % 7 == 0:
                assert running.text
        if step >= 4:
            assert running.text == whole.text
        consumed = RunningChecksum()
        for at in range(0, len(data), 300_000):
            consumed.update(data[at : at + step])
            consumed.consume(memoryview(bytearray(data[at + step : at + 300_000])))
        assert consumed.text == whole.text
    standard = RunningChecksum()
    standard.update(b"12345")
    assert standard.text != "crc32c:e3069283"
    standard.update(b"6789")
    assert standard.text == "crc32c:e3069283"


MEASURED = """
import resource, sys
from aerolog.catalog.export import export_parquet
sizes = {"file_length": 64 << 20, "row_group_length": 1 << 20}
export_parquet(sys.argv[1], [0], sys.argv[2] + "-warm", **sizes)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
export_parquet(sys.argv[1], [1], sys.argv[2], **sizes)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_the_memory_is_that_of_a_row_group_whatever_the_length(
    empty_archive: Path, out: Path
) -> None:
    for count in (4, 40):  # MiB
        builder = RecordingBuilder(term_length=1 << 20, segment_length=1 << 20, mtu_length=65504)
        for index in range(count * 30):
            builder.add(index.to_bytes(4, "little") * 8000)
        builder.write(empty_archive)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, empty_archive, out],
        capture_output=True,
        text=True,
        check=True,
    )
    # Ten times as long a recording takes less than ten of its forty groups more.
    assert int(done.stdout) < 10 * 1024
    assert sum(pq.read_metadata(path).num_rows for path in parts(out)) == 40 * 30
