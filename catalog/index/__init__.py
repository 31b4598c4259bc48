"""The SQL catalog: recordings of one archive or of many, in SQLite or PostgreSQL.

The archive's folder stays the truth. A catalog is made from it by `sync_folder`, and can be
dropped and made again: what a folder cannot tell is in its journal. Needs the optional packages of
``aerolog[sql]`` (``[postgres]`` for PostgreSQL).
"""
# ruff: noqa: E402 - first it is made sure that the packages are there

from aerolog.catalog.extras import require

require("sqlalchemy", "the SQL catalog")
require("alembic", "the SQL catalog")

from aerolog.catalog.index.folder_sync import SyncReport, sync_folder, sync_recordings
from aerolog.catalog.index.reconstruction import rebuild
from aerolog.catalog.index.recording_catalog import RecordingCatalog

__all__ = ["RecordingCatalog", "SyncReport", "rebuild", "sync_folder", "sync_recordings"]
