"""A PostgreSQL server for tests, from the system's packages: started once a run, ended by its pid.

A ``conftest.py`` gets the fixtures by importing them::

    from postgres import postgres_server, postgres_url  # noqa: F401

and its tests carry the mark ``database``. However many folders do so, there is one server. It
listens on a Unix socket in a folder of its own, wants a password, and runs as the user ``postgres``
where the tests are root's, whom the server refuses.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

USER = "aerolog"
PASSWORD = "not-a-secret"
START_TIMEOUT_S = 120
_FAST = ("fsync", "synchronous_commit", "full_page_writes", "autovacuum")


def find_programs() -> Path:
    """The folder of the server's programs: on the path, or the newest of the system's packages.

    Raises:
        FileNotFoundError: PostgreSQL is not installed.
    """
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"),
        key=lambda path: int(path.parts[-3]) if path.parts[-3].isdigit() else 0,
    )
    if not found:
        raise FileNotFoundError("no PostgreSQL server: install the package postgresql")
    return found[-1].parent


@dataclass
class PostgresServer:
    """A running server.

    Attributes:
        folder: of its socket, data and log.
        process: of it.
    """

    folder: Path
    process: subprocess.Popen[bytes]
    _numbers: ClassVar[Iterator[int]] = itertools.count()

    @classmethod
    def start(cls) -> PostgresServer:
        programs = find_programs()
        # Not below pytest's folders: those are one user's alone, and too long for a socket's path.
        folder = Path(tempfile.mkdtemp(prefix="pg-test-"))
        account = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        identity: dict[str, object] = {"cwd": folder}
        if account is not None:
            os.chown(folder, account.pw_uid, account.pw_gid)
            identity |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        password = folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        data, log = folder / "data", folder / "log"
        command = [programs / "initdb", "-D", data, "-U", USER, "--auth=scram-sha-256"]
        command += [f"--pwfile={password}", "--encoding=UTF8", "--locale=C", "--no-sync"]
        made = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=START_TIMEOUT_S,
            **identity,  # type: ignore[call-overload]
        )
        assert made.returncode == 0, made.stdout + made.stderr
        command = [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="]
        command += [part for name in _FAST for part in ("-c", f"{name}=off")]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # An interrupt of the terminal is for pytest, which ends the server in its turn.
                start_new_session=True,
                **identity,  # type: ignore[call-overload]
            )
        server = cls(folder, process)
        try:
            server.wait_until_ready()
        except BaseException:
            server.stop()
            raise
        return server

    def url(self, database: str = "postgres") -> str:
        """URL of a database, for a catalog."""
        return f"postgresql+psycopg://{USER}:{PASSWORD}@/{database}?host={self.folder}"

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host=str(self.folder), user=USER, password=PASSWORD, dbname=database, autocommit=True
        )

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            assert self.process.poll() is None, (self.folder / "log").read_text()
            try:
                self.connect().close()
            except psycopg.OperationalError:
                assert time.monotonic() < deadline, (self.folder / "log").read_text()
                time.sleep(0.05)
            else:
                return

    def new_database(self) -> str:
        """Make an empty database; its name."""
        name = f"catalog_{next(self._numbers)}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return name

    def drop_database(self, name: str) -> None:
        with self.connect() as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def stop(self) -> None:
        """End it, whoever is connected."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder)


class _Shared:
    """The run's server, and how many fixtures have it."""

    server: ClassVar[PostgresServer | None] = None
    users: ClassVar[int] = 0


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The run's server."""
    if _Shared.server is None:
        _Shared.server = PostgresServer.start()
    _Shared.users += 1
    yield _Shared.server
    _Shared.users -= 1
    if not _Shared.users:
        server, _Shared.server = _Shared.server, None
        server.stop()


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """URL of an empty database, which is dropped afterwards."""
    name = postgres_server.new_database()
    yield postgres_server.url(name)
    postgres_server.drop_database(name)
