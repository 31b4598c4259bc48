"""Drivers of both kinds with streams of every sort, and the reference's tools looking at them.

All tools look at one path, a link: it leads to a driver's directory, or to a copy of one.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import peer
import pytest
from peer.raw_client import RawClient
from peer.servers import Server, ServerSpec, start
from peer.streams import free_port
from peer.tool_runner import ToolRun, ToolRunner
from shared_memory import memory_path
from waits import wait_until

from aerolog.tools.main import main
from aerolog.tools.views.driver_view import DriverView
from aerolog.tools.views.stream_views import streams
from aerolog.transport.client import Aeron
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.protocol import commands

DEADLINE_S = 60.0
SAMPLES = "io.aeron.samples."
UNKNOWN_PUBLICATION = 987_654
LOSSY = {
    "aeron.ReceiveChannelEndpoint.supplier": (
        "io.aeron.driver.ext.DebugReceiveChannelEndpointSupplier"
    ),
    "aeron.debug.receive.data.loss.rate": "0.2",
    "aeron.debug.receive.data.loss.seed": "5",
    "aeron.driver.termination.validator": "io.aeron.driver.DefaultAllowTerminationValidator",
}


@dataclass
class Busy:
    """A driver with streams, errors and losses, and a copy of its files as they were then."""

    server: Server
    client: Any
    copy: Path
    streams: list[Any] = field(default_factory=list)

    @property
    def aeron_dir(self) -> Path:
        return Path(self.server.aeron_dir)


@pytest.fixture(scope="session")
def seen() -> Iterator[Path]:
    """The path that all tools look at."""
    path = memory_path()
    yield path
    path.unlink(missing_ok=True)


@pytest.fixture
def point(seen: Path) -> Callable[[Path], Path]:
    """Has the path lead somewhere; returns it."""

    def lead(target: Path) -> Path:
        seen.unlink(missing_ok=True)
        seen.symlink_to(target)
        return seen

    return lead


@pytest.fixture(scope="session")
def java_tools(reference: peer.Toolchain, seen: Path) -> Iterator[Callable[..., ToolRun]]:
    """``java_tools("AeronStat", "watch=false")`` looks at the path."""
    with ToolRunner({"aeron.dir": str(seen)}) as runner:
        yield lambda name, *arguments: runner.run(SAMPLES + name, *arguments)


@pytest.fixture
def our_tools(seen: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., ToolRun]:
    """``our_tools("stat", "--classic")`` looks at the path."""

    def run(command: str, *arguments: str) -> ToolRun:
        capfd.readouterr()
        code = main([command, "--aeron-dir", str(seen), *arguments])
        out, err = capfd.readouterr()
        return ToolRun(code, out, err)

    return run


@pytest.fixture(scope="session", params=["ours", "reference"])
def busy(
    request: pytest.FixtureRequest, reference: peer.Toolchain, tmp_path_factory: Any
) -> Iterator[Busy]:
    """Each test looks at our driver and at the reference's."""
    aeron_dir = memory_path()
    server = start(request.param, ServerSpec("driver", aeron_dir, properties=LOSSY))
    try:
        with Aeron(str(aeron_dir), name="watched") as client:
            found = Busy(server, client, tmp_path_factory.mktemp(request.param) / "copy")
            _make_busy(found)
            yield found
    finally:
        server.process.stop()
        shutil.rmtree(aeron_dir, ignore_errors=True)


def _make_busy(found: Busy) -> None:
    client, port = found.client, free_port()
    udp = f"aeron:udp?endpoint=localhost:{port}"
    long = f"aeron:udp?endpoint=localhost:{free_port()}|alias={'x' * 400}"
    control = f"aeron:udp?control=localhost:{free_port()}|control-mode=dynamic"
    subscribed = [
        ("aeron:ipc", 11),
        ("aeron:ipc", 11),
        ("aeron:ipc", 12),
        (udp, 21),
        (udp, 21),
        (f"aeron-spy:{udp}", 21),
        (long, 31),
        (control.replace("control-mode=dynamic", "endpoint=localhost:0"), 41),
    ]
    subscriptions = [client.add_subscription(*each) for each in subscribed]
    publications = [
        client.add_publication("aeron:ipc?term-length=64k", 11),
        client.add_exclusive_publication("aeron:ipc?term-length=64k|alias=b", 11),
        client.add_publication("aeron:ipc", 12),
        client.add_exclusive_publication(f"{udp}|term-length=64k", 21),
        client.add_publication(long, 31),
        client.add_publication(f"{control}|fc=min", 41),
        client.add_publication("aeron:ipc?alias=nobody", 99),
    ]
    found.streams = [*subscriptions, *publications]
    connected = publications[:-1]
    wait_until(lambda: all(p.is_connected for p in connected), "the connections")
    for publication in connected:
        wait_until(lambda p=publication: p.offer(bytes(500)) > 0, "room")
    lossy = publications[3]
    read = subscriptions[3:6]

    def lost() -> bool:
        lossy.offer(bytes(1000))
        for subscription in read:
            subscription.poll(lambda *_: None, 10)
        with DriverView.open(found.server.aeron_dir) as view:
            return bool(view.losses())

    wait_until(lost, "a loss")
    raw = RawClient(found.server.aeron_dir)
    raw.do(lambda i, n: commands.RemovePublication(i, n, UNKNOWN_PUBLICATION))
    # In order, so that the driver does not forget it between two looks.
    raw.send(commands.ClientClose)
    heartbeat = (CounterType.CLIENT_HEARTBEAT, raw.client_id)
    wait_until(lambda: raw.cnc.counters.find_by_key_i64(*heartbeat) < 0, "its end")
    with DriverView.open(found.server.aeron_dir) as view:
        wait_until(view.errors, "an error")
        images = subscriptions[3:5] + subscriptions[6:]
        wait_until(lambda: all(s.is_connected for s in images), "images")

        def at_rest() -> bool:
            """Nothing is on its way any more, so that no loss comes while tools look."""
            for subscription in read:
                subscription.poll(lambda *_: None, 10)
            found = [s for s in streams(view.counters()) if s.receivers]
            return len(found) == 3 and all(
                s.publisher is not None and r.position == r.hwm == s.publisher.position
                for s in found
                for r in s.receivers
            )

        wait_until(at_rest, "all that was sent")
    found.copy.mkdir()
    for name in ("cnc.dat", "loss-report.dat"):
        shutil.copyfile(found.aeron_dir / name, found.copy / name)
