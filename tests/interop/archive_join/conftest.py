"""Joining replay and live: a stream that is recorded at one place and followed at another."""

from __future__ import annotations

import random
import shutil
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from peer.servers import Server, ServerSpec, start
from peer.streams import Receipt, checked_message, free_port
from shared_memory import memory_path
from waits import wait_until

from aerolog.archive.client import (
    FROM_START,
    AeronArchive,
    PersistentSubscription,
    SourceLocation,
)
from aerolog.transport.client import Aeron
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOST = "127.0.0.1"
LONGEST = 3000
PROPERTIES = {
    "aeron.archive.control.channel.enabled": "true",
    "aeron.publication.linger.timeout": "200ms",
    "aeron.archive.replay.linger.timeout": "200ms",
    "aeron.image.liveness.timeout": "3s",
    "aeron.spies.simulate.connection": "true",
    "aeron.archive.segment.file.length": "256k",
}
LOCALLY = dict.fromkeys(
    ("live_channel", "replay_channel", "request_channel", "response_channel"), "aeron:ipc"
)
HISTORY = 3000
PATIENCE_S = 60.0
LOSS = "rate=0.05|seed=5"


class Feeder:
    """Publishes checked messages of random lengths on a thread, a few thousand a second."""

    def __init__(self, publication: Any, first: int = 0) -> None:
        self.publication = publication
        self.sent = first
        self._source = random.Random(f"feeder {first}")
        self._goal = first
        self._wake = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended:
            if self.sent >= self._goal:
                with self._wake:
                    self._wake.wait(0.01)
                continue
            length = self._source.randint(12, 200 if self.sent % 50 else LONGEST)
            message = checked_message(self.sent, length, self._source)
            while not self._ended and self.publication.offer(message) <= 0:
                time.sleep(0.0005)
            self.sent += 1
            if self.sent % 4 == 0:
                time.sleep(0.0005)

    def feed(self, count: int) -> int:
        """Send so many more in the background; the number of the last one."""
        self._goal += count
        with self._wake:
            self._wake.notify()
        return self._goal - 1

    def finish(self, timeout: float = 30.0) -> None:
        """Wait until everything is sent."""
        wait_until(lambda: self.sent >= self._goal, "everything to be sent", timeout)

    def end(self) -> None:
        """Send no more."""
        self._ended = True
        self._thread.join(10)


class Line:
    """A recorded stream: its publisher and archive, and a driver elsewhere for who follows it.

    Attributes:
        server: archive, its driver and the publisher's.
        elsewhere: the follower's driver.
        control: where the archive listens.
        live_port: where the live stream comes to on the follower's host.
    """

    def __init__(self, server: Server, elsewhere: Server, control: str, stream_id: int) -> None:
        self.server = server
        self.elsewhere = elsewhere
        self.control = control
        self.responses = f"aeron:udp?endpoint={HOST}:0"
        self.stream_id = stream_id
        self.live_port = free_port()
        self.live_channel = f"aeron:udp?endpoint={HOST}:{self.live_port}"
        self.aeron = Aeron(server.aeron_dir)
        self.archive = AeronArchive(self.aeron)
        tag = 10_000 + stream_id
        self.channel = f"aeron:udp?control-mode=manual|tags={tag}|term-length=64k|ssc=true"
        self.recorded_channel = f"aeron:udp?tags={tag}"
        self.publication: Any = None
        self.feeder: Feeder
        self.recording_id = -1
        self._destination: Any = None

    def publish(self, channel: str | None = None, *, first: int = 0) -> None:
        """Publish and record; the live stream goes nowhere yet."""
        self.publication = self.aeron.add_exclusive_publication(
            channel or self.channel, self.stream_id
        )
        if channel is None and self.recording_id < 0:
            self.archive.start_recording(
                self.recorded_channel, self.stream_id, SourceLocation.LOCAL, auto_stop=True
            )
        self.feeder = Feeder(self.publication, first)
        if self.recording_id < 0:
            self.recording_id = self.find_recording()

    def find_recording(self) -> int:
        """Id of the recording of the stream, which begins with its publication."""

        def find() -> int | None:
            found = list(self.archive.recordings(stream_id=self.stream_id))
            return found[-1].recording_id + 1 if found else None

        return wait_until(find, "the recording to begin") - 1

    def connect_live(self) -> None:
        """Send the live stream to the follower."""
        self._destination = self.publication.add_destination(self.live_channel)

    def disconnect_live(self) -> None:
        """Send it nowhere any more; the recording goes on."""
        self._destination.remove()

    def restart(self) -> None:
        """End the publication; another one goes on where the recording has stopped."""
        self.feeder.finish()
        self.feeder.end()
        position = self.publication.position
        self.publication.close()
        wait_until(
            lambda: self.archive.stop_position(self.recording_id) == position,
            "the recording to stop",
        )
        self.extend()

    def extend(self) -> None:
        """Go on with a new publication where the recording has stopped."""
        recording = self.archive.list_recording(self.recording_id)
        channel = ChannelUri.parse(self.channel).with_position(
            recording.stop_position, recording.initial_term_id, recording.term_buffer_length
        )
        self.archive.extend_recording(
            self.recording_id,
            self.recorded_channel,
            self.stream_id,
            SourceLocation.LOCAL,
            auto_stop=True,
        )
        self.publish(str(channel), first=self.feeder.sent)

    def wait_recorded(self) -> int:
        """Until everything sent is recorded; the position."""
        self.feeder.finish()
        position = self.publication.position
        wait_until(
            lambda: self.archive.max_recorded_position(self.recording_id) == position,
            "everything to be recorded",
        )
        return position

    def close(self) -> None:
        """End publisher and session."""
        if self.publication is not None:
            self.feeder.end()
        self.archive.close()
        self.aeron.close()


class Told:
    """A text that is made when it is needed."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make

    def __str__(self) -> str:
        return self._make()


class Follower:
    """A persistent subscription elsewhere, and a check of all that it delivers."""

    def __init__(self, line: Line, start_position: int = FROM_START, **changes: Any) -> None:
        local = changes.pop("local", False)
        self.aeron = Aeron(line.server.aeron_dir if local else line.elsewhere.aeron_dir)
        arguments = {
            "recording_id": line.recording_id,
            "start_position": start_position,
            "live_channel": line.live_channel,
            "live_stream_id": line.stream_id,
            "replay_channel": f"aeron:udp?endpoint={HOST}:0",
            "request_channel": line.control,
            "response_channel": line.responses,
            "message_timeout": 10.0,
            **(LOCALLY if local else {}),
            **changes,
        }
        self.stream = PersistentSubscription(self.aeron, **arguments)
        self.receipt = Receipt(self.stream, 0 if start_position == FROM_START else None)
        self.events: list[Any] = []
        self.states: list[str] = []

    def turn(self) -> None:
        self.receipt.poll()
        self.events += self.stream.take_events()
        if self.stream.state.name not in self.states[-1:]:
            self.states.append(self.stream.state.name)

    def until(self, condition: Callable[[], Any], what: str) -> None:
        def holds() -> bool:
            self.turn()
            return bool(condition())

        wait_until(holds, Told(lambda: f"{what}: {self.stream!r} {self.events}"), PATIENCE_S)

    def until_live(self) -> None:
        self.until(lambda: self.stream.is_live, "live")

    def until_received(self, last: int) -> None:
        self.until(lambda: (self.receipt.next_number or 0) > last, f"message {last}")

    def kinds(self) -> list[type]:
        return [type(event) for event in self.events]

    def close(self) -> None:
        self.stream.close()
        self.aeron.close()


@pytest.fixture(scope="module")
def join_servers(reference: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable]:
    """``join_servers(make, kind, loss)`` is a server that lives as long as a file's tests."""
    known: dict[tuple[str, str, str], tuple[Server, str]] = {}
    folders: list[Path] = []

    def get(make: str, kind: str, loss: str = "") -> tuple[Server, str]:
        key = (make, kind, loss)
        if key not in known or not known[key][0].process.running:
            control = f"aeron:udp?endpoint={HOST}:{free_port()}"
            more = {"aeron.archive.control.channel": control} if kind != "driver" else {}
            if loss:
                more |= {"aeron.rehearse.receive.data": loss, "aeron.rehearse.send.control": loss}
            folders.append(memory_path())
            root = tmp_path_factory.mktemp("join")
            folder = None if kind == "driver" else root / "archive"
            spec = ServerSpec(kind, folders[-1], folder, PROPERTIES | more)
            known[key] = start(make, spec), control
        return known[key]

    yield get
    codes = [(s.process.name, s.process.stop()) for s, _ in known.values() if s.process.running]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    assert all(code == 0 for _, code in codes), f"a server ended badly: {codes}"


# Whose archive (and its driver), whose driver the follower has, what befalls what comes there.
LINES = {
    "java-archive": ("reference", "reference", ""),
    "java-archive-our-lossy-driver": ("reference", "ours", LOSS),
    "our-archive": ("ours", "ours", ""),
    "our-archive-our-lossy-driver": ("ours", "ours", LOSS),
    "our-archive-java-driver": ("ours", "reference", ""),
}


@pytest.fixture
def make_line(join_servers: Callable, stream_id: int) -> Iterator[Callable[[str], Line]]:
    """``make_line(name)`` starts one of ``LINES``, with a stream of the test's own."""
    made: list[Line] = []

    def make(name: str) -> Line:
        archive_make, elsewhere, loss = LINES[name]
        server, control = join_servers(archive_make, "archiving-driver")
        made.append(Line(server, join_servers(elsewhere, "driver", loss)[0], control, stream_id))
        return made[-1]

    yield make
    for line in made:
        line.close()


@pytest.fixture
def join_properties() -> dict[str, str]:
    """What the servers of lines are told."""
    return dict(PROPERTIES)


@pytest.fixture
def make_line_on(join_servers: Callable, stream_id: int) -> Iterator[Callable[..., Line]]:
    """``make_line_on(driver, control)`` makes a line whose archive is the test's own."""
    made: list[Line] = []

    def make(server: Server, control: str) -> Line:
        made.append(Line(server, join_servers("ours", "driver", "")[0], control, stream_id))
        return made[-1]

    yield make
    for line in made:
        line.close()


@pytest.fixture(params=["java-archive", "our-archive"])
def plain_line(request: pytest.FixtureRequest, make_line: Callable[[str], Line]) -> Line:
    """Each test body runs on an archive of either make."""
    return make_line(request.param)


@pytest.fixture(params=list(LINES))
def line(request: pytest.FixtureRequest, make_line: Callable[[str], Line]) -> Line:
    """Each test body runs on every line."""
    return make_line(request.param)


@pytest.fixture
def follow() -> Iterator[Callable[..., Follower]]:
    made: list[Follower] = []

    def make(line: Line, *args: Any, **changes: Any) -> Follower:
        made.append(Follower(line, *args, **changes))
        return made[-1]

    yield make
    for follower in made:
        follower.close()


@pytest.fixture
def recorded_line(line: Line) -> Line:
    """With a recorded history and a publisher that is silent as yet."""
    line.publish()
    line.feeder.feed(HISTORY)
    line.wait_recorded()
    return line
