"""The SQL catalog: recordings of one archive or of many, in SQLite or PostgreSQL.

The archive's folder stays the truth. A catalog is made from it by `sync_folder`, and can be
dropped and made again: what a folder cannot tell is in its journal. Needs the optional packages of
``aerolog[sql]`` (``[postgres]`` for PostgreSQL).
"""

from aerolog.catalog.extras import require

require("sqlalchemy", "the SQL catalog")
require("alembic", "the SQL catalog")

from aerolog.catalog.sql.opening import RecordingCatalog  # noqa: E402 - its packages are there

__all__ = ["RecordingCatalog"]
