"""A folder with an archive in it, and a catalog's database that has its tables already."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from aerolog.catalog.index import RecordingCatalog
from aerolog.catalog.index.recording_catalog import DATABASE_NAME

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def new_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrated once: that takes longer than most tests here."""
    folder = tmp_path_factory.mktemp("database")
    RecordingCatalog.open(archive_dir=folder).close()
    return folder / DATABASE_NAME


@pytest.fixture
def home(tmp_path: Path, new_database: Path) -> Path:
    (tmp_path / "archive").mkdir()
    shutil.copy(new_database, tmp_path / "archive")
    return tmp_path
