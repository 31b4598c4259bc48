"""Fixtures of the interop tests: see README.md in this folder."""

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import peer
import pytest
from peer.c_build import CRATES, outcome, version_of
from peer.lifetimes import Start, c_reference, server_starter, stop_all
from peer.reference import reference_toolchain
from peer.servers import Server
from shared_memory import memory_path

_streams = itertools.count(1001)
# What meets: the driver or archive, and the language of the reference's client.
C_SLOW = [f"c-{version}" for version in list(CRATES)[1:]]
PAIRS = {
    "any_driver": [
        ("ours", "java"),
        ("reference", "java"),
        ("ours", "c"),
        ("c", "java"),
        ("c", "c"),
        *((name, "c") for name in C_SLOW),
        *(("ours", name) for name in C_SLOW),
    ],
    "any_archive": [
        ("ours", "java"),
        ("reference", "java"),
        ("ours", "c"),
        ("reference", "c"),
        *(("ours", name) for name in C_SLOW),
    ],
}
IN_EVERY_RUN = {"ours", "reference", "java", "c"}
PATIENCE_S = 30.0  # of clients: on a loaded machine a process may stand still for a while


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Says which servers, and which clients of the reference, a test runs with.

    One with ``reference_peer`` runs once for each of ``PAIRS``; one without it, but with the marker
    ``c_driver``, on the driver in C as well. Pairs of other versions are for ``make test-long``.
    """
    with_peer = "reference_peer" in metafunc.fixturenames
    servers = [server for server in PAIRS if server in metafunc.fixturenames]
    for server in servers:
        if with_peer:
            params = [pytest.param(*pair, marks=slow_marks(*pair)) for pair in PAIRS[server]]
            metafunc.parametrize((server, "reference_peer"), params, indirect=True)
        else:
            on_c = metafunc.definition.get_closest_marker("c_driver") is not None
            names = ["ours", "reference", *(["c", *C_SLOW] if on_c else [])]
            params = [pytest.param(name, marks=slow_marks(name)) for name in names]
            metafunc.parametrize(server, params, indirect=True)
    if with_peer and not servers:
        names = ["java", "c", *C_SLOW]
        params = [pytest.param(name, marks=slow_marks(name)) for name in names]
        metafunc.parametrize("reference_peer", params, indirect=True)


def slow_marks(*names: str) -> list[pytest.MarkDecorator]:
    """The mark of pairs that `make test` leaves out."""
    is_quick = IN_EVERY_RUN.issuperset(names) and names != ("c", "java")
    return [] if is_quick else [pytest.mark.slow]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Builds the C peers that tests ask for: it takes longer than a test may."""
    asked = {
        version_of(name)
        for item in session.items
        for value in getattr(getattr(item, "callspec", None), "params", {}).values()
        if isinstance(value, str)
        for name in value.split("-to-")
        if version_of(name) in CRATES
    }
    if asked and not session.config.option.collectonly:
        for version in sorted(asked):
            outcome(version)  # the fixture tells what was missing


@pytest.fixture(scope="session")
def reference() -> peer.Toolchain:
    """Java, the jar and the compiled peers; without them a visible skip, or under CI a failure."""
    return reference_toolchain()


@pytest.fixture
def stream_id() -> int:
    """A stream id that no other test of this run uses."""
    return next(_streams)


@pytest.fixture
def aeron_dir() -> Iterator[Path]:
    """An unused Aeron directory path, removed after the test."""
    path = memory_path()
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def start_server(reference: peer.Toolchain, tmp_path: Path) -> Iterator[Start]:
    """Starts servers of any implementation for one test."""
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


@pytest.fixture
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


@pytest.fixture
def any_archive(
    request: pytest.FixtureRequest, session_servers: Callable[[str, str], Server]
) -> Server:
    """Each test body runs on our archiving driver and on the reference's."""
    return session_servers(request.param, "archiving-driver")


@pytest.fixture(scope="session")
def c_peers(reference: peer.Toolchain) -> Iterator[Callable[[str], peer.CPeer]]:
    """``c_peers(version)``: the process that serves C clients of a version to the whole run."""
    known: dict[str, peer.CPeer] = {}

    def get(version: str) -> peer.CPeer:
        c_reference(version)
        if version not in known:
            known[version] = peer.CPeer(version)
        return known[version]

    yield get
    for one in known.values():
        one.stop()


@pytest.fixture(scope="session")
def java_peer(reference: peer.Toolchain) -> Iterator[peer.JavaPeer]:
    """The JVM that serves reference clients to the whole run."""
    jvm = peer.JavaPeer()
    yield jvm
    jvm.stop()


@pytest.fixture
def java_client(java_peer: peer.JavaPeer) -> Iterator[Callable[..., peer.JavaAeron]]:
    """``java_client(directory)`` connects a reference client; closed after the test."""
    yield from connector(java_peer)


@pytest.fixture
def reference_peer(
    request: pytest.FixtureRequest,
    java_peer: peer.JavaPeer,
    c_peers: Callable[[str], peer.CPeer],
) -> peer.JavaPeer:
    """The process that serves clients of the reference: Java's, then C's."""
    return java_peer if request.param == "java" else c_peers(version_of(request.param))


@pytest.fixture
def peer_client(reference_peer: peer.JavaPeer) -> Iterator[Callable[..., peer.JavaAeron]]:
    """``peer_client(directory)`` connects a client of ``reference_peer``; closed after the test."""
    yield from connector(reference_peer)


def connector(process: peer.JavaPeer) -> Iterator[Callable[..., peer.JavaAeron]]:
    """A function that connects clients of a process, which are closed afterwards."""
    clients: list[peer.JavaAeron] = []

    def connect(directory: str | Path, **options: object) -> peer.JavaAeron:
        clients.append(process.connect(str(directory), **options))
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
