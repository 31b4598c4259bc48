"""What a SQL catalog knows of the recordings of its archives. It is read and never changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final, NamedTuple

from aerolog.tools.metrics.driver_metrics import add_overflow
from aerolog.tools.metrics.samples import Bound, Samples
from aerolog.transport.errors import AerologError
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import URL

    from aerolog.catalog.index import RecordingCatalog

#: How long a scrape waits for a database.
_PATIENCE_S: Final = 2.0


@repr_without_secrets
class _CatalogRow(NamedTuple):
    """Recordings of one archive in one state."""

    archive: str
    state: str
    recordings: int
    size_bytes: int
    newest_ms: int | None


class _Question(Thread):
    """One question to a database, in a thread of its own: the database may be slow to answer."""

    def __init__(self, ask: Callable[[], list[_CatalogRow] | None]) -> None:
        super().__init__(name="metrics-catalog", daemon=True)
        self._ask = ask
        self.rows: list[_CatalogRow] | None = None
        self.start()

    def run(self) -> None:
        """Asks the question and keeps the answer."""
        self.rows = self._ask()


class CatalogSource:
    """Metrics of a SQL catalog, asked at most as often as ``interval_ms`` says.

    A database that takes long keeps nobody waiting: until it answers there is what it said before.

    Attributes:
        shown: the URL without its password, which is the catalog's label.

    Raises:
        CatalogUrlError: the URL is of no use.
        MissingExtraError: SQLAlchemy or the database's driver is not installed.
    """

    def __init__(self, url: str, limit: int, interval_ms: int) -> None:
        from aerolog.catalog.index import RecordingCatalog
        from aerolog.catalog.index.recording_catalog import catalog_url, open_engine

        self._url: URL = catalog_url(url)
        self._catalog: RecordingCatalog = RecordingCatalog(open_engine(url))
        self.shown = self._catalog.url
        self._interval_ms = interval_ms
        self._bound = Bound(limit)
        self._rows: list[_CatalogRow] | None = None
        self._read_ms: int | None = None
        self._question: _Question | None = None

    def collect(self, samples: Samples) -> None:
        """Adds what there is now."""
        self._ask(samples.now_ms)
        where = self.shown
        samples.add("catalog_up", self._rows is not None, where)
        rows = self._rows or []
        shown = self._bound.admit((row.archive,) for row in rows)
        for row in rows:
            archive = shown[row.archive,]
            samples.add("catalog_recordings", row.recordings, where, *archive, row.state)
            samples.add("catalog_recorded_bytes", row.size_bytes, where, *archive)
            if row.newest_ms is not None:
                newest = row.newest_ms / 1000
                samples.add("catalog_newest_recording_time_seconds", newest, where, *archive)
        add_overflow(samples, where, "archives", self._bound)

    def _ask(self, now_ms: int) -> None:
        """Asks the database when it is time to, and takes its answer when it is there."""
        is_due = self._read_ms is None or not 0 <= now_ms - self._read_ms < self._interval_ms
        if self._question is None and is_due:
            self._question, self._read_ms = _Question(self._read), now_ms
        if self._question is not None:
            self._question.join(_PATIENCE_S)
            if not self._question.is_alive():
                self._rows, self._question = self._question.rows, None

    def _read(self) -> list[_CatalogRow] | None:
        """What the database says, None when it does not answer or has no catalog."""
        from sqlalchemy import func, select

        from aerolog.catalog.index.models import Archive, Recording

        file = self._url.database if self._url.get_backend_name() == "sqlite" else None
        if file is not None and not _has_catalog(file, Recording.__tablename__):
            return None
        query = (
            select(
                Archive.place,
                Recording.state,
                func.count(),
                func.coalesce(func.sum(Recording.size_bytes), 0),
                func.max(Recording.start_time_ms),
            )
            .join(Recording, Recording.archive_fk == Archive.id)
            .group_by(Archive.place, Recording.state)
        )
        try:
            with self._catalog.session() as session:
                return [
                    _CatalogRow(place, state, count, int(size), newest)
                    for place, state, count, size, newest in session.execute(query)
                ]
        except AerologError:
            return None

    def close(self) -> None:
        """Closes the connections to the database."""
        self._catalog.close()


def _has_catalog(file: str, table: str) -> bool:
    """Whether a SQLite database is a catalog; opened otherwise, one that is none would change."""
    uri = f"{Path(file).absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            query = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
            return bool(database.execute(query, (table,)).fetchone()[0])
    except sqlite3.Error:
        return False
