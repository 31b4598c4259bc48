"""Opens a catalog: finds its database and checks that its tables have this package's revision."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy.engine import URL
from sqlalchemy.orm import Session

from aerolog.archive.format.layout import CATALOG_NAME
from aerolog.catalog.index.database_errors import checked, damage_named, parsed_url
from aerolog.catalog.index.engine import WRITES, is_read_only, make_engine
from aerolog.catalog.index.errors import CatalogUnreachableError, CatalogUrlError
from aerolog.catalog.index.migration import check_is_catalog, prepare
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.resource import Resource
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from sqlalchemy.engine import Engine

    from aerolog.transport.concurrent.clock import Clock

#: The name of the default database in an archive's folder.
DATABASE_NAME: Final = "aerolog-catalog.db"


def catalog_url(url: str | None = None, archive_dir: Path | str | None = None) -> URL:
    """The URL of a catalog's database: the given one, or the database in an archive's folder.

    Raises:
        CatalogUrlError: neither is given, or the URL cannot be used.
    """
    if url is not None:
        return parsed_url(url)
    if archive_dir is None:
        raise CatalogUrlError("no catalog is named; pass the URL of one, or an archive's folder")
    file = str(Path(archive_dir).absolute() / DATABASE_NAME)
    return checked(URL.create("sqlite", database=file))


def open_engine(url: str | None = None, archive_dir: Path | str | None = None) -> Engine:
    """Make an engine for a catalog's database without a look at its tables; see `catalog_url`."""
    return make_engine(catalog_url(url, archive_dir))


def check_archive_dir(url: str | None, archive_dir: Path | str | None) -> None:
    """Check that the folder in which a database would be made is an archive's.

    Args:
        url: the database's URL; the folder has none when it is given.
        archive_dir: the folder that a person named.

    Raises:
        CatalogUnreachableError: it has neither a database nor an archive's catalog.
    """
    if url is not None or archive_dir is None:
        return
    folder = Path(archive_dir)
    if (folder / DATABASE_NAME).exists() or (folder / CATALOG_NAME).exists():
        return
    raise CatalogUnreachableError(
        f"{folder} is no archive's folder, it has no {CATALOG_NAME}: no catalog is made there"
    )


class RecordingCatalog(Resource):
    """An open SQL catalog. A context manager; threads may share it.

    Attributes:
        url: the URL of the database, without its password.
        engine: the SQLAlchemy engine, which raises `aerolog.catalog.index.errors`.
        clock: the source of the times that are noted in the catalog.
    """

    def __init__(self, engine: Engine, clock: Clock | None = None) -> None:
        self.engine = engine
        self.clock = clock or SystemClock()
        self.url = without_secrets(engine.url.render_as_string(hide_password=True))

    @classmethod
    def open(
        cls,
        url: str | None = None,
        *,
        archive_dir: Path | str | None = None,
        clock: Clock | None = None,
        create: bool = True,
    ) -> Self:
        """Open a catalog; a new database gets its tables.

        Args:
            url: the database's URL, ``sqlite:///FILE`` or ``postgresql+psycopg://...``.
            archive_dir: the folder of an archive, which holds the database when there is no URL.
            clock: the source of noted times, the system's clock by default.
            create: whether a database without tables becomes a catalog.

        Raises:
            NotACatalogError: there is no catalog, and none is to be created.
            CatalogOutOfDateError: the tables are of another version of this package.
            CatalogError: the catalog cannot be opened; see the subclasses.
            MissingExtraError: the database's driver is not installed.
        """
        engine = open_engine(url, archive_dir)
        try:
            with damage_named(engine):
                if not create:
                    check_is_catalog(engine)
                prepare(engine)
        except BaseException:
            engine.dispose()
            raise
        return cls(engine, clock)

    @property
    def is_read_only(self) -> bool:
        """Whether the catalog is a file that is read-only, or that is in a read-only folder."""
        url = self.engine.url
        return url.get_backend_name() == "sqlite" and is_read_only(url.database or "")

    @contextmanager
    def session(self, *, writes: bool = False) -> Iterator[Session]:
        """A session in one transaction, committed at the end and rolled back by an exception.

        Args:
            writes: whether the session may write. On SQLite other writers wait from its beginning
                on.
        """
        with damage_named(self.engine), self.engine.connect() as connection:
            chosen = connection.execution_options(**{WRITES: writes})
            with chosen.begin(), Session(chosen, autoflush=False) as session:
                yield session
                session.flush()

    def close(self) -> None:
        """Close the catalog's connections; a second call does nothing."""
        self.engine.dispose()

    def __repr__(self) -> str:
        return f"<RecordingCatalog {self.url}>"
