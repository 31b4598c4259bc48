"""Archives reached over UDP from another driver: one body for every pair, a difference is a bug."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from peer import streams
from peer.archive_session import ArchiveCounters, ArchiveSession
from peer.servers import Server, ServerSpec, start
from shared_memory import memory_path
from waits import wait_until

from aerolog.transport.client import CountersReader
from aerolog.transport.counters.counter_types import CounterType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import peer

HOST = "127.0.0.1"
_dirs = itertools.count(1)


def free_port(host: str = HOST) -> int:
    """A UDP port that nobody has now, and that the kernel gives to nobody."""
    return streams.free_port(host.strip("[]"))


@dataclass
class Site(ArchiveCounters):
    """An archive with its control channel, and the driver of clients that live elsewhere.

    Attributes:
        archive: its server, with a driver of its own.
        elsewhere: a driver with nothing but clients.
        control: where the archive listens.
        archive_make: whose archive: ``reference`` or ``ours``.
        driver_make: whose driver the archive uses.
        events: channel of the recording events.
    """

    archive: Server
    elsewhere: Server
    control: str
    archive_make: str
    driver_make: str
    events: str
    responses: str = f"aeron:udp?endpoint={HOST}:0"
    ports: dict[str, int] = field(default_factory=dict)

    @property
    def archive_aeron_dir(self) -> str:
        """Directory of the archive's driver."""
        return self.archive.aeron_dir

    @staticmethod
    def free_port() -> int:
        """A UDP port that nobody has now."""
        return free_port()

    def bound_address(self, subscription_id: int) -> str | None:
        """Address that the archive's driver has bound for a subscription."""
        counters = self.counters()
        channels = [
            c.counter_id
            for c in counters
            if c.type_id == CounterType.RECEIVE_CHANNEL_STATUS
            and c.registration_id == subscription_id
        ]
        bound = [
            c.label.rpartition(" ")[2]
            for c in counters
            if c.type_id == CounterType.LOCAL_SOCKET_ADDRESS
            and int.from_bytes(c.key[:4], "little") in channels
        ]
        return bound[0] if bound else None

    def listens_elsewhere(self, channel: str) -> bool:
        """Whether somebody on the driver elsewhere has subscribed to a channel."""
        counters = CountersReader(self.elsewhere.aeron_dir).infos()
        return any(
            c.type_id == CounterType.RECEIVE_CHANNEL_STATUS and channel in c.label for c in counters
        )


def archive_properties(control: str, events: str) -> dict[str, str]:
    """What an archive that listens on the network is told."""
    return {
        "aeron.archive.control.channel": control,
        "aeron.archive.control.channel.enabled": "true",
        "aeron.archive.recording.events.channel": events,
        "aeron.archive.recording.events.enabled": "true",
        "aeron.archive.id": "77",
        # Recorded streams and replays end soon, and not before what a busy machine has dropped or
        # left waiting at their end is sent again.
        "aeron.publication.linger.timeout": "1s",
        "aeron.archive.replay.linger.timeout": "200ms",
        "aeron.image.liveness.timeout": "5s",
        "aeron.archive.connect.timeout": "4s",
    }


def lossy(make: str, loss: str) -> dict[str, str]:
    """Properties by which a driver of ours loses what comes in."""
    if make != "ours" or not loss:
        return {}
    return {"aeron.rehearse.receive.data": loss, "aeron.rehearse.send.control": loss}


class Sites:
    """Starts sites once a run; each archive has a driver, a folder and ports of its own."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._running: list[Server] = []
        self._folders: list[Path] = []
        self._archives: dict[str, tuple[Server, str, str]] = {}
        self._drivers: dict[str, Server] = {}

    def _folder(self) -> Path:
        path = memory_path("site")
        self._folders.append(path)
        return path

    def _start(self, make: str, kind: str, **options: Any) -> Server:
        options.setdefault("aeron_dir", self._folder())
        server = start(make, ServerSpec(kind, **options))
        self._running.append(server)
        return server

    def start_archive(
        self, archive_make: str, driver_make: str, control: str, events: str, **more: str
    ) -> Server:
        """An archive on a driver of its own."""
        properties = archive_properties(control, events) | more
        folder = self._root / f"archive-{next(_dirs)}"
        if archive_make == driver_make:
            return self._start(
                archive_make, "archiving-driver", archive_dir=folder, properties=properties
            )
        driver = self._start(driver_make, "driver", properties=properties)
        return self._start(
            archive_make,
            "archive",
            aeron_dir=driver.spec.aeron_dir,
            archive_dir=folder,
            properties=properties,
        )

    def start_again(self, ended: Server) -> Server:
        """A server that has ended, once more: its folders, its ports."""
        server = start(ended.implementation, ended.spec)
        self._running.append(server)
        return server

    def get(
        self,
        archive_make: str,
        archive_driver: str,
        elsewhere: str,
        *,
        loss: str = "",
        host: str = HOST,
    ) -> Site:
        """The site of these makes.

        Args:
            archive_make: whose archive.
            archive_driver: whose driver it has.
            elsewhere: whose driver the clients have.
            loss: what befalls frames that come to drivers of ours.
            host: address of everybody.
        """
        key = f"{archive_make} on {archive_driver} {loss} {host}"
        if key not in self._archives:
            control = f"aeron:udp?endpoint={host}:{free_port(host)}"
            events = f"aeron:udp?control-mode=dynamic|control={host}:{free_port(host)}"
            server = self.start_archive(
                archive_make, archive_driver, control, events, **lossy(archive_driver, loss)
            )
            self._archives[key] = (server, control, events)
        outside = f"{elsewhere} {loss}"
        if outside not in self._drivers:
            properties = {
                "aeron.client.liveness.timeout": "4s",
                "aeron.image.liveness.timeout": "5s",
            } | lossy(elsewhere, loss)
            self._drivers[outside] = self._start(elsewhere, "driver", properties=properties)
        server, control, events = self._archives[key]
        return Site(
            server,
            self._drivers[outside],
            control,
            archive_make,
            archive_driver,
            events,
            responses=f"aeron:udp?endpoint={host}:0",
        )

    def stop(self) -> None:
        """End all, the last one first."""
        codes = [
            (s.process.name, s.process.stop()) for s in reversed(self._running) if s.process.running
        ]
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)
        assert all(code == 0 for _, code in codes), f"a server ended badly: {codes}"


@pytest.fixture(scope="module")
def sites(reference: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    """See ``Sites``."""
    running = Sites(tmp_path_factory.mktemp("sites"))
    yield running
    running.stop()


# Archive, its driver, the driver of its clients.
SITES = [
    ("reference", "reference", "reference"),
    ("ours", "reference", "reference"),
    ("ours", "ours", "reference"),
    ("reference", "reference", "ours"),
    ("ours", "ours", "ours"),
]


@pytest.fixture(params=SITES, ids=["-".join(site) for site in SITES])
def site(request: pytest.FixtureRequest, sites: Sites) -> Site:
    """Each test body runs on every site."""
    return sites.get(*request.param)


@dataclass
class Bench(ArchiveSession):
    """A session over UDP, of a client on the driver elsewhere."""

    location = "REMOTE"
    site: Site

    def replay_here(self, recording_id: int, position: int, length: int) -> Any:
        """A subscription to a replay that comes to a port of the client's driver."""
        subscription = self.client.add_subscription(
            f"aeron:udp?endpoint={HOST}:0", self.stream_id + 50_000
        )
        channel = wait_until(subscription.tryResolveChannelEndpointPort, "the replay's port")
        self.archive.startReplay(recording_id, position, length, channel, self.stream_id + 50_000)
        return subscription

    def descriptor(self, recording_id: int) -> dict[str, Any]:
        """The descriptor of one recording."""
        (found,) = self.archive.recordings(recording_id=recording_id)
        return found


@pytest.fixture
def address() -> Callable[[], str]:
    """``address()`` is a host and a UDP port that nobody has."""
    return lambda: f"{HOST}:{free_port()}"


@pytest.fixture(name="free_port")
def _free_port() -> Callable[..., int]:
    """See ``free_port``."""
    return free_port


@pytest.fixture
def channel() -> str:
    """A UDP channel that nobody else has."""
    return f"aeron:udp?endpoint={HOST}:{free_port()}|term-length=64k"


@pytest.fixture
def bench_on(stream_id: int, channel: str) -> Callable[..., Bench]:
    """``bench_on(site, java_client)`` makes a bench with a stream of the test's own."""

    def make(site: Site, java_client: Callable[..., peer.JavaAeron]) -> Bench:
        client = java_client(site.elsewhere.aeron_dir)
        archive = client.archive(request_channel=site.control, response_channel=site.responses)
        return Bench(client, archive, stream_id, channel, site)

    return make


@pytest.fixture
def bench(
    site: Site, bench_on: Callable[..., Bench], java_client: Callable[..., peer.JavaAeron]
) -> Bench:
    """A client elsewhere with a session over UDP, and a stream of the test's own."""
    return bench_on(site, java_client)
