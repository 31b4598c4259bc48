"""Opens a catalog: finds its database and checks that its tables are this package's."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy.engine import URL
from sqlalchemy.orm import Session

from aerolog.catalog.index.database_errors import parsed_url
from aerolog.catalog.index.engine import WRITES, make_engine
from aerolog.catalog.index.errors import CatalogUrlError
from aerolog.catalog.index.migration import prepare
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from sqlalchemy.engine import Engine

    from aerolog.transport.concurrent.clock import Clock

#: The default database's name in an archive's folder.
DATABASE_NAME: Final = "aerolog-catalog.db"


def catalog_url(url: str | None = None, archive_dir: Path | str | None = None) -> URL:
    """The database of a catalog: the URL's, or the one in an archive's folder.

    Raises:
        CatalogUrlError: neither is given, or the URL is of no use.
    """
    if url is not None:
        return parsed_url(url)
    if archive_dir is None:
        raise CatalogUrlError("no catalog is named; pass the URL of one, or an archive's folder")
    return URL.create("sqlite", database=str(Path(archive_dir).absolute() / DATABASE_NAME))


def open_engine(url: str | None = None, archive_dir: Path | str | None = None) -> Engine:
    """An engine of a catalog's database, whatever the state of its tables; see `catalog_url`."""
    return make_engine(catalog_url(url, archive_dir))


class RecordingCatalog(Resource):
    """A SQL catalog that is open. A context manager; threads may share it.

    Attributes:
        url: of the database, without its password.
        engine: of SQLAlchemy; raises `aerolog.catalog.index.errors`.
        clock: gives the times that are noted in the catalog.
    """

    def __init__(self, engine: Engine, clock: Clock | None = None) -> None:
        self.engine = engine
        self.clock = clock or SystemClock()
        self.url = engine.url.render_as_string(hide_password=True)

    @classmethod
    def open(
        cls,
        url: str | None = None,
        *,
        archive_dir: Path | str | None = None,
        clock: Clock | None = None,
    ) -> Self:
        """Open a catalog; one that is new gets its tables.

        Args:
            url: of the database, ``sqlite:///FILE`` or ``postgresql+psycopg://...``.
            archive_dir: its folder has the database when there is no URL.
            clock: of what is noted in it; the system's by default.

        Raises:
            CatalogOutOfDateError: its tables are of another version of this package.
            CatalogError: it cannot be opened; see the subclasses.
            MissingExtraError: the database's driver is not installed.
        """
        engine = open_engine(url, archive_dir)
        try:
            prepare(engine)
        except BaseException:
            engine.dispose()
            raise
        return cls(engine, clock)

    @contextmanager
    def session(self, *, writes: bool = False) -> Iterator[Session]:
        """A session in one transaction, committed at the end, rolled back by an exception.

        Args:
            writes: whether it may write. On SQLite others that write wait from its beginning.
        """
        with self.engine.connect() as connection:
            chosen = connection.execution_options(**{WRITES: writes})
            with chosen.begin(), Session(chosen, autoflush=False) as session:
                yield session
                session.flush()

    def close(self) -> None:
        """Close its connections; a second call does nothing."""
        self.engine.dispose()

    def __repr__(self) -> str:
        return f"<RecordingCatalog {self.url}>"
