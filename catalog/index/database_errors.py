"""Translates the errors of database drivers to those of `aerolog.catalog.index.errors`.

An engine that was given to `translate_errors` raises the classes of this package in place of
SQLAlchemy's for every cause outside the program: the file, the server, the credentials, locks.
Errors of the program itself stay as they are, unless the database is a damaged file: `damage_named`
looks for that when an error has no other cause.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import event, func, or_, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, InterfaceError, NoSuchModuleError, OperationalError

from aerolog.catalog.index.errors import (
    CatalogCredentialsError,
    CatalogError,
    CatalogLockedError,
    CatalogOutOfDateError,
    CatalogReadOnlyError,
    CatalogUnreachableError,
    CatalogUrlError,
    NotACatalogError,
)
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.filesystem import has_inodes
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Column, ColumnElement
    from sqlalchemy.engine import URL, Engine, ExceptionContext

DRIVERS: Final = ("sqlite", "postgresql+psycopg")

_MIGRATE: Final = "run: aerolog catalog migrate"
_DAMAGED: Final = "the file is damaged; move it away and run: aerolog catalog rebuild"
#: What the driver of SQLite says of a text that is no UTF-8.
_NO_TEXT: Final = "Could not decode to UTF-8"
_TRY_AGAIN: Final = "try again when it is done, or find out who it is"

#: Primary result code of SQLite -> class of the error and the text that explains it.
_SQLITE: Final[dict[int, tuple[type[CatalogError], str]]] = {
    sqlite3.SQLITE_BUSY: (CatalogLockedError, f"another process is writing to it; {_TRY_AGAIN}"),
    sqlite3.SQLITE_LOCKED: (
        CatalogLockedError,
        f"another connection holds a table of it; {_TRY_AGAIN}",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        CatalogUnreachableError,
        "the file cannot be opened; check that its folder exists and that you may write there",
    ),
    sqlite3.SQLITE_PERM: (
        CatalogCredentialsError,
        "the file may not be opened; check who owns it",
    ),
    sqlite3.SQLITE_READONLY: (
        CatalogReadOnlyError,
        "the file or its folder is read-only; make it writable, or use another with --catalog",
    ),
    sqlite3.SQLITE_NOTADB: (
        NotACatalogError,
        "the file is no SQLite database; pass another, or move it and run: aerolog catalog rebuild",
    ),
    sqlite3.SQLITE_CORRUPT: (NotACatalogError, _DAMAGED),
    sqlite3.SQLITE_FULL: (
        CatalogUnreachableError,
        "its disk is full; make room and run: aerolog catalog sync",
    ),
    sqlite3.SQLITE_IOERR: (
        CatalogUnreachableError,
        "its disk reports an error; check it, or use another database with --catalog",
    ),
}

#: Prefix of a SQLSTATE of PostgreSQL -> class of the error and the remedy; the longest match
#: counts.
_SQLSTATE: Final[dict[str, tuple[type[CatalogError], str]]] = {
    "08": (CatalogUnreachableError, "check that the server runs and can be reached"),
    "28": (CatalogCredentialsError, "check user and password"),
    "3D000": (CatalogUnreachableError, "create the database, or name another one in the URL"),
    "3F000": (NotACatalogError, "name the schema's database in the URL"),
    "25006": (CatalogReadOnlyError, "use the primary server, or a user that may write"),
    "40001": (CatalogLockedError, _TRY_AGAIN),
    "40P01": (CatalogLockedError, _TRY_AGAIN),
    "42501": (CatalogCredentialsError, "grant the user rights to the catalog's tables"),
    "42P01": (CatalogOutOfDateError, _MIGRATE),
    "42703": (CatalogOutOfDateError, _MIGRATE),
    "53": (CatalogUnreachableError, "the server is short of memory, disk or connections"),
    "55P03": (CatalogLockedError, _TRY_AGAIN),
    "57014": (CatalogLockedError, f"the server gave the statement up; {_TRY_AGAIN}"),
    "57P": (CatalogUnreachableError, "the server stops or starts; try again"),
    "58": (CatalogUnreachableError, "check the server's disk and its log"),
    "XX": (CatalogUnreachableError, "check the server's log"),
}

#: Texts of refused connections: libpq gives no SQLSTATE for them.
_REFUSALS: Final[tuple[tuple[str, type[CatalogError], str], ...]] = (
    (
        "no password supplied",
        CatalogCredentialsError,
        "put the password into the URL, into PGPASSWORD or into ~/.pgpass",
    ),
    ("password authentication failed", CatalogCredentialsError, "check user and password"),
    ("authentication failed", CatalogCredentialsError, "check user and password"),
    ("no pg_hba.conf entry", CatalogCredentialsError, "let the server's pg_hba.conf admit you"),
    ("permission denied", CatalogCredentialsError, "grant the user the right to connect"),
    ('role "', CatalogCredentialsError, "name a user that the server knows in the URL"),
    (
        'database "',
        CatalogUnreachableError,
        "create the database, or name another one in the URL",
    ),
)


def parsed_url(url: str) -> URL:
    """Parse the URL of a catalog's database.

    Raises:
        CatalogUrlError: the text is no URL, or names a kind of database that cannot be used.
    """
    try:
        parsed = make_url(url)
        kind = parsed.drivername
        if kind == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        elif kind not in DRIVERS:
            raise CatalogUrlError(
                f"a catalog cannot be in a database of kind {kind!r}; pass one like "
                "sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE"
            )
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        if isinstance(error, CatalogUrlError):
            raise
        # The text is not shown: it may contain a password.
        raise CatalogUrlError(
            "the URL of the catalog does not parse; pass one like sqlite:///FILE or "
            "postgresql+psycopg://USER@HOST/DATABASE"
        ) from None
    return checked(parsed)


def checked(url: URL) -> URL:
    """A URL whose parts are text.

    Raises:
        CatalogUrlError: one is not: the name of a file may have any bytes. Or a part of a password
            stands where the host belongs.
    """
    try:
        url.render_as_string()
    except UnicodeEncodeError as error:
        raise CatalogUrlError(
            f"a catalog cannot be in {url.database!r}: the name is not UTF-8; name another with"
            " --catalog"
        ) from error
    if "@" in (url.host or ""):
        raise CatalogUrlError(
            "the URL of the catalog has a second at sign before its host; write one in a password"
            " as %40"
        )
    if "\0" in (url.database or ""):
        raise CatalogUrlError(
            f"a catalog cannot be in {url.database!r}: no name of a file has a zero byte"
        )
    return url


def named(url: URL) -> str:
    """The name of a database in errors: its file, or its URL without secrets."""
    if url.get_backend_name() == "sqlite":
        return f"catalog {url.database or 'in memory'}"
    return f"catalog {without_secrets(url.render_as_string(hide_password=True))}"


def translate_errors(engine: Engine) -> None:
    """Make an engine raise the errors of this package in place of its driver's."""
    name = named(engine.url)

    @event.listens_for(engine, "handle_error")
    def translate(context: ExceptionContext) -> None:
        reported = context.original_exception
        translated = translation(name, reported, context.sqlalchemy_exception)
        if translated is None and context.connection is None and _of_driver(reported):
            translated = CatalogUrlError(f"{name} has an option that is wrong: {_line(reported)}")
        file = engine.url.database if engine.url.get_backend_name() == "sqlite" else None
        if isinstance(translated, CatalogUnreachableError) and file and not has_inodes(file):
            translated = CatalogUnreachableError(
                f"{name} cannot be used: its file system has no inodes left for more files, remove"
                " some"
            )
        if translated is not None:
            raise translated from context.original_exception


@contextmanager
def damage_named(engine: Engine) -> Iterator[None]:
    """Raise `NotACatalogError` for what a damaged SQLite file makes the work in the context raise.

    Values that nobody wrote raise all kinds of errors where they are used.
    """
    try:
        yield
    except (AerologError, OSError):
        raise
    except Exception as error:
        if engine.dialect.name == "sqlite" and _is_damaged(engine):
            raise NotACatalogError(f"{named(engine.url)} cannot be used: {_DAMAGED}") from error
        raise


def _is_damaged(engine: Engine) -> bool:
    """Whether a SQLite file fails its own check, or values have types that its tables forbid."""
    from aerolog.catalog.index.models import Base

    try:
        with engine.connect() as connection:
            if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar() != "ok":
                return True
            for table in Base.metadata.sorted_tables:
                strange = or_(*map(_is_strange, table.columns))
                if connection.execute(select(1).select_from(table).where(strange).limit(1)).first():
                    return True
    except (CatalogError, UnicodeDecodeError):
        return True
    return False


def _is_strange(column: Column[Any]) -> ColumnElement[bool]:
    kinds = ["integer" if column.type.python_type is int else "text"]
    if column.nullable:
        kinds.append("null")
    return func.typeof(column).not_in(kinds)


def translation(
    name: str, reported: BaseException, wrapped: BaseException | None
) -> CatalogError | None:
    """The error that stands for a driver's error; None when the program itself is at fault.

    Args:
        name: the database's name, as `named` gives it.
        reported: the driver's error.
        wrapped: SQLAlchemy's error that wraps it.
    """
    if isinstance(reported, UnicodeDecodeError) or str(reported).startswith(_NO_TEXT):
        return NotACatalogError(f"{name} cannot be used: {_DAMAGED}")
    if isinstance(reported, UnicodeEncodeError):
        return CatalogError(f"{name} takes texts of Unicode characters only: {reported.object!r}")
    code = getattr(reported, "sqlite_errorcode", None)
    if code is not None:
        return _of_sqlite(name, reported, code & 0xFF)
    state = getattr(reported, "sqlstate", None)
    if state:
        return _of_state(name, reported, state)
    if isinstance(wrapped, OperationalError | InterfaceError):
        return _of_connection(name, reported)
    return None


def _of_driver(reported: BaseException) -> bool:
    return type(reported).__module__.partition(".")[0] in {"psycopg", "sqlite3"}


def _of_sqlite(name: str, reported: BaseException, code: int) -> CatalogError | None:
    text = str(reported)
    if text.startswith(("no such table", "no such column")):
        return CatalogOutOfDateError(
            f"{name} is out of date ({text}); {_MIGRATE}; if it is up to date, it is damaged: move"
            " it away and run: aerolog catalog rebuild"
        )
    known = _SQLITE.get(code)
    if known is None:
        return None
    kind, meaning = known
    return kind(f"{name} cannot be used: {meaning}")


def _of_state(name: str, reported: BaseException, state: str) -> CatalogError | None:
    for length in (5, 3, 2):
        known = _SQLSTATE.get(state[:length])
        if known is not None:
            kind, remedy = known
            return kind(f"{name} cannot be used: {_line(reported)}; {remedy}")
    return None


def _of_connection(name: str, reported: BaseException) -> CatalogError:
    text = str(reported)
    for sign, kind, remedy in _REFUSALS:
        if sign in text:
            return kind(f"{name} cannot be used: {_line(reported)}; {remedy}")
    return CatalogUnreachableError(
        f"{name} cannot be reached: {_line(reported)}; check that the server runs and that host "
        "and port are right"
    )


def _line(error: BaseException) -> str:
    """The first line of a driver's message, without its full stop."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".:") if lines else type(error).__name__
