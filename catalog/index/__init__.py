"""The SQL catalog: a database in SQLite or PostgreSQL of the recordings of one or many archives.

The archive's folder remains the authority. `sync_folder` fills a catalog from it, and a catalog can
be dropped and filled again: the facts that a folder's files do not tell are kept in its journal.
The package needs the optional packages of ``aerolog[sql]`` (``[postgres]`` for PostgreSQL).
"""
# ruff: noqa: E402 - the optional packages are checked before they are imported

from aerolog.catalog.extras import require

require("sqlalchemy", "the SQL catalog")
require("alembic", "the SQL catalog")

from aerolog.catalog.index.folder_sync import SyncReport, sync_folder, sync_recordings
from aerolog.catalog.index.reconstruction import rebuild
from aerolog.catalog.index.recording_catalog import RecordingCatalog

__all__ = ["RecordingCatalog", "SyncReport", "rebuild", "sync_folder", "sync_recordings"]
