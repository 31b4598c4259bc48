"""Two archives, each with a driver of its own, and what one tells while it copies."""

from __future__ import annotations

import itertools
import random
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from peer.servers import Server, ServerSpec, start
from peer.streams import free_port
from shared_memory import memory_path
from waits import wait_until

from aerolog.archive import protocol as ap
from aerolog.archive.client import AeronArchive
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.client import Aeron, CountersReader
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOST = "127.0.0.1"
IPC = "aeron:ipc?term-length=64k"
TERM_LENGTH = 64 * 1024
HEADER_LENGTH = 32
ARCHIVE_ERRORS = ArchiveCounterType.ERRORS  # type of the counter
SYSTEM_ERRORS = SystemCounter.ERRORS  # id of the driver's, which an archive beside it shares
PAIRS = [  # the reference on both sides proves the bodies, in the long run of tests
    pytest.param(("reference", "reference"), marks=pytest.mark.slow),
    ("reference", "ours"),
    ("ours", "reference"),
    ("ours", "ours"),
]


def pair_name(pair: tuple[str, str]) -> str:
    """A pair in the id of a test."""
    return f"from-{pair[0]}-to-{pair[1]}"


_numbers = itertools.count(1)


def frames_on_disk(folder: Path, recording_id: int, start: int, stop: int) -> list[bytes]:
    """Every frame of a recording as it lies on disk, without its session id.

    A padding frame is its header.
    """
    segments = sorted(
        (int(path.stem.partition("-")[2]), path) for path in folder.glob(f"{recording_id}-*.rec")
    )
    base = segments[0][0]
    held = b"".join(path.read_bytes() for _, path in segments)
    found, position = [], start
    while position < stop:
        at = position - base
        length = int.from_bytes(held[at : at + 4], "little")
        assert 0 < length <= TERM_LENGTH, f"frame of {length} bytes at {position}"
        is_padding = held[at + 6 : at + 8] == b"\0\0"
        frame = held[at : at + (HEADER_LENGTH if is_padding else length)]
        found.append(frame[:12] + bytes(4) + frame[16:])
        position += (length + 31) & ~31
    assert position == stop, f"a frame reaches over the stop position {stop}"
    return found


@dataclass(frozen=True)
class Recorded:
    """A recording of a site."""

    recording_id: int
    stream_id: int
    session_id: int
    start: int
    stop: int


class Source:
    """A publication that is being recorded."""

    def __init__(self, site: Site, channel: str, stream_id: int) -> None:
        self.site, self.stream_id = site, stream_id
        self.random = random.Random(stream_id)
        known = {r.recording_id for r in site.archive.recordings(stream_id=stream_id)}
        self.subscription_id = site.archive.start_recording(channel, stream_id)
        self.publication = site.aeron.add_exclusive_publication(channel, stream_id)
        self.recording_id = wait_until(
            lambda: {r.recording_id for r in site.archive.recordings(stream_id=stream_id)} - known,
            "the recording to begin",
        ).pop()

    def offer(self, count: int, length: int | None = None) -> int:
        """Send messages, recorded when this returns; the position reached."""
        for _ in range(count):
            size = self.random.randrange(1, 3000) if length is None else length
            message = self.random.randbytes(size)
            wait_until(lambda m=message: self.publication.offer(m) > 0, "room for a message")
        position = self.publication.position
        wait_until(
            lambda: self.site.archive.recording_position(self.recording_id) == position,
            f"{position} to be recorded",
        )
        return position

    def stop(self) -> Recorded:
        """End it."""
        stop = self.publication.position
        self.site.archive.stop_recording_subscription(self.subscription_id)
        self.publication.close()
        wait_until(
            lambda: self.site.archive.stop_position(self.recording_id) == stop,
            "its end",
        )
        return self.recorded(stop)

    def recorded(self, stop: int = -1) -> Recorded:
        """What it is so far."""
        return Recorded(self.recording_id, self.stream_id, self.publication.session_id, 0, stop)


@dataclass
class Site:
    """An archive of one make on a driver of its own, and a client of ours on that driver."""

    make: str
    server: Server
    control: str
    aeron: Aeron
    archive: AeronArchive
    open: list[Any] = field(default_factory=list)

    def source(self, stream_id: int, channel: str = IPC) -> Source:
        """Record a new publication."""
        return Source(self, channel, stream_id)

    def record(
        self, stream_id: int, count: int = 100, channel: str = IPC, length: int | None = None
    ) -> Recorded:
        """A stopped recording of some messages, of random lengths where none is given."""
        source = self.source(stream_id, channel)
        source.offer(count, length)
        return source.stop()

    def frames(self, recording_id: int, stop: int | None = None) -> list[bytes]:
        """The frames on disk of a recording that has stopped."""
        found = self.archive.list_recording(recording_id)
        end = found.stop_position if stop is None else stop
        return frames_on_disk(self.server.archive_dir, recording_id, found.start_position, end)

    def error_count(self) -> int:
        """Errors that the archive has counted, in a counter of its own or in the driver's."""
        infos = CountersReader(self.server.aeron_dir).infos()
        return sum(
            c.value
            for c in infos
            if c.type_id == ARCHIVE_ERRORS
            or (c.type_id == CounterType.SYSTEM and c.counter_id == SYSTEM_ERRORS)
        )

    def check_intact(self, recording: Recorded) -> None:
        """A recording is as it was: stopped, with all its frames."""
        found = self.archive.list_recording(recording.recording_id)
        assert found.stop_position == recording.stop
        assert self.frames(recording.recording_id)

    def counters(self, type_id: int) -> list[Any]:
        """Counters of a type."""
        infos = CountersReader(self.server.aeron_dir).infos()
        return [c for c in infos if c.type_id == type_id]


class Watch:
    """A control session of the destination that notes all that comes, in order."""

    def __init__(self, site: Site) -> None:
        self.site = site
        number = next(_numbers)
        self.responses = site.aeron.add_subscription("aeron:ipc", 30_000 + number)
        self.requests = site.aeron.add_exclusive_publication(IPC, 10)
        wait_until(lambda: self.requests.is_connected, "the archive to listen")
        self.received: list[ap.Message] = []
        self.session_id = -1
        answer = self.ask(
            ap.AuthConnectRequest(
                correlation_id=site.aeron.next_correlation_id(),
                response_stream_id=30_000 + number,
                version=ap.PROTOCOL_VERSION,
                response_channel="aeron:ipc",
            )
        )
        self.session_id = answer.control_session_id
        self.ask(self.message(ap.ArchiveIdRequest))
        self.received.clear()

    def message(self, kind: type[ap.Message], **fields: Any) -> Any:
        """A request of this session."""
        return kind(
            control_session_id=self.session_id,
            correlation_id=self.site.aeron.next_correlation_id(),
            **fields,
        )

    def poll(self) -> list[ap.Message]:
        """All messages so far, without pings."""
        for found in self.responses.poll_messages(100):
            message = ap.decode(found.data)
            if message is not None and not isinstance(message, ap.Ping):
                self.received.append(message)
        return self.received

    def wait(self, condition: Callable[[ap.Message], bool], what: str) -> Any:
        """The first message that is it."""
        try:
            return wait_until(lambda: next(filter(condition, self.poll()), None), what)
        except AssertionError as error:
            raise AssertionError(f"{error}; received: {self.received}") from None

    def ask(self, request: Any) -> ap.ControlResponse:
        """Send a request; its answer."""
        self.requests.send(request.encode())
        return self.wait(
            lambda m: (
                isinstance(m, ap.ControlResponse) and m.correlation_id == request.correlation_id
            ),
            f"an answer to {request}",
        )

    def replicate(self, **fields: Any) -> Replication:
        """Ask for a replication in the form that clients of 1.51 send."""
        defaults = {
            "dst_recording_id": -1,
            "stop_position": -1,
            "channel_tag_id": -1,
            "subscription_tag_id": -1,
            "src_control_stream_id": 10,
        }
        return self.start(ap.ReplicateRequest2, **(defaults | fields))

    def start(self, kind: type[ap.Message], **fields: Any) -> Replication:
        """Ask for a replication with any of the requests; it has to be agreed to."""
        answer = self.ask(self.message(kind, **fields))
        assert answer.code == ap.ControlResponseCode.OK, answer
        return Replication(self, answer.relevant_id)

    def refusal(self, **fields: Any) -> tuple[int, str]:
        """Code and text with which a request to replicate is refused."""
        defaults = {
            "dst_recording_id": -1,
            "stop_position": -1,
            "channel_tag_id": -1,
            "subscription_tag_id": -1,
            "src_control_stream_id": 10,
        }
        answer = self.ask(self.message(ap.ReplicateRequest2, **(defaults | fields)))
        assert answer.code == ap.ControlResponseCode.ERROR, answer
        return answer.relevant_id, answer.error_message

    def close(self) -> None:
        """End the session."""
        if not self.requests.closed and self.requests.is_connected:
            self.requests.offer(ap.CloseSessionRequest(control_session_id=self.session_id).encode())
        self.requests.close()
        self.responses.close()


@dataclass
class Replication:
    """A replication that a watch has asked for."""

    watch: Watch
    replication_id: int

    def of(self, message: ap.Message) -> bool:
        """Whether a message belongs to it."""
        return getattr(message, "correlation_id", None) == self.replication_id

    def wait_signal(self, name: str) -> ap.RecordingSignalEvent:
        """The first signal of a kind."""
        return self.watch.wait(
            lambda m: (
                isinstance(m, ap.RecordingSignalEvent) and self.of(m) and m.signal.name == name
            ),
            f"signal {name}",
        )

    def wait_end(self, *, stop: bool = True) -> list[str]:
        """The transcript, once the replication has ended, and its recording with it."""
        self.wait_signal("REPLICATE_END")
        if stop:
            self.wait_signal("STOP")
        return self.transcript()

    def signals(self, name: str) -> list[ap.RecordingSignalEvent]:
        """All signals of a kind so far."""
        return [
            m
            for m in self.watch.poll()
            if isinstance(m, ap.RecordingSignalEvent) and self.of(m) and m.signal.name == name
        ]

    def transcript(self) -> list[str]:
        """What has come so far, a line each, with ids by their meaning."""
        subscription_ids: dict[int, str] = {-1: "none"}
        recording_ids: dict[int, str] = {-1: "none"}
        lines = []
        for message in self.watch.poll():
            if not self.of(message):
                continue
            if isinstance(message, ap.ControlResponse):
                if message.code == ap.ControlResponseCode.OK:
                    subscription_ids.setdefault(message.relevant_id, "subscription")
                    lines.append(f"OK {subscription_ids[message.relevant_id]}")
                else:
                    text = message.error_message
                    lines.append(f"{message.code.name} {message.relevant_id} {text}")
            elif isinstance(message, ap.RecordingSignalEvent):
                recording = recording_ids.setdefault(message.recording_id, "destination")
                subscription = subscription_ids.get(message.subscription_id, "?")
                lines.append(
                    f"{message.signal.name} recording={recording} subscription={subscription}"
                    f" position={message.position}"
                )
        return lines


class Sites:
    """Starts sites once a run; each archive has a driver, a folder and ports of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.known: dict[str, Site] = {}
        self._running: list[Any] = []
        self.folders: list[Path] = []

    def start(self, make: str, name: str, *, credentials: bytes = b"", **more: str) -> Site:
        """A new site; the credentials are for our own client."""
        control = f"aeron:udp?endpoint={HOST}:{free_port()}"
        aeron_dir = memory_path("replication-")
        self.folders.append(aeron_dir)
        properties = {
            "aeron.archive.control.channel": control,
            "aeron.archive.control.channel.enabled": "true",
            "aeron.archive.control.response.channel": f"aeron:udp?endpoint={HOST}:0",
            "aeron.archive.replication.channel": f"aeron:udp?endpoint={HOST}:0",
            "aeron.archive.message.timeout": "4s",
            "aeron.archive.low.storage.space.threshold": "1m",
            # Streams that ended are gone quickly.
            "aeron.publication.linger.timeout": "200ms",
            "aeron.archive.replay.linger.timeout": "200ms",
            "aeron.image.liveness.timeout": "6s",
            "aeron.client.liveness.timeout": "5s",
        } | more
        spec = ServerSpec(
            "archiving-driver",
            aeron_dir=aeron_dir,
            archive_dir=self.root / f"archive-{name}-{next(_numbers)}",
            properties=properties,
        )
        return self.open(make, spec, control, credentials)

    def open(self, make: str, spec: ServerSpec, control: str, credentials: bytes = b"") -> Site:
        """A site of a specification, which may have run before."""
        server = start(make, spec)
        self._running.append(server)
        aeron = Aeron(str(spec.aeron_dir))
        self._running.append(aeron)
        archive = AeronArchive(
            aeron, request_channel=IPC, response_channel="aeron:ipc", credentials=credentials
        )
        self._running.append(archive)
        return Site(make, server, control, aeron, archive)

    def get(self, make: str, number: int) -> Site:
        """A site that lives as long as the run; of ours the second has a thread for each agent."""
        name = f"{make}-{number}"
        if name not in self.known:
            threads = {"aeron.archive.threading.mode": "DEDICATED"}
            self.known[name] = self.start(make, name, **threads if name == "ours-2" else {})
        return self.known[name]

    def close(self) -> None:
        """End all, the last one first."""
        codes = []
        for item in reversed(self._running):
            if isinstance(item, Server):
                if item.process.running:
                    codes.append((item.implementation, item.process.stop()))
            else:
                item.close()
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)
        assert all(code == 0 for _, code in codes), codes


@pytest.fixture(scope="module")
def sites(reference: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    """Sites of one file: many that idle on together would slow down all others."""
    made = Sites(tmp_path_factory.mktemp("replication"))
    yield made
    made.close()


@pytest.fixture
def own_sites(reference: Any, tmp_path: Path) -> Iterator[Sites]:
    """Sites of one test, which may kill them."""
    made = Sites(tmp_path)
    yield made
    made.close()


@dataclass
class Pair:
    """A source, a destination, and a session of the destination."""

    source: Site
    destination: Site
    watch: Watch
    stream_id: int

    def replicate(self, recording: Recorded | int, **fields: Any) -> Replication:
        """Copy a recording of the source."""
        wanted = recording if isinstance(recording, int) else recording.recording_id
        return self.watch.replicate(
            **({"src_recording_id": wanted, "src_control_channel": self.source.control} | fields)
        )

    @staticmethod
    def free_port() -> int:
        """A UDP port that nobody has now."""
        return free_port()

    @staticmethod
    def wait(condition: Callable[[], Any], what: str) -> Any:
        """See ``wait_until``."""
        return wait_until(condition, what)

    def check_copied(self, recording: Recorded, recording_id: int, stop: int | None = None) -> None:
        """The destination holds the same frames and describes them alike."""
        end = recording.stop if stop is None else stop
        theirs = self.source.frames(recording.recording_id, end)
        assert self.destination.frames(recording_id, end) == theirs
        source = self.source.archive.list_recording(recording.recording_id)
        copy = self.destination.archive.list_recording(recording_id)
        assert copy.stop_position == end
        for name in (
            "start_position",
            "initial_term_id",
            "segment_file_length",
            "term_buffer_length",
            "mtu_length",
            "stream_id",
            "stripped_channel",
            "original_channel",
            "source_identity",
        ):
            assert getattr(copy, name) == getattr(source, name), name


@pytest.fixture(params=PAIRS, ids=pair_name)
def doomed_source(
    request: pytest.FixtureRequest,
    sites: Sites,
    own_sites: Sites,
    pair_of: Callable[[Site, Site], Pair],
) -> Pair:
    """As ``pair``, with a source that the test may kill."""
    source, destination = request.param
    return pair_of(own_sites.start(source, "doomed"), sites.get(destination, 2))


@pytest.fixture
def frames() -> Callable[[Path, int, int, int], list[bytes]]:
    """See ``frames_on_disk``."""
    return frames_on_disk


@pytest.fixture
def pair_of(stream_id: int) -> Iterator[Callable[[Site, Site], Pair]]:
    """Makes pairs of sites."""
    made: list[Pair] = []

    def make(source: Site, destination: Site) -> Pair:
        made.append(Pair(source, destination, Watch(destination), stream_id))
        return made[-1]

    yield make
    for pair in made:
        pair.watch.close()


@pytest.fixture(params=PAIRS, ids=pair_name)
def pair(
    request: pytest.FixtureRequest, sites: Sites, pair_of: Callable[[Site, Site], Pair]
) -> Pair:
    """Each body runs for every pair of makes."""
    source, destination = request.param
    return pair_of(sites.get(source, 1), sites.get(destination, 2))
