"""Connections to a catalog's database, with the transactions that the catalog relies on.

SQLite gets a write-ahead log, foreign keys, and transactions that begin where the program says so.
A transaction that will write takes the write lock at its beginning, so that no other process can
change the rows between its reads and its writes. PostgreSQL keeps its default, read committed.

A SQLite file that may not be written, or whose folder may not, is opened read-only. SQLite reads a
database with a write-ahead log only where it may keep two more files, so that one in a folder that
is read-only is declared to be immutable, unless a log with changes was left there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import create_engine, event, pool

from aerolog.catalog.extras import require
from aerolog.catalog.index.database_errors import translate_errors
from aerolog.catalog.index.errors import NotACatalogError

if TYPE_CHECKING:
    from sqlalchemy.engine import URL, Connection, Engine

#: Execution option of connections whose transactions will write.
WRITES: Final = "aerolog_writes"

#: How long to wait for a lock that another process's transaction holds, in seconds.
BUSY_TIMEOUT_S: Final = 30.0
#: How long to wait for a server to answer a connection, in seconds.
CONNECT_TIMEOUT_S: Final = 10


def make_engine(url: URL) -> Engine:
    """Make an engine for a catalog's database; it does not connect yet.

    Args:
        url: a URL that `database_errors.parsed_url` has accepted.

    Raises:
        MissingExtraError: the database's driver is not installed.
    """
    if url.get_backend_name() == "sqlite":
        # Opening a file is cheap, and without a pool no idle connection keeps the file open.
        in_memory = url.database in {None, "", ":memory:"}
        kept = pool.StaticPool if in_memory else pool.NullPool
        settings: dict[str, Any] = {"timeout": BUSY_TIMEOUT_S, "check_same_thread": False}
        engine = create_engine(url, connect_args=settings, poolclass=kept)
        event.listen(engine, "do_connect", _connect_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        require("psycopg", "a catalog in PostgreSQL")
        # Settings in the URL override these defaults.
        defaults = {"application_name": "aerolog", "connect_timeout": CONNECT_TIMEOUT_S}
        given = {name: value for name, value in defaults.items() if name not in url.query}
        engine = create_engine(url, connect_args=given)
        event.listen(engine, "connect", _prepare_postgresql)
    translate_errors(engine)
    return engine


def lock_for_migration(connection: Connection) -> None:
    """Keep other processes from changing the tables until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('aerolog.migration'))")


def is_read_only(file: str) -> bool:
    """Whether a SQLite file is there and can be read only: the file or its folder is read-only."""
    path = Path(file)
    return path.is_file() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def _connect_sqlite(dialect: Any, _record: Any, arguments: Any, settings: dict[str, Any]) -> Any:
    file, *others = arguments
    if Path(file).is_symlink() and not Path(file).exists():
        raise NotACatalogError(
            f"{file} is a link to a file that does not exist, and no database is made where it"
            " leads: remove the link, or name the database by --catalog"
        )
    pragmas = ["foreign_keys = ON"]
    if not settings.get("uri") and is_read_only(file):
        settings = settings | {"uri": True}
        file = _read_only_uri(file)
    else:
        pragmas = ["journal_mode = WAL", "synchronous = NORMAL", *pragmas]
    connection = dialect.connect(file, *others, **settings)
    # The driver would begin transactions by itself, and never before a SELECT.
    connection.isolation_level = None
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _read_only_uri(file: str) -> str:
    log = Path(f"{file}-wal")
    has_changes = log.exists() and log.stat().st_size > 0
    may_keep_files = has_changes or os.access(log.parent, os.W_OK)
    return f"{Path(file).absolute().as_uri()}?mode=ro{'' if may_keep_files else '&immutable=1'}"


def _prepare_postgresql(connection: Any, _record: Any) -> None:
    # This is a setting of the session and not an option of the connection: poolers refuse those.
    connection.execute(f"SET lock_timeout = {int(BUSY_TIMEOUT_S * 1000)}")
    connection.commit()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
