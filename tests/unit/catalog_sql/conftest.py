"""Archive folders to make catalogs of, and catalogs in both kinds of database."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from golden_data import copy_archive
from postgres import postgres_server, postgres_url  # noqa: F401
from sql_catalogs import catalog, url  # noqa: F401

from aerolog.catalog.index import migration
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


NEWER = """
import sqlalchemy as sa
from alembic import op

revision = "{newer}"
down_revision = "{newest}"


def upgrade():
    op.add_column("recordings", sa.Column("comment", sa.Text(), nullable=True))


def downgrade():
    op.drop_column("recordings", "comment")
"""


@pytest.fixture
def newer_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package whose newest revision adds a column to the tables of today."""
    newest = migration.revisions()[-1]
    newer = f"{int(newest) + 1:04d}"
    migrations = tmp_path / "migrations"
    shutil.copytree(migration.FOLDER, migrations)
    text = NEWER.format(newer=newer, newest=newest)
    (migrations / "versions" / f"r{newer}_comment.py").write_text(text)
    monkeypatch.setattr(migration, "FOLDER", migrations)
    return newer
