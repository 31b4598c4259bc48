"""Fixtures of the interop tests: see README.md in this folder."""

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import peer
import pytest
from peer.lifetimes import Start, make_shm_dir, server_starter, stop_all
from peer.servers import Server
from prerequisites import skip_without_program

_streams = itertools.count(1001)
PATIENCE_S = 30.0  # of clients: on a loaded machine a process may stand still for a while


@pytest.fixture(scope="session")
def reference() -> peer.Toolchain:
    """Java, the jar and the compiled peers; without them a visible skip, or under CI a failure."""
    try:
        return peer.toolchain()
    except peer.PeerUnavailable as reason:
        skip_without_program(f"no reference peer: {reason}")


@pytest.fixture
def stream_id() -> int:
    """A stream id that no other test of this run uses."""
    return next(_streams)


@pytest.fixture
def aeron_dir() -> Iterator[Path]:
    """An unused Aeron directory path, removed after the test."""
    path = make_shm_dir()
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def start_server(reference: peer.Toolchain, tmp_path: Path) -> Iterator[Start]:
    """Starts servers of either implementation for one test."""
    running: list[Server] = []
    folders: list[Path] = []
    yield server_starter(running, folders, tmp_path)
    stop_all(running, folders)


@pytest.fixture(scope="session")
def session_servers(
    reference: peer.Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, str], Server]]:
    """Servers that live as long as the run, one for each implementation and kind."""
    running: list[Server] = []
    folders: list[Path] = []
    start_one = server_starter(running, folders, tmp_path_factory.mktemp("archives"))
    known: dict[tuple[str, str], Server] = {}

    def get(implementation: str, kind: str) -> Server:
        key = (implementation, kind)
        if key not in known or not known[key].process.running:
            known[key] = start_one(implementation, kind)
        return known[key]

    yield get
    stop_all(running, folders)


@pytest.fixture
def java_driver(session_servers: Callable[[str, str], Server]) -> Server:
    """The reference's driver, shared by the run: use your own stream ids."""
    return session_servers("reference", "driver")


@pytest.fixture
def our_driver(session_servers: Callable[[str, str], Server]) -> Server:
    """Our driver, shared by the run."""
    return session_servers("ours", "driver")


@pytest.fixture(params=["ours", "reference"])
def any_driver(
    request: pytest.FixtureRequest, session_servers: Callable[[str, str], Server]
) -> Server:
    """Each test body runs on our driver and on the reference's."""
    return session_servers(request.param, "driver")


@pytest.fixture
def java_archive(session_servers: Callable[[str, str], Server]) -> Server:
    """The reference's archiving driver, shared by the run."""
    return session_servers("reference", "archiving-driver")


@pytest.fixture
def our_archive(session_servers: Callable[[str, str], Server]) -> Server:
    """Our archiving driver, shared by the run."""
    return session_servers("ours", "archiving-driver")


@pytest.fixture(params=["ours", "reference"])
def any_archive(
    request: pytest.FixtureRequest, session_servers: Callable[[str, str], Server]
) -> Server:
    """Each test body runs on our archiving driver and on the reference's."""
    return session_servers(request.param, "archiving-driver")


@pytest.fixture(scope="session")
def java_peer(reference: peer.Toolchain) -> Iterator[peer.JavaPeer]:
    """The JVM that serves reference clients to the whole run."""
    jvm = peer.JavaPeer()
    yield jvm
    jvm.stop()


@pytest.fixture
def java_client(java_peer: peer.JavaPeer) -> Iterator[Callable[..., peer.JavaAeron]]:
    """``java_client(directory)`` connects a reference client; closed after the test."""
    clients: list[peer.JavaAeron] = []

    def connect(directory: str | Path, **options: object) -> peer.JavaAeron:
        clients.append(java_peer.connect(str(directory), **options))
        return clients[-1]

    yield connect
    for client in clients:
        if not client.isClosed():
            client.close()


@pytest.fixture
def our_client() -> Iterator[Callable[..., Any]]:
    """``our_client(directory)`` connects a client of ours; closed after the test."""
    from aerolog.transport.client import Aeron

    clients: list[Any] = []

    def connect(directory: str | Path, **options: Any) -> Aeron:
        if "AERON_DRIVER_TIMEOUT" not in os.environ:
            options.setdefault("driver_timeout", PATIENCE_S)
        clients.append(Aeron(str(directory), **options))
        return clients[-1]

    yield connect
    for client in reversed(clients):
        client.close()


@pytest.fixture
def our_archive_client(our_client: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """``our_archive_client(directory)`` connects our archive client on a client of its own."""
    from aerolog.archive.client import AeronArchive

    archives: list[Any] = []

    def connect(directory: str | Path, **options: Any) -> AeronArchive:
        options.setdefault("message_timeout", PATIENCE_S)
        archives.append(AeronArchive(our_client(directory), **options))
        return archives[-1]

    yield connect
    for archive in archives:
        archive.close()


@pytest.fixture
def own_java_peer(reference: peer.Toolchain) -> Iterator[peer.JavaPeer]:
    """A JVM of the test's own, which it may kill."""
    jvm = peer.JavaPeer()
    yield jvm
    if jvm.process.running:
        jvm.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Shows the logs of the processes beside a failure."""
    report = yield
    if report.failed:
        report.sections += [(f"log of {name}", text) for name, text in peer.recent_logs()]
    return report
