"""Migrations on both kinds of database: the tables, the way up and down, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sql_content import at_once, content
from sql_schema import schema_lines

from aerolog.catalog.index import RecordingCatalog, migration, sync_folder
from aerolog.catalog.index.database_errors import parsed_url
from aerolog.catalog.index.engine import make_engine
from aerolog.catalog.index.errors import CatalogOutOfDateError, NotACatalogError
from aerolog.catalog.index.migration import migrate, revision_of, revisions
from aerolog.catalog.index.models import Base
from aerolog.catalog.index.recording_catalog import DATABASE_NAME

# SQLite cannot tell what an index over an expression is of.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*expression-based index:Warning"),
    pytest.mark.timeout(400),
]


def differences(engine: sa.Engine) -> list[object]:
    options = {"compare_type": True, "include_object": is_compared}
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        return list(compare_metadata(context, Base.metadata))


def is_compared(thing: object, *_: object) -> bool:
    """Databases write an index's expressions in their own way."""
    return not isinstance(thing, sa.Index) or all(
        isinstance(part, sa.Column) for part in thing.expressions
    )


@pytest.mark.parametrize("start", revisions())
def test_every_revision_comes_up_to_the_tables_of_the_models(url: str, start: str) -> None:
    engine = make_engine(parsed_url(url))
    assert migrate(engine, start) == (None, start)
    with engine.connect() as connection:
        assert revision_of(connection) == start
    assert migrate(engine) == (start, revisions()[-1])
    assert differences(engine) == []
    assert migrate(engine) == (revisions()[-1], revisions()[-1])
    engine.dispose()


def test_the_tables_are_those_of_the_files_beside_this_test(url: str) -> None:
    """A released revision is never changed, so these files change with a new revision only."""
    with RecordingCatalog.open(url) as catalog:
        stated = Path(__file__).with_name(f"schema-{catalog.engine.dialect.name}.txt")
        assert schema_lines(catalog.engine) == stated.read_text().splitlines()


def test_rows_survive_the_way_up_to_a_newer_revision_and_down_again(
    url: str, folder: Path, newer_revision: str
) -> None:
    oldest = revisions()[0]
    with RecordingCatalog.open(url) as catalog:
        sync_folder(catalog, folder)
        before = content(catalog)
        assert migrate(catalog.engine, oldest) == (newer_revision, oldest)
        assert content(catalog) == before
        assert migrate(catalog.engine) == (oldest, newer_revision)
        assert content(catalog) == before


def test_a_catalog_that_goes_down_to_nothing_leaves_no_table(url: str) -> None:
    with RecordingCatalog.open(url) as catalog:
        assert migrate(catalog.engine, "base") == (revisions()[-1], None)
        assert sa.inspect(catalog.engine).get_table_names() == ["alembic_version"]
    with RecordingCatalog.open(url) as catalog, catalog.engine.connect() as connection:
        assert revision_of(connection) == revisions()[-1]


def test_an_older_database_is_refused_with_the_command_that_helps(
    url: str, newer_revision: str
) -> None:
    engine = make_engine(parsed_url(url))
    migrate(engine, revisions()[0])
    with pytest.raises(CatalogOutOfDateError, match="aerolog catalog migrate") as raised:
        RecordingCatalog.open(url)
    assert (raised.value.found, raised.value.wanted) == (revisions()[0], newer_revision)
    migrate(engine)
    RecordingCatalog.open(url).close()
    engine.dispose()


def test_a_database_of_a_newer_version_is_refused_and_left_alone(url: str) -> None:
    with RecordingCatalog.open(url) as catalog, catalog.session(writes=True) as session:
        session.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    engine = make_engine(parsed_url(url))
    with pytest.raises(CatalogOutOfDateError, match="newer aerolog"):
        RecordingCatalog.open(url)
    with pytest.raises(CatalogOutOfDateError, match="9999"):
        migrate(engine)
    with engine.connect() as connection:
        assert revision_of(connection) == "9999"
    engine.dispose()


def test_a_revision_that_is_none_is_refused(url: str) -> None:
    RecordingCatalog.open(url).close()
    engine = make_engine(parsed_url(url))
    with pytest.raises(CatalogOutOfDateError, match="there are 0001"):
        migrate(engine, "nonsense")
    engine.dispose()


def test_somebody_elses_database_is_left_alone(url: str) -> None:
    engine = make_engine(parsed_url(url))
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE theirs (x INTEGER)"))
    with pytest.raises(NotACatalogError, match="no catalog's"):
        RecordingCatalog.open(url)
    with pytest.raises(NotACatalogError, match="no catalog's"):
        migrate(engine)
    assert sa.inspect(engine).get_table_names() == ["theirs"]
    engine.dispose()


OPENING = """
import sys
from aerolog.catalog.index import RecordingCatalog
from aerolog.catalog.index.migration import revision_of

sys.stdin.read()
with RecordingCatalog.open(sys.argv[1]) as catalog, catalog.engine.connect() as connection:
    print(revision_of(connection))
"""


def test_processes_that_open_a_new_database_at_once_make_its_tables_once(url: str) -> None:
    assert at_once([[OPENING, url]] * 3) == [f"{revisions()[-1]}\n"] * 3


def test_the_database_of_a_folder_is_in_it(folder: Path) -> None:
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        assert catalog.url == f"sqlite:///{folder / DATABASE_NAME}"
        with catalog.engine.connect() as connection:
            assert connection.execute(sa.text("PRAGMA journal_mode")).scalar() == "wal"
    assert (folder / DATABASE_NAME).is_file()


def test_a_session_that_fails_leaves_nothing(catalog: RecordingCatalog, folder: Path) -> None:
    sync_folder(catalog, folder)
    before = content(catalog)
    with pytest.raises(ZeroDivisionError), catalog.session(writes=True) as session:
        session.execute(sa.text("UPDATE recordings SET size_bytes = 0"))
        raise ZeroDivisionError
    assert content(catalog) == before


def test_a_catalog_that_another_process_makes_meanwhile_is_a_catalog(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []

    def then_another(name: str) -> None:
        read = getattr(migration, name)

        def reading(connection: Any) -> Any:
            found = read(connection)
            reads.append(name)
            if len(reads) == 1:
                with RecordingCatalog.open(url):
                    pass
            return found

        monkeypatch.setattr(migration, name, reading)

    then_another("revision_of")
    then_another("_tables")
    with RecordingCatalog.open(url):
        pass
    assert len(reads) > 2
