"""What is wrong with a database is said in one line, with what to do, and without passwords."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from aerolog.catalog.index import RecordingCatalog, database_errors, engine
from aerolog.catalog.index.database_errors import translation
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
from aerolog.catalog.index.search import Search, search
from aerolog.tools.main import main

if TYPE_CHECKING:
    from pathlib import Path

    from postgres import PostgresServer


def said_by_command(url: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of a search that fails."""
    assert main(["catalog", "search", "--catalog", url]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("aerolog: ")
    assert "Traceback" not in err
    return lines[0]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "mysql://u:secret@h/d",
        "postgresql+asyncpg://u:secret@h/d",
        "postgresql://h:p:q/d",
    ],
)
def test_a_url_of_no_catalog_is_refused(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CatalogUrlError, match="sqlite:///FILE or postgresql"):
        RecordingCatalog.open(url)
    if url:
        assert "secret" not in said_by_command(url, capsys)


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path}/missing/catalog.db"

    with pytest.raises(CatalogUnreachableError):
        RecordingCatalog.open(url)
    assert "check that its folder exists" in said_by_command(url, capsys)


def test_a_file_that_is_no_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "catalog.db"
    path.write_bytes(b"something else, and long enough " * 100)

    with pytest.raises(NotACatalogError):
        RecordingCatalog.open(f"sqlite:///{path}")
    assert "is no SQLite database" in said_by_command(f"sqlite:///{path}", capsys)


def test_a_file_that_is_damaged(folder: Path) -> None:
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        catalog.session()
    path = folder / "aerolog-catalog.db"
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)

    with pytest.raises(NotACatalogError), RecordingCatalog.open(archive_dir=folder) as catalog:
        search(catalog, Search(tags={"a": "b"}))


def test_somebody_else_s_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE people (name TEXT)")
    connection.close()

    with pytest.raises(NotACatalogError):
        RecordingCatalog.open(f"sqlite:///{path}")
    assert "name another database" in said_by_command(f"sqlite:///{path}", capsys)


def test_a_table_that_went_away_under_an_open_catalog(catalog: RecordingCatalog) -> None:
    with catalog.session(writes=True) as session:
        session.execute(text("DROP TABLE tags"))

    with pytest.raises(CatalogOutOfDateError, match="run: aerolog catalog migrate"):
        search(catalog, Search(tags={"a": "b"}))


def test_a_database_that_somebody_holds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_S", 0.05)
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        other = sqlite3.connect(folder / "aerolog-catalog.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            with (
                pytest.raises(CatalogLockedError, match="another process is writing"),
                catalog.session(writes=True),
            ):
                pass
        finally:
            other.close()


def test_a_disk_that_takes_no_changes(folder: Path) -> None:
    RecordingCatalog.open(archive_dir=folder).close()
    url = f"sqlite:///file:{folder}/aerolog-catalog.db?mode=ro&uri=true"

    with (
        RecordingCatalog.open(url) as catalog,
        pytest.raises(CatalogReadOnlyError),
        catalog.session(writes=True) as session,
    ):
        session.execute(text("DELETE FROM tags"))


def test_a_server_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"postgresql+psycopg://u:secret@/d?host={tmp_path}"

    with pytest.raises(CatalogUnreachableError):
        RecordingCatalog.open(url)
    line = said_by_command(url, capsys)
    assert "check that the server runs" in line
    assert "secret" not in line


def test_errors_of_the_program_stay_as_they_are() -> None:
    assert translation("catalog", psycopg.errors.UniqueViolation("twice"), None) is None
    assert translation("catalog", ValueError("no"), None) is None


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (psycopg.errors.DeadlockDetected, CatalogLockedError),
        (psycopg.errors.QueryCanceled, CatalogLockedError),
        (psycopg.errors.AdminShutdown, CatalogUnreachableError),
        (psycopg.errors.TooManyConnections, CatalogUnreachableError),
        (psycopg.errors.ReadOnlySqlTransaction, CatalogReadOnlyError),
        (psycopg.errors.InsufficientPrivilege, CatalogCredentialsError),
        (psycopg.errors.UndefinedColumn, CatalogOutOfDateError),
        (psycopg.errors.DiskFull, CatalogUnreachableError),
    ],
)
def test_states_of_postgresql(error: type[psycopg.Error], kind: type[CatalogError]) -> None:
    translated = translation("catalog X", error("as it says.\nDETAIL: more"), None)

    assert type(translated) is kind
    assert "\n" not in str(translated)
    assert str(translated).startswith("catalog X cannot be used: as it says; ")


@pytest.mark.database
class TestOfAServer:
    """What a real server refuses."""

    @pytest.mark.parametrize(
        ("change", "kind", "said"),
        [
            ({"password": "secret-but-wrong"}, CatalogCredentialsError, "check user and password"),
            ({"password": ""}, CatalogCredentialsError, "PGPASSWORD"),
            ({"username": "nobody"}, CatalogCredentialsError, "check user and password"),
            ({"database": "missing"}, CatalogUnreachableError, "create the database"),
        ],
        ids=["wrong password", "no password", "no such user", "no such database"],
    )
    def test_a_login_that_fails(
        self,
        change: dict[str, str],
        kind: type[CatalogError],
        said: str,
        postgres_server: PostgresServer,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.delenv("PGPASSWORD", raising=False)
        monkeypatch.setenv("PGPASSFILE", "/dev/null")
        url = make_url(postgres_server.url()).set(**change)
        shown = url.render_as_string(hide_password=False)

        with pytest.raises(kind, match=said):
            RecordingCatalog.open(shown)
        assert "secret" not in said_by_command(shown, capsys)

    def test_a_table_that_somebody_holds(
        self, postgres_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(engine, "BUSY_TIMEOUT_S", 0.05)
        with RecordingCatalog.open(postgres_url) as catalog:
            other = psycopg.connect(postgres_url.replace("+psycopg", ""))
            try:
                other.execute("LOCK TABLE recordings IN ACCESS EXCLUSIVE MODE")
                with pytest.raises(CatalogLockedError, match="lock timeout"):
                    search(catalog, Search())
            finally:
                other.close()

    def test_a_connection_that_broke(self, postgres_url: str) -> None:
        with RecordingCatalog.open(postgres_url) as catalog:
            with (
                psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as other,
                pytest.raises(CatalogUnreachableError),
                catalog.session() as session,
            ):
                pid = session.execute(text("SELECT pg_backend_pid()")).scalar_one()
                other.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
                session.execute(text("SELECT 1"))
            # The next one has a connection of its own.
            assert search(catalog, Search()) == []


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("connect_timeout=abc", "bad value for connect_timeout: 'abc'"),
        ("nonsense=1", 'invalid connection option "nonsense"'),
    ],
)
def test_an_option_of_a_url_that_is_wrong_is_named(
    option: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"postgresql://u:secret@127.0.0.1:1/d?{option}"
    line = said_by_command(url, capsys)
    assert line.endswith(f"has an option that is wrong: {said}")
    assert "secret" not in line


def test_a_name_with_a_zero_byte_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no name of a file has a zero byte" in said_by_command("sqlite:////tmp/a%00b", capsys)


def test_a_file_system_without_inodes_is_no_full_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_errors, "has_inodes", lambda _path: False)
    line = said_by_command(f"sqlite:///{tmp_path}/none/catalog.db", capsys)
    assert line.endswith("its file system has no inodes left for more files, remove some")


def test_a_folder_that_is_no_archives_gets_no_database(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["catalog", "search", "--archive-dir", str(tmp_path)]) == 1
    assert "is no archive's folder, it has no archive.catalog" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
