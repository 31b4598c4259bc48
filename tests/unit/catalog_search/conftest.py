"""Catalogs with recordings to search, in both kinds of database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from postgres import postgres_server, postgres_url  # noqa: F401
from sql_catalogs import catalog, url  # noqa: F401

from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An archive's folder with three recordings, of streams 1000, 1001 and 1002."""
    archive_dir = tmp_path / "archive"
    archive_dir.mkdir()
    for number in range(3):
        builder = RecordingBuilder(stream_id=1000 + number)
        for _ in range(number + 1):
            builder.add(b"a message")
        builder.write(archive_dir)
    return archive_dir


@pytest.fixture
def local(folder: Path) -> Iterator[RecordingCatalog]:
    """The catalog in that folder, synced."""
    with RecordingCatalog.open(archive_dir=folder) as opened:
        sync_folder(opened, folder)
        yield opened
