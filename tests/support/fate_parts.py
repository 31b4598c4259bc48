"""The parts of a running system, each a process of ours or of the reference, for `fates`.

A stage is a driver, an archive and a client, or a node of a cluster, its service and a client with
a session. Both implementations are started by their own command lines with the same properties.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fates import SECOND
from peer.artifact import toolchain
from peer.cluster_node import free_ports
from peer.process import ServerProcess
from peer.servers import ARCHIVE_DEFAULTS, DRIVER_DEFAULTS
from waits import wait_until

from aerolog.archive.client import AeronArchive
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.cluster.client import AeronCluster
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.cluster.files import ClusterMarkFile
from aerolog.transport.client import Aeron, ErrorLog
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fates import Fate

CHANNEL = "aeron:ipc?term-length=64k"
HEARTBEAT = CounterType.CLIENT_HEARTBEAT  # type id
TIMEOUTS = {
    "aeron.client.liveness.timeout": "2s",
    "aeron.driver.timeout": "3000",
    "aeron.timer.interval": "100ms",
    "aeron.publication.unblock.timeout": "4s",
    "aeron.image.liveness.timeout": "2s",
    "aeron.cluster.session.timeout": "3s",
}
REFERENCE = {
    "driver": "io.aeron.driver.MediaDriver",
    "archive": "io.aeron.archive.Archive",
    "client": "FateClient",
    "node": "io.aeron.cluster.ClusteredMediaDriver",
    "service": "io.aeron.cluster.service.ClusteredServiceContainer",
}
OURS = {
    "driver": ["driver"],
    "archive": ["archive"],
    "node": ["clustered-driver"],
    "service": ["service-container", "cluster_echo:EchoService"],
}
SEPARATE = ("driver", "archive", "client")
CLUSTERED = ("node", "service", "session")
WITHOUT_LOG = {"client", "session", SECOND}
PATIENCE_S = 30.0
SUPPORT = str(Path(__file__).parent)


class Stage:
    """The parts that run, by name, and where they live.

    Attributes:
        whose: "ours" or "reference".
        mode: how driver and archive share threads.
        folder: of archive and cluster.
        aeron_dir: the driver's directory.
        names: of the parts, in the order of their start.
        parts: the processes.
        heartbeats: the registration ids of a part's clients in the driver.
        checked: the parts whose fate an act has looked at already.
    """

    def __init__(
        self,
        whose: str,
        names: tuple[str, ...],
        folder: Path,
        aeron_dir: Path,
        mode: str,
        opened: ExitStack,
    ) -> None:
        self.whose = whose
        self.mode = mode
        self.folder = folder
        self.aeron_dir = aeron_dir
        self.names = names
        self.parts: dict[str, ServerProcess] = {}
        self.heartbeats: dict[str, set[int]] = {}
        self.checked: set[str] = set()
        self._opened = opened
        self._streams = iter(range(1000, 2000))
        self._ports = free_ports(6)
        self._shown: Aeron | None = None

    @property
    def watcher(self) -> Aeron:
        """A client of the test's own that lives as long as the stage."""
        if self._shown is None:
            self._shown = self._opened.enter_context(
                Aeron(str(self.aeron_dir), on_error=lambda _: None)
            )
        return self._shown

    @property
    def endpoint(self) -> str:
        """Where the node takes ingress."""
        return f"localhost:{self._ports[0]}"

    def start(self, name: str) -> ServerProcess:
        """Starts a part and waits until it serves."""
        if name in {"driver", "node"}:
            self._shown = None  # whoever watched the driver before has lost it
        before = set() if name in {"driver", "node"} else self.clients()
        part = self._begin(name)
        self.parts[name] = part
        if name in {"client", "session"}:
            part.wait_line("ready")
        elif name == "node":
            wait_until(lambda: not part.running or self._has_module(part), "the node's module")
        else:
            self.wait_serving(name)
        if name not in {"driver", "node"}:
            self.heartbeats[name] = self.clients() - before
        return part

    def _has_module(self, node: ServerProcess) -> bool:
        """Whether a node's driver runs, and not the one before, and its module has counters."""
        with suppress(AerologError, OSError):
            cnc = CncFile.open(RealFileSystem(), str(self.aeron_dir))
            return cnc.header.pid == node.pid and any(
                counter.type_id == ClusterCounterType.MODULE_STATE for counter in cnc.counters
            )
        return False

    def start_second(self, name: str) -> None:
        """Starts another of a part with the same folders, and waits until that has ended."""
        self.parts[SECOND] = second = self._begin(name)
        wait_until(lambda: not second.running, f"the end of a second {name}")

    def _begin(self, name: str) -> ServerProcess:
        return self._opened.enter_context(
            ServerProcess(f"{self.whose}-{name}", self._command(name), env=self._environment())
        )

    def clients(self) -> set[int]:
        """The clients that the driver knows."""
        return {c.registration_id for c in self.watcher.counters.infos() if c.type_id == HEARTBEAT}

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": SUPPORT}

    def _command(self, name: str) -> list[str]:
        where = self.endpoint if name == "session" else str(next(self._streams))
        if name == "session" or (name == "client" and self.whose == "ours"):
            return [sys.executable, "-m", "fate_client", str(self.aeron_dir), where]
        if self.whose == "ours":
            words = [sys.executable, "-m", "aerolog.tools.main", *OURS[name]]
            return words + [f"-D{key}={value}" for key, value in self._properties().items()]
        arguments = [str(self.aeron_dir), where] if name == "client" else []
        properties = self._properties() | {"aeron.cluster.service.class.name": "ClusterEcho"}
        return toolchain().command(REFERENCE[name], *arguments, properties=properties)

    def _properties(self) -> dict[str, str]:
        places = [f"localhost:{port}" for port in self._ports]
        udp = "aeron:udp?endpoint=localhost:0"
        return {
            **DRIVER_DEFAULTS,
            **ARCHIVE_DEFAULTS,
            **TIMEOUTS,
            "aeron.threading.mode": self.mode,
            "aeron.archive.threading.mode": self.mode,
            "aeron.dir": str(self.aeron_dir),
            "aeron.archive.dir": f"{self.folder}/archive",
            "aeron.archive.control.channel.enabled": "true",
            "aeron.archive.control.channel": f"aeron:udp?endpoint={places[4]}",
            "aeron.archive.recording.events.enabled": "false",
            "aeron.archive.low.storage.space.threshold": "0",
            "aeron.cluster.dir": f"{self.folder}/cluster",
            "aeron.cluster.members": f"0,{','.join(places[:5])}",
            "aeron.cluster.ingress.channel": "aeron:udp",
            "aeron.cluster.log.channel": "aeron:ipc?term-length=64k",
            "aeron.cluster.replication.channel": udp,
        }

    def archive_client(self, aeron: Aeron) -> AeronArchive:
        """A client of the archive, also of a node's."""
        return AeronArchive(
            aeron,
            request_channel=f"aeron:udp?endpoint=localhost:{self._ports[4]}",
            response_channel="aeron:udp?endpoint=localhost:0",
        )

    def has_served(self, name: str) -> bool:
        """Whether a message passes a part from end to end."""
        part = self.parts[name]
        if name in {"client", "session"}:
            part.write_line("message")
            return part.next_line() == "heard"
        with suppress(AerologError), Aeron(str(self.aeron_dir), on_error=lambda _: None) as aeron:
            return PROBES[name](self, aeron)
        return False

    def wait_serving(self, name: str) -> None:
        """Waits until a message passes; fails when the part ends."""
        part = self.parts[name]

        def serves() -> bool:
            assert part.running, f"{name} ended with {part.process.returncode}: {part.log()}"
            return self.has_served(name)

        wait_until(serves, f"{self.whose}: {name} to serve again", PATIENCE_S)

    def errors(self, name: str) -> list[str]:
        """The error log of a part."""
        if name in WITHOUT_LOG:
            return []
        if name == "driver":
            return [each.text for each in ErrorLog(self.aeron_dir)]
        if name == "archive":
            return [each.text for each in ArchiveMarkFile.open(self.folder / "archive").errors()]
        file = {"name": "cluster-mark-service-0.dat"} if name == "service" else {}
        return [
            each.text for each in ClusterMarkFile.open(self.folder / "cluster", **file).errors()
        ]

    def mistake(self, name: str, fate: Fate) -> str:
        """How a part goes on, when that is otherwise than it should; else nothing."""
        part = self.parts[name]
        try:
            if fate.code is None and fate.reason:
                is_stalled = part.running and fate.is_in(part.log())
                return "" if is_stalled else self.shown(name)
            if fate.code is None:
                self.wait_serving(name)
                return ""
            wait_until(lambda: not part.running, "its end", 40)
        except AssertionError as error:
            return f"{name}, which {fate}: {error}; {self.shown(name)}"
        is_said = not fate.is_said or fate.is_in(part.log())
        is_logged = not fate.is_logged or any(map(fate.is_in, self.errors(name)))
        is_logged = is_logged or name in WITHOUT_LOG
        if part.process.returncode == fate.code and is_said and is_logged:
            return ""
        return f"{name}, which {fate}: {self.shown(name)}"

    def check(self, name: str, fate: Fate) -> None:
        """Fails when a part goes on otherwise than it should."""
        assert not (mistake := self.mistake(name, fate)), f"{self.whose}: {mistake}"
        self.checked.add(name)

    def shown(self, name: str) -> str:
        """Exit code, output and error log of a part."""
        part = self.parts[name]
        said = "\n".join(part.log().splitlines()[:12])
        logged = [each[:300] for each in self.errors(name)]
        return f"code {part.process.poll()}, said: {said}\nits error log: {logged}"


def driver_serves(stage: Stage, aeron: Aeron) -> bool:
    stream_id = next(stage._streams)
    with (
        aeron.add_publication(CHANNEL, stream_id) as publication,
        aeron.add_subscription("aeron:ipc", stream_id) as subscription,
    ):
        publication.send(b"message")
        return bool(wait_until(subscription.poll_messages, "the message"))


def archive_serves(stage: Stage, aeron: Aeron) -> bool:
    """A new stream is recorded and read again."""
    with stage.archive_client(aeron) as archive:
        with archive.add_recorded_exclusive_publication(CHANNEL, next(stage._streams)) as stream:
            end = stream.send(b"message")
            number = list(archive.recordings())[-1].recording_id
            wait_until(lambda: archive.recording_position(number) == end, "the recording", 10)
        return bool(next(iter(archive.read(number))).data)


def node_serves(stage: Stage, aeron: Aeron) -> bool:
    """A new client's message comes back."""
    with AeronCluster(
        aeron,
        ingress_channel="aeron:udp",
        ingress_endpoints=f"0={stage.endpoint}",
        egress_channel="aeron:udp?endpoint=localhost:0",
        message_timeout=3,
    ) as cluster:
        cluster.send(b"message")
        # What is sent while a node elects itself may be lost: `wait_serving` asks again.
        deadline = time.monotonic() + 3
        while not (heard := cluster.poll_messages()) and time.monotonic() < deadline:
            time.sleep(0.005)
        return bool(heard)


PROBES: dict[str, Callable[[Stage, Aeron], bool]] = {
    "driver": driver_serves,
    "archive": archive_serves,
    "node": node_serves,
    "service": node_serves,
}


@contextmanager
def a_stage(
    whose: str, names: tuple[str, ...], folder: Path, aeron_dir: Path, mode: str = "SHARED"
) -> Iterator[Stage]:
    """All parts of a stage, until the end of the test."""
    with ExitStack() as opened:
        stage = Stage(whose, names, folder, aeron_dir, mode, opened)
        for name in names:
            stage.start(name)
        yield stage


def stand_still(part: ServerProcess) -> None:
    os.kill(part.pid, signal.SIGSTOP)


def go_on(part: ServerProcess) -> None:
    os.kill(part.pid, signal.SIGCONT)


def slow_down(part: ServerProcess, times: int = 30) -> None:
    """Lets a process run half of the time."""
    for _ in range(times):
        stand_still(part)
        time.sleep(0.05)
        go_on(part)
        time.sleep(0.05)
