"""Two drivers and a wire between them: which of them is ours, clients of ours on both.

A test that takes ``link`` or ``own_link`` runs once for each of ``DIRECTIONS``. Those between two
drivers of one make, and most with the driver in C, run in ``make test-long`` only;
``AEROLOG_UDP_DIRECTIONS`` picks others.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import peer
import pytest
from peer.c_build import CRATES, STANDARD, version_of
from peer.counters import DriverCounters
from peer.lifetimes import server_starter, stop_all
from peer.servers import Server

from aerolog.transport.client import CountersReader

if TYPE_CHECKING:
    from pathlib import Path

# Sending driver, receiving driver. The reference on both sides proves the bodies of the tests.
DIRECTIONS = {
    "reference-to-reference": ("reference", "reference"),
    "ours-to-reference": ("ours", "reference"),
    "reference-to-ours": ("reference", "ours"),
    "ours-to-ours": ("ours", "ours"),
    "ours-to-c": ("ours", "c"),
    "c-to-ours": ("c", "ours"),
}
# The driver in C of later versions, for what has the marker ``c_driver``.
for _version in list(CRATES)[1:]:
    DIRECTIONS[f"ours-to-c-{_version}"] = ("ours", f"c-{_version}")
    DIRECTIONS[f"c-{_version}-to-ours"] = (f"c-{_version}", "ours")
# Drivers that forget ended streams soon, so that one pair serves many tests.
PROPERTIES = {
    "aeron.timer.interval": "200ms",
    "aeron.publication.linger.timeout": "500ms",
    "aeron.image.liveness.timeout": "3s",
    "aeron.untethered.window.limit.timeout": "500ms",
    "aeron.untethered.linger.timeout": "300ms",
    "aeron.untethered.resting.timeout": "600ms",
    "aeron.socket.so_rcvbuf": "200k",
    "aeron.rcv.initial.window.length": "128k",
}


@dataclass
class Link:
    """The sending and the receiving driver of one test.

    Attributes:
        sending: the driver with the publications.
        receiving: the driver with the subscriptions.
        publisher: a client of ours on the sending driver.
        subscriber: a client of ours on the receiving driver.
    """

    sending: Server
    receiving: Server
    connect: Callable[..., Any]
    _clients: dict[str, Any] = field(default_factory=dict)

    @property
    def publisher(self) -> Any:
        return self._client(self.sending)

    @property
    def subscriber(self) -> Any:
        return self._client(self.receiving)

    def _client(self, server: Server) -> Any:
        if server.aeron_dir not in self._clients:
            self._clients[server.aeron_dir] = self.connect(server.aeron_dir)
        return self._clients[server.aeron_dir]

    def counters(self) -> tuple[DriverCounters, DriverCounters]:
        """Of the sending and of the receiving driver."""
        return DriverCounters(self.publisher.counters), DriverCounters(self.subscriber.counters)


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker of this folder."""
    config.addinivalue_line(
        "markers", "ours(side): only where that driver, sending, receiving or either, is ours"
    )


def is_ours(direction: str, side: str) -> bool:
    """Whether the sending, the receiving or either driver of a direction is ours."""
    names = dict(zip(("sending", "receiving"), DIRECTIONS[direction], strict=True))
    return "ours" in (names.values() if side == "either" else [names[side]])


def c_version(direction: str) -> str:
    """The version of the driver in C of a direction, or an empty text."""
    return "".join(version_of(name) for name in DIRECTIONS[direction])


def is_quick(direction: str, *, on_c: bool) -> bool:
    """Whether `make test` has a direction: with the driver in C for the tests marked so."""
    if version := c_version(direction):
        return on_c and version == STANDARD
    return len(set(DIRECTIONS[direction])) > 1


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each test of a pair runs in every direction that is wired."""
    if "direction" not in metafunc.fixturenames:
        return
    on_c = metafunc.definition.get_closest_marker("c_driver") is not None
    names = os.environ.get("AEROLOG_UDP_DIRECTIONS", "").split() or [
        name for name in DIRECTIONS if on_c or c_version(name) in {"", STANDARD}
    ]
    for marker in metafunc.definition.iter_markers("ours"):
        names = [name for name in names if is_ours(name, marker.args[0])]
    params = [
        pytest.param(name, marks=[] if is_quick(name, on_c=on_c) else [pytest.mark.slow])
        for name in names
    ]
    metafunc.parametrize("direction", params)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out streams that must lose nothing, and cannot ask again, towards 1.54 in C.

    It drops datagrams within its own window (test_c_versions.py), as from senders of its own.
    """
    lossy = [
        item
        for item in items
        if "AEROLOG_UDP_DIRECTIONS" not in os.environ
        and {"name": "unreliable without loss", "direction": "ours-to-c-1.54.0"}.items()
        <= getattr(getattr(item, "callspec", None), "params", {}).items()
    ]
    if lossy:
        config.hook.pytest_deselected(items=lossy)
        items[:] = [item for item in items if item not in lossy]


@pytest.fixture(scope="module")
def pair_servers(
    reference: peer.Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Server]]:
    """Drivers for pairs: two of each implementation at most, started when first asked for."""
    running: list[Server] = []
    folders: list[Path] = []
    start_one = server_starter(running, folders, tmp_path_factory.mktemp("pairs"))
    known: dict[tuple[Any, ...], Server] = {}

    def get(
        implementation: str,
        number: int,
        own: dict[str, str] | None = None,
        prefix: tuple[str, ...] = (),
    ) -> Server:
        key = (implementation, number, *sorted((own or {}).items()), prefix)
        if key not in known or not known[key].process.running:
            known[key] = start_one(
                implementation, "driver", properties=PROPERTIES | (own or {}), prefix=prefix
            )
        return known[key]

    yield get
    stop_all(running, folders)


@pytest.fixture
def make_link(our_client: Callable[..., Any]) -> Callable[[Server, Server], Link]:
    """``make_link(sending, receiving)``: a link between two drivers that run."""
    return lambda sending, receiving: Link(sending, receiving, our_client)


@pytest.fixture
def link(
    direction: str,
    pair_servers: Callable[..., Server],
    make_link: Callable[[Server, Server], Link],
) -> Link:
    """Two drivers that live as long as the run, by the direction of the test."""
    sending, receiving = DIRECTIONS[direction]
    return make_link(
        pair_servers(sending, 1), pair_servers(receiving, 2 if sending == receiving else 1)
    )


@pytest.fixture
def own_link(
    direction: str, start_server: Callable[..., Server], our_client: Callable[..., Any]
) -> Callable[..., Link]:
    """``own_link(sending={...}, receiving={...})``: drivers of this test's own, by properties.

    With ``prefixes`` each is run by a command, for example in a network namespace.
    """
    names = DIRECTIONS[direction]

    def make(
        sending: dict[str, str] | None = None,
        receiving: dict[str, str] | None = None,
        prefixes: tuple[tuple[str, ...], ...] = ((), ()),
    ) -> Link:
        servers = [
            start_server(name, "driver", properties=PROPERTIES | (own or {}), prefix=prefix)
            for name, own, prefix in zip(names, (sending, receiving), prefixes, strict=True)
        ]
        return Link(*servers, our_client)

    return make


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Shows what both drivers counted, the longest turns of their agents too, beside a failure."""
    report = yield
    link = getattr(item, "funcargs", {}).get("link")
    if report.failed and report.when == "call" and isinstance(link, Link):
        for side in (link.sending, link.receiving):
            if side.process.running:
                infos = CountersReader(side.aeron_dir).infos()
                kept = [f"{info.value} {info.label}" for info in infos if info.value]
                report.sections.append((f"counters of {side.process.name}", "\n".join(kept)))
    return report
