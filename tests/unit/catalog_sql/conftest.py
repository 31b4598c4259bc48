"""Archive folders to make catalogs of, and catalogs in both kinds of database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden_data import copy_archive
from postgres import postgres_server, postgres_url  # noqa: F401
from sql_catalogs import catalog, url  # noqa: F401

from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An archive's folder with three stopped recordings, and one that a crash has left."""
    archive_dir = tmp_path / "archive"
    archive_dir.mkdir()
    for stream_id, (messages, stopped) in enumerate(
        [(1, True), (200, True), (40, True), (90, False)]
    ):
        builder = RecordingBuilder(stream_id=stream_id)
        for number in range(messages):
            builder.add(b"%d" % number * 200)
        builder.write(archive_dir, stopped=stopped)
    return archive_dir


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """A copy of the folder that the reference's archive wrote."""
    return copy_archive(tmp_path / "golden")
