"""Exports that an earlier version began and that were killed: this one goes on, exactly once.

The folders in ``exports-1`` are as the version with two exporters left them (commit 8b05f17).
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from golden_data import OLD_EXPORTS

from aerolog.catalog.export import check_export, export_parquet
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

MESSAGES = [b"m%04d" % number * (number % 60) for number in range(1200)]
SIZES: dict[str, Any] = {"file_length": 65536, "row_group_length": 65536}


@pytest.fixture
def archive(empty_archive: Path) -> Path:
    builder = RecordingBuilder()
    for message in MESSAGES:
        builder.add(message)
    builder.write(empty_archive)
    return empty_archive


def files(out: Path) -> dict[str, bytes]:
    return {str(one.relative_to(out)): one.read_bytes() for one in out.rglob("*") if one.is_file()}


@pytest.mark.parametrize(("kind", "keys"), [("parts", ("recording_id",)), ("whole", ())])
def test_an_export_that_was_killed_ends_with_the_files_of_one_that_was_not(
    archive: Path, tmp_path: Path, kind: str, keys: tuple[str, ...]
) -> None:
    out, whole = tmp_path / "old", tmp_path / "whole"
    shutil.copytree(OLD_EXPORTS / kind, out)
    finished = {name: data for name, data in files(out).items() if name.startswith("recording_id")}
    assert len(finished) == (1 if kind == "parts" else 0)
    report = export_parquet(archive, None, out, partition_by=keys, **SIZES)
    assert report.complete
    assert len(report.abandoned) == 1
    assert report.rows == len(MESSAGES)
    export_parquet(archive, None, whole, partition_by=keys, **SIZES)
    assert files(out) == files(whole)
    assert finished.items() <= files(out).items()
    assert check_export(out).sound
    payloads = [
        value.as_py()
        for path in sorted(out.rglob("*.parquet"))
        for value in pq.ParquetFile(path).read(["payload"])["payload"]
    ]
    assert payloads == MESSAGES
    assert export_parquet(archive, None, out, partition_by=keys, **SIZES).results[0].files == (
        0 if kind == "parts" else 1
    )
    assert files(out) == files(whole)
