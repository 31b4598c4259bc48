"""Runs, one after another: what is new is loaded once, and what is wrong is said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from pipelines_here import (
    JOB,
    HereExecutor,
    lengthen,
    loaded_numbers,
    message,
    numbers,
    rows,
    run_here,
    visible,
    write_job,
    write_segments,
)

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.protocol.enums import RecordingState
from aerolog.catalog.export.checksum import RunningChecksum
from aerolog.catalog.export.pipeline.errors import (
    DamagedInputError,
    JobFileError,
    RunInProgressError,
    TargetError,
    TooManyRejectedError,
)
from aerolog.catalog.export.pipeline.job import load_job
from aerolog.catalog.export.pipeline.job_run import plan_job, run_job
from aerolog.catalog.export.pipeline.status import job_state
from aerolog.catalog.index import RecordingCatalog
from aerolog.catalog.index.job_runs import begin_run
from aerolog.catalog.index.models import Export, ExportFile, Mark
from aerolog.catalog.index.reconstruction import rebuild
from aerolog.testing.recordings import write_time_index

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.catalog.export.pipeline.job_run import Work


def test_rows_are_loaded_with_where_they_are_from(home: Path) -> None:
    numbers(0, 3000).write(home / "archive")
    numbers(3000, 3500, stream_id=11).write(home / "archive")
    report = run_here(write_job(home))
    assert loaded_numbers(home / "out") == list(range(3500))
    table = rows(home / "out")
    assert set(table["date"].to_pylist()) == {"2023-11-14"}
    assert set(
        zip(table["recording_id"].to_pylist(), table["stream_id"].to_pylist(), strict=True)
    ) == {
        (0, 10),
        (1, 11),
    }
    assert table["archive"].unique().to_pylist() == [str(home / "archive")]
    assert (report.rows, report.messages, report.rejected) == (3500, 3500, 0)
    assert report.files == len(visible(home / "out")) > 2
    assert report.file_bytes == sum(
        (home / "out" / name).stat().st_size for name in visible(home / "out")
    )
    assert report.recordings == {"new": 2}


def test_rows_have_their_times_and_the_day_of_them(home: Path) -> None:
    builder = numbers(0, 2000)
    builder.write(home / "archive")
    # 22:13:20; the second half is of the day after.
    start, half = 1_700_000_000 * 10**9, builder.position // 2 // 4096 * 4096
    after = start + 7200 * 10**9
    entries = [(start, 0), (start + 10**9, half), (after, half), (after + 10**9, builder.position)]
    write_time_index(home / "archive", 0, entries)
    run_here(write_job(home))
    table = rows(home / "out").sort_by("n")
    assert loaded_numbers(home / "out") == list(range(2000))
    assert table["record_time"].null_count == 0
    days = [f"{time:%Y-%m-%d}" for time in table["record_time"].to_pylist()]
    assert table["date"].to_pylist() == days
    assert set(days) == {"2023-11-14", "2023-11-15"}


def test_an_unchanged_input_starts_nothing(home: Path) -> None:
    numbers(0, 100).write(home / "archive")
    path = write_job(home)
    run_here(path)
    before = visible(home / "out")
    executor = HereExecutor()
    report = run_job(load_job(path), executor)
    assert report.recordings == {"unchanged": 1}
    assert (report.rows, report.files) == (0, 0)
    assert executor.started == 0
    assert visible(home / "out") == before


def test_late_and_extended_recordings_are_picked_up(home: Path) -> None:
    archive = home / "archive"
    builder = numbers(0, 1000)
    builder.write(archive)
    path = write_job(home)
    run_here(path)
    for number in range(1000, 2500):
        builder.add(message(number))
    lengthen(archive, 0, builder)
    numbers(2500, 2600).write(archive)
    plan, unfinished = plan_job(load_job(path))
    assert [one.status for one in plan.recordings] == ["extended", "new"]
    assert unfinished == []
    report = run_here(path)
    assert report.recordings == {"extended": 1, "new": 1}
    assert report.rows == 1600
    assert loaded_numbers(home / "out") == list(range(2600))


def test_a_message_that_is_half_there_is_loaded_when_it_is_whole(home: Path) -> None:
    archive = home / "archive"
    builder = numbers(0, 10)
    half = builder.position
    builder.add(json.dumps({"n": 10, "word": "w" * 5000}).encode())
    whole = builder.position
    whole_data = bytes(builder.data)
    builder.data, builder.position = builder.data[: half + 1408], half + 1408
    builder.write(archive, stopped=False)
    path = write_job(home)
    assert run_here(path).rows == 10
    assert run_here(path).rows == 0
    builder.data, builder.position = bytearray(whole_data), whole
    write_segments(archive, 0, builder)
    assert run_here(path).rows == 1
    assert loaded_numbers(home / "out") == list(range(11))


def test_conditions_choose_recordings(home: Path) -> None:
    numbers(0, 10).write(home / "archive")
    numbers(10, 20, stream_id=11).write(home / "archive")
    path = write_job(home)
    path.write_text(path.read_text() + "[recordings]\nstream = 11\n")
    assert run_here(path).rows == 10
    assert loaded_numbers(home / "out") == list(range(10, 20))


def test_what_cannot_be_decoded_is_in_the_rejects(home: Path) -> None:
    builder = numbers(0, 50)
    at = builder.add(b"not json")
    builder.add(message(50))
    builder.write(home / "archive")
    report = run_here(write_job(home))
    assert (report.rows, report.rejected) == (51, 1)
    assert report.rejects[0][:2] == (0, at)
    (reject,) = rows(home / "out", "rejects").to_pylist()
    assert (reject["recording_id"], reject["position"]) == (0, at)
    assert reject["payload"] == b"not json"
    assert reject["reason"].startswith("not JSON")
    assert loaded_numbers(home / "out") == list(range(51))


def test_a_wrong_decoder_loads_nothing(home: Path) -> None:
    builder = numbers(0, 1)
    for _ in range(10):
        builder.add(b"\x00binary")
    builder.write(home / "archive")
    path = write_job(home)
    with pytest.raises(TooManyRejectedError, match=r"10 of 11 rows .* position \d+ of recording 0"):
        run_here(path)
    assert visible(home / "out") == []
    state = job_state(load_job(path))
    assert state.runs[0].state == "failed"
    assert "10 of 11" in str(state.runs[0].error)
    assert run_here(write_job(home, output="rejected-max = 1.0")).rows == 1


def test_a_decoder_that_does_not_exist_is_named(home: Path) -> None:
    numbers(0, 1).write(home / "archive")
    path = write_job(home)
    path.write_text(path.read_text().replace('"json"', '"jsn"'))
    with pytest.raises(JobFileError, match="decode: .*jsn"):
        run_here(path)
    path.write_text(path.read_text().replace('"jsn"', '"text"'))
    with pytest.raises(JobFileError, match="decode: .*schema"):
        run_here(path)


def test_purged_recordings_are_reported_and_the_rest_is_loaded(home: Path) -> None:
    archive = home / "archive"
    for first in (0, 1000, 2000):
        numbers(first, first + 1000).write(archive)
    path = write_job(home)
    path.write_text(path.read_text() + "[recordings]\nid = [0, 1]\n")
    run_here(path)
    builder = numbers(2000, 3000)
    with CatalogFile.open(archive, capacity=4096) as catalog:
        catalog.update_start_position(1, 65536)  # loaded already: no matter
        catalog.update_start_position(2, 65536)
        catalog.change_state(0, RecordingState.DELETED)
    for name in ("0-0.rec", "0-65536.rec", "1-0.rec", "2-0.rec"):
        (archive / name).unlink()
    path.write_text(path.read_text().replace("id = [0, 1]", ""))
    report = run_here(path)
    assert report.recordings == {"purged": 1, "unchanged": 1, "new": 1}
    left = sum(1 for n in range(2000, 3000) if position_of(builder, n - 2000) > 65536)
    assert report.rows == left > 0


def position_of(builder: object, index: int) -> int:
    """Position after a message, as the builder laid it out."""
    fresh = numbers(2000, 2000)
    position = 0
    for number in range(2000, 2001 + index):
        position = fresh.add(message(number))
    return position


def test_what_was_purged_before_it_was_loaded_is_lost_and_said_so(home: Path) -> None:
    archive = home / "archive"
    builder = numbers(0, 100)
    builder.write(archive)
    path = write_job(home)
    run_here(path)
    mark = builder.position
    for number in range(100, 3000):
        builder.add(message(number))
    lengthen(archive, 0, builder)
    with CatalogFile.open(archive, capacity=4096) as catalog:
        catalog.update_start_position(0, 131072)
    (archive / "0-0.rec").unlink()
    (archive / "0-65536.rec").unlink()
    strict = write_job(home, output='on-purged = "fail"')
    with pytest.raises(DamagedInputError, match=f"from {mark} to 131072 it was purged before"):
        run_here(strict)
    report = run_here(write_job(home))
    assert report.recordings == {"lost": 1}
    assert f"from {mark} to 131072 it was purged before it was loaded" in report.remarks[0]
    found = loaded_numbers(home / "out")
    assert found[:100] == list(range(100))
    assert found[-1] == 2999
    assert len(found) == len(set(found)) < 3000


def test_a_truncated_recording_is_said_and_nothing_is_loaded_twice(home: Path) -> None:
    archive = home / "archive"
    builder = numbers(0, 1000)
    builder.write(archive)
    path = write_job(home)
    run_here(path)
    with CatalogFile.open(archive, capacity=4096) as catalog:
        catalog.update_stop_position(0, 65536)
    report = run_here(path)
    assert report.recordings == {"shortened": 1}
    assert f"ends at 65536, but was loaded up to {builder.position}" in report.remarks[0]
    assert loaded_numbers(home / "out") == list(range(1000))


def test_a_recording_that_was_truncated_and_extended_is_said_and_nothing_is_mixed(
    home: Path,
) -> None:
    archive = home / "archive"
    numbers(0, 1000).write(archive)
    path = write_job(home)
    run_here(path)
    kept = numbers(0, 400)
    with CatalogFile.open(archive, capacity=4096) as catalog:
        catalog.update_stop_position(0, kept.position)
    kept.session_id = 2002
    for number in range(5000, 6500):
        kept.add(message(number))
    lengthen(archive, 0, kept)
    for _ in range(2):
        report = run_here(path)
        assert report.recordings == {"shortened": 1}
        assert "was truncated and extended since it was loaded up to" in report.remarks[0]
        assert loaded_numbers(home / "out") == list(range(1000))


def damaged_archive(home: Path) -> int:
    """Three segments, the second one damaged; returns how many messages are before the damage."""
    builder = numbers(0, 2000)
    builder.write(home / "archive")
    segment = home / "archive" / "0-65536.rec"
    data = bytearray(segment.read_bytes())
    data[0:4] = (-77).to_bytes(4, "little", signed=True)
    segment.write_bytes(data)
    fresh = numbers(0, 0)
    return sum(1 for n in range(2000) if fresh.add(message(n)) <= 65536)


def test_damage_is_named_and_loads_nothing(home: Path) -> None:
    damaged_archive(home)
    with pytest.raises(DamagedInputError, match=r"recording 0 of .*nothing was loaded"):
        run_here(write_job(home))
    assert visible(home / "out") == []
    assert list((home / "out" / "_aerolog" / "staging").iterdir()) == []


def test_damage_can_be_a_reject(home: Path) -> None:
    before = damaged_archive(home)
    report = run_here(write_job(home, output="skip-damage = true"))
    found = loaded_numbers(home / "out")
    assert found[:before] == list(range(before))
    assert found[-1] == 1999
    (reject,) = rows(home / "out", "rejects").to_pylist()
    assert reject["position"] == 65536
    assert reject["reason"].startswith("positions 65536 to 131072 cannot be read: ")
    assert report.rejected == 1
    assert run_here(write_job(home, output="skip-damage = true")).rows == 0


def test_a_missing_segment_is_named(home: Path) -> None:
    numbers(0, 2000).write(home / "archive")
    (home / "archive" / "0-65536.rec").unlink()
    with pytest.raises(DamagedInputError, match=r"recording 0 .*0-65536\.rec"):
        run_here(write_job(home))
    assert visible(home / "out") == []


def test_a_schema_that_changed_is_refused(home: Path) -> None:
    numbers(0, 10).write(home / "archive")
    path = write_job(home)
    run_here(path)
    numbers(10, 20).write(home / "archive")
    path.write_text(path.read_text().replace("n int64", "n double"))
    with pytest.raises(TargetError, match="n was int64 and is double"):
        run_here(path)
    assert loaded_numbers(home / "out") == list(range(10))


def test_a_schema_that_was_inferred_stays(home: Path) -> None:
    numbers(0, 10).write(home / "archive")
    path = write_job(home)
    path.write_text(path.read_text().replace('schema = "n int64, word string"\n', ""))
    run_here(path)
    builder = numbers(10, 12)
    builder.add(b'{"n": "twelve", "more": 1}')
    builder.write(home / "archive")
    report = run_here(path)
    assert (report.rows, report.rejected) == (2, 1)
    assert loaded_numbers(home / "out") == list(range(12))


@pytest.mark.parametrize("name", ["notes.txt", "rows"])
def test_a_target_that_is_not_empty_is_refused(home: Path, name: str) -> None:
    numbers(0, 10).write(home / "archive")
    (home / "out").mkdir()
    (home / "out" / name).write_text("mine")
    path = write_job(home)
    for attempt in (lambda: run_here(path), lambda: plan_job(load_job(path))):
        with pytest.raises(TargetError, match=f"is not empty and no job's output.*{name}"):
            attempt()
    assert [one.name for one in (home / "out").iterdir()] == [name]


def test_another_jobs_target_is_refused(home: Path) -> None:
    numbers(0, 10).write(home / "archive")
    path = write_job(home)
    run_here(path)
    path.write_text(path.read_text().replace('"numbers"', '"others"'))
    for attempt in (lambda: run_here(path), lambda: plan_job(load_job(path))):
        with pytest.raises(TargetError, match="is the output of the job 'numbers'"):
            attempt()


def test_a_target_that_is_gone_is_not_taken_for_a_new_one(home: Path) -> None:
    numbers(0, 10).write(home / "archive")
    path = write_job(home)
    run_here(path)
    (home / "out").rename(home / "elsewhere")
    with pytest.raises(TargetError, match="is empty, though this job has loaded"):
        run_here(path)
    assert run_here(path, restart=True).rows == 10
    with pytest.raises(TargetError, match="has commits"):
        run_here(path, restart=True)
    assert loaded_numbers(home / "out") == list(range(10))


def test_a_target_that_cannot_be_written_is_named(home: Path) -> None:
    numbers(0, 10).write(home / "archive")
    (home / "file").write_text("")
    with pytest.raises(TargetError, match=r"file/out cannot be used.*Not a directory"):
        run_here(write_job(home, to="file/out"))


def test_a_job_that_runs_is_not_run_twice(home: Path) -> None:
    numbers(0, 10).write(home / "archive")
    path = write_job(home)
    run_here(path)
    numbers(10, 20).write(home / "archive")
    with RecordingCatalog.open(archive_dir=home / "archive") as catalog:
        assert begin_run(catalog, "numbers", "the-other") is None
    with pytest.raises(RunInProgressError, match="job numbers is run by process"):
        run_here(path)
    assert loaded_numbers(home / "out") == list(range(10))


def test_the_catalog_knows_what_was_loaded_and_a_rebuilt_one_too(home: Path) -> None:
    archive = home / "archive"
    numbers(0, 3000).write(archive)
    path = write_job(home)
    run_here(path)
    before = catalog_content(archive)
    (_, mark, _) = before["marks"][0]
    assert mark == numbers(0, 3000).position
    ((_, _, _, total, _, _),) = before["exports"]
    assert total == 3000
    assert [name for name, *_ in before["files"]] == visible(home / "out")
    with RecordingCatalog.open(archive_dir=archive) as catalog:
        rebuild(catalog, archive)
    assert catalog_content(archive) == before
    for name in ("aerolog-catalog.db", "aerolog-catalog.journal"):
        (archive / name).unlink()
    report = run_here(path)  # the output itself knows
    assert report.rows == 0
    assert len(report.recovered) == 1
    assert catalog_content(archive) == before
    assert loaded_numbers(home / "out") == list(range(3000))


def catalog_content(archive: Path) -> dict[str, list[tuple[object, ...]]]:
    with RecordingCatalog.open(archive_dir=archive) as catalog, catalog.session() as session:
        return {
            "marks": sorted(
                (one.job, one.position, one.run_id) for one in session.query(Mark).all()
            ),
            "exports": sorted(
                (one.target, one.from_position, one.until_position, one.rows, one.bytes, one.state)
                for one in session.query(Export).all()
            ),
            "files": sorted(
                (one.path, one.from_position, one.until_position, one.rows, one.checksum)
                for one in session.query(ExportFile).all()
            ),
        }


def test_an_error_on_the_way_is_noted_and_the_next_run_begins_again(home: Path) -> None:
    class Broken(HereExecutor):
        def run(self, work: Work, progress: object) -> list[object]:
            super().run(work, lambda _: None)
            raise OSError(28, "No space left on device")

    numbers(0, 1000).write(home / "archive")
    path = write_job(home)
    executor = Broken()
    with pytest.raises(TargetError, match="No space left"):
        run_job(load_job(path), executor)
    assert executor.closed == 1
    assert visible(home / "out") == []
    assert job_state(load_job(path)).runs[0].error is not None
    assert run_here(path).rows == 1000
    assert list((home / "out" / "_aerolog" / "staging").iterdir()) == []


def test_many_days_are_many_folders_and_few_open_files(home: Path) -> None:
    for number in range(40):
        numbers(number, number + 1).write(home / "archive")
    with CatalogFile.open(home / "archive", capacity=4096) as catalog:
        for recording_id in range(40):
            descriptor = numbers(recording_id, recording_id + 1).descriptor()
            day = recording_id * 86_400_000
            catalog.replace_recording(
                descriptor.with_changes(
                    recording_id=recording_id,
                    start_timestamp=1_700_000_000_000 + day,
                    stop_timestamp=1_700_000_001_000 + day,
                )
            )
    report = run_here(write_job(home))
    assert report.files == 40
    assert loaded_numbers(home / "out") == list(range(40))
    assert len({name.split("/")[1] for name in visible(home / "out")}) == 40


def test_files_are_sound_and_as_the_manifest_says(home: Path) -> None:
    numbers(0, 3000).write(home / "archive")
    run_here(write_job(home))
    commit = json.loads((home / "out/_aerolog/commits/00000001.json").read_text())
    files = {one["path"]: one for one in commit["files"]}
    assert sorted(files) == visible(home / "out")
    for path, one in files.items():
        checksum = RunningChecksum()
        checksum.update((home / "out" / path).read_bytes())
        assert checksum.text == one["checksum"]
        assert pq.read_metadata(home / "out" / path).num_rows == one["rows"]


def test_a_damaged_commit_is_named(home: Path) -> None:
    numbers(0, 10).write(home / "archive")
    path = write_job(home)
    run_here(path)
    manifest = home / "out/_aerolog/commits/00000001.json"
    manifest.write_text(manifest.read_text().replace("recording_id", "recording_ix"))
    with pytest.raises(TargetError, match=r"commit 00000001\.json does not match its checksum"):
        run_here(path)


def test_an_id_that_is_not_there_is_named(home: Path) -> None:
    numbers(0, 10).write(home / "archive")
    with pytest.raises(JobFileError, match="recordings: unknown recording id: 99 in the catalog"):
        run_here(write_job(home, text=JOB + "[recordings]\nid = [0, 99]\n"))
    assert run_here(write_job(home, text=JOB + "[recordings]\nid = [0]\n")).rows == 10
