"""Tells the revision of a catalog's tables, and migrates them to this package's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import inspect

from aerolog.catalog.index.database_errors import named
from aerolog.catalog.index.engine import WRITES, lock_for_migration
from aerolog.catalog.index.errors import CatalogOutOfDateError, NotACatalogError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

FOLDER: Final = Path(__file__).parent / "migrations"
_VERSION_TABLE: Final = "alembic_version"


def revisions() -> list[str]:
    """All revisions of the tables, the oldest first."""
    scripts = ScriptDirectory.from_config(_config())
    return [script.revision for script in scripts.walk_revisions()][::-1]


def revision_of(connection: Connection) -> str | None:
    """The revision of a database's tables, None when it has no tables of a catalog."""
    return MigrationContext.configure(connection).get_current_revision()


def prepare(engine: Engine) -> None:
    """Create the tables in a new database, and check the revision of existing ones.

    Raises:
        CatalogOutOfDateError: the tables are of another revision.
        NotACatalogError: the database holds something other than a catalog.
    """
    with engine.connect() as connection, connection.begin():
        # The tables first: another process may commit them, with their revision, between the two.
        has_tables = bool(_tables(connection))
        found = revision_of(connection)
        is_empty = found is None and not has_tables
    if is_empty:
        migrate(engine)
        return
    wanted = revisions()[-1]
    if found is None:
        raise _not_a_catalog(engine)
    if found != wanted:
        raise CatalogOutOfDateError(
            f"{named(engine.url)} has revision {found} of its tables, this version of aerolog "
            f"works with {wanted}; {_remedy(found)}",
            found=found,
            wanted=wanted,
        )


def check_is_catalog(engine: Engine) -> None:
    """Check that a database has tables, without a change to it.

    Raises:
        NotACatalogError: there is no database, or it is empty.
    """
    file = engine.url.database
    if engine.dialect.name == "sqlite" and file not in {None, "", ":memory:"}:
        path = Path(str(file))
        if not path.exists():
            raise NotACatalogError(
                f"{named(engine.url)} is not there; name another, or run: aerolog catalog sync"
            )
        if path.is_file() and path.stat().st_size == 0:
            raise NotACatalogError(
                f"{named(engine.url)} is an empty file; remove it and run: aerolog catalog sync"
            )
    with engine.connect() as connection, connection.begin():
        if revision_of(connection) is None and not _tables(connection):
            raise NotACatalogError(
                f"{named(engine.url)} has no tables; make them with: aerolog catalog sync"
            )


def migrate(engine: Engine, revision: str = "head") -> tuple[str | None, str | None]:
    """Migrate a database's tables to a revision in one transaction.

    Args:
        engine: the engine of the database.
        revision: ``head`` for this package's, or one of `revisions`, which may be an older one.

    Returns:
        The revisions before and after.

    Raises:
        CatalogOutOfDateError: the tables are of a revision that this package does not know.
        NotACatalogError: the database holds something other than a catalog.
    """
    with engine.connect() as plain:
        connection = plain.execution_options(**{WRITES: True})
        with connection.begin():
            lock_for_migration(connection)
            before = revision_of(connection)
            _check_known(engine, connection, before)
            config = _config()
            config.attributes["connection"] = connection
            wanted = revisions()[-1] if revision == "head" else revision
            try:
                if before is not None and _is_behind(wanted, before):
                    command.downgrade(config, wanted)
                else:
                    command.upgrade(config, wanted)
            except CommandError as error:
                raise CatalogOutOfDateError(
                    f"{named(engine.url)} cannot be brought to revision {revision}: {error}; "
                    f"there are {', '.join(revisions())}",
                    found=before,
                    wanted=revision,
                ) from error
            return before, revision_of(connection)


def _check_known(engine: Engine, connection: Connection, found: str | None) -> None:
    if found is None:
        if _tables(connection):
            raise _not_a_catalog(engine)
    elif found not in revisions():
        raise CatalogOutOfDateError(
            f"{named(engine.url)} has revision {found} of its tables, which this version of "
            f"aerolog does not know; {_remedy(found)}",
            found=found,
            wanted=revisions()[-1],
        )


def _not_a_catalog(engine: Engine) -> NotACatalogError:
    return NotACatalogError(
        f"{named(engine.url)} holds tables that are no catalog's; name another database"
    )


def _tables(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names()) - {_VERSION_TABLE}


def _is_behind(one: str, other: str) -> bool:
    known = revisions()
    return one == "base" or (one in known and known.index(one) < known.index(other))


def _remedy(found: str) -> str:
    if found in revisions():
        return "run: aerolog catalog migrate"
    return "it was made by a newer aerolog: install that one, or name another database"


def _config() -> Config:
    config = Config()
    # The configuration interpolates per cent signs, so those of the path are doubled.
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    return config
