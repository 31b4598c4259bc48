"""Exports to an object store: an S3 server of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from aerolog.catalog.export import (
    MANIFEST_NAME,
    TargetUnreachableError,
    check_export,
    export_parquet,
)
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.catalog import ExportProgress

pytestmark = [pytest.mark.database, pytest.mark.timeout(200)]

MESSAGES = [b"%d" % index * (index % 300) for index in range(600)]
SIZES: dict[str, Any] = {"file_length": 128 * 1024, "row_group_length": 64 * 1024}


@pytest.fixture
def archive(empty_archive: Path) -> Path:
    builder = RecordingBuilder()
    for message in MESSAGES:
        builder.add(message)
    builder.write(empty_archive)
    return empty_archive


@pytest.fixture
def target(s3_url: str) -> str:
    return s3_url.replace("?", "/exported?")


def objects(target: str) -> dict[str, bytes]:
    """All objects below a URL, but for the markers of folders."""
    store, root = fs.FileSystem.from_uri(target)
    found = {}
    for info in store.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True)):
        if info.type == fs.FileType.File:
            with store.open_input_file(info.path) as file:
                found[info.path[len(root) + 1 :]] = file.read()
    return found


def visible(target: str) -> list[str]:
    return sorted(path for path in objects(target) if not path.startswith("_"))


def test_an_export_is_the_same_as_to_a_folder(archive: Path, target: str, tmp_path: Path) -> None:
    here = tmp_path / "exported"
    export_parquet(archive, None, here, **SIZES)
    report = export_parquet(archive, None, target, **SIZES)
    assert report.rows == len(MESSAGES)
    assert report.results[0].files > 1
    assert objects(target) == {
        str(path.relative_to(here)): path.read_bytes() for path in here.rglob("*") if path.is_file()
    }
    assert check_export(target).sound


def test_a_recording_that_has_grown_adds_objects_and_changes_none(
    archive: Path, target: str
) -> None:
    export_parquet(archive, None, target, until_positions={0: 150_000}, **SIZES)
    before = objects(target)
    assert export_parquet(archive, None, target, **SIZES).rows > 0
    after = objects(target)
    assert all(after[name] == before[name] for name in before if name != MANIFEST_NAME)
    assert len(after) > len(before)
    assert check_export(target).rows == len(MESSAGES)


def test_what_damages_an_object_is_told_by_a_check(archive: Path, target: str) -> None:
    export_parquet(archive, None, target, **SIZES)
    store, root = fs.FileSystem.from_uri(target)
    first, second = visible(target)[:2]
    with store.open_output_stream(f"{root}/{first}") as stream:
        stream.write(b"somebody else's")
    store.delete_file(f"{root}/{second}")
    report = check_export(target)
    assert not report.sound
    assert [(one.path, one.recording_id) for one in report.problems] == [(first, 0), (second, 0)]
    assert "15 bytes" in report.problems[0].problem
    assert "missing" in report.problems[1].problem


def test_no_part_of_an_object_is_seen_when_an_export_fails(archive: Path, target: str) -> None:
    seen: list[list[str]] = []

    def interrupt(progress: ExportProgress) -> None:
        seen.append(visible(target))
        if progress.position > 140_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_parquet(archive, None, target, progress=interrupt, **SIZES)
    complete = visible(target)
    assert all(set(names) <= set(complete) for names in seen)
    before = objects(target)
    assert [name for name in before if name.startswith("_temporary")] == []
    assert sum(pq.read_metadata(pa.BufferReader(before[name])).num_rows for name in complete) > 0
    export_parquet(archive, None, target, **SIZES)
    after = objects(target)
    assert {name: after[name] for name in complete} == {name: before[name] for name in complete}
    assert check_export(target).rows == len(MESSAGES)


CHILD = """
import sys
from aerolog.catalog.export import export_parquet
def tell(progress):
    print(progress.position, flush=True)
    sys.stdin.readline()
export_parquet(sys.argv[1], None, sys.argv[2], file_length=128*1024, row_group_length=64*1024,
               progress=tell)
"""


def test_an_export_that_is_killed_goes_on_to_the_same_objects(
    archive: Path, target: str, tmp_path: Path
) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, archive, target],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    assert child.stdout is not None
    assert child.stdin is not None
    for _ in range(3):
        assert child.stdout.readline()
        child.stdin.write("\n")
        child.stdin.flush()
    # It is in the middle of a file, or waits to be told to go on.
    child.send_signal(signal.SIGKILL)
    child.wait()
    here = tmp_path / "exported"
    export_parquet(archive, None, here, **SIZES)
    for name in visible(target):
        assert objects(target)[name] == (here / name).read_bytes()
    (upload,) = export_parquet(archive, None, target, **SIZES).uploads
    assert "/exported/_temporary: a file of recording 0 from position " in upload
    assert export_parquet(archive, None, target, **SIZES).uploads == []
    assert objects(target) == {
        str(path.relative_to(here)): path.read_bytes() for path in here.rglob("*") if path.is_file()
    }


def test_a_store_that_does_not_answer_is_told_without_its_secrets(archive: Path) -> None:
    url = "s3://key:secret@bucket/x?endpoint_override=127.0.0.1:1&scheme=http&region=us-east-1"
    with pytest.raises(TargetUnreachableError, match=r"s3://bucket/x cannot be used") as caught:
        export_parquet(archive, None, url)
    assert "secret" not in str(caught.value)


def test_a_bucket_that_is_not_there_is_told(archive: Path, s3_url: str) -> None:
    url = s3_url.replace("s3://bucket", "s3://no-such-bucket")
    with pytest.raises(TargetUnreachableError, match="no-such-bucket"):
        export_parquet(archive, None, url)
