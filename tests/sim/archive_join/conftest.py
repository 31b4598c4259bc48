"""A recorded stream that somebody follows, in a simulation, with everything that may go wrong.

A writer sends numbered messages of random lengths; the follower checks that each comes once and in
order. A director lets the live stream drop, the network fail, the publisher end and begin anew, and
the archive be killed, as the seed decides; at the end all of it is over and everything must arrive.
"""

from __future__ import annotations

import random
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.archive.client import FROM_START, PersistentSubscription
from aerolog.testing import Simulation
from aerolog.testing.simulation import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

STREAM_ID = 7
TAG = 77
CONTROL_PORT, LIVE_PORT = 8010, 4000
TERM_LENGTH = 65536
LONGEST = 4000
PATIENCE_S = 120.0
HARMS = ("live", "network", "publisher", "archive", "reader", "writer")


def numbered(number: int, body: bytes) -> bytes:
    """A message with its number and a checksum."""
    head = number.to_bytes(8, "little")
    return head + zlib.crc32(body, zlib.crc32(head)).to_bytes(4, "little") + body


def number_of(data: bytes) -> int:
    """The number of a message, whose checksum must be right."""
    head, checksum, body = data[:8], data[8:12], data[12:]
    assert zlib.crc32(body, zlib.crc32(head)).to_bytes(4, "little") == checksum
    return int.from_bytes(head, "little")


class JoinWorld:
    """The simulation with its cast.

    Args:
        seed: of everything.
        medium: ``udp`` with two hosts, ``ipc`` or ``spy`` with one.
        loss: of datagrams.
        count: messages to send.
        body_length: of every message; random when None.
    """

    def __init__(
        self,
        seed: int,
        medium: str,
        *,
        loss: float = 0.0,
        count: int = 1200,
        body_length: int | None = None,
    ) -> None:
        self.seed, self.medium, self.count = seed, medium, count
        self._body_length = body_length
        self.simulation = simulation = Simulation(seed, pace=Pace(stall_chance=0.0005))
        self.random = random.Random(f"join {seed}")
        self.source = simulation.host("source")
        self.home = simulation.host("home") if medium == "udp" else self.source
        simulation.network.set_link(loss=loss, delay_ns=100_000, jitter_ns=200_000)
        self.sent = 0
        self.received = 0
        self.writing = True
        self.session: Any = None
        self.publication: Any = None
        self.publisher: Any = None
        self._destination: Any = None
        self.recording_id = -1
        self.live_address = f"{self.home.network.ipv4}:{LIVE_PORT}"
        self.control = f"aeron:udp?endpoint={self.source.network.ipv4}:{CONTROL_PORT}"
        self.channel = {
            "udp": f"aeron:udp?control-mode=manual|tags={TAG}|term-length=64k|ssc=true",
            "ipc": "aeron:ipc?term-length=64k",
            "spy": f"aeron:udp?endpoint={self.live_address}|term-length=64k|ssc=true",
        }[medium]
        self.recorded = {"udp": f"aeron:udp?tags={TAG}"}.get(medium, self.channel)
        self.live_channel = {
            "udp": f"aeron:udp?endpoint={self.live_address}",
            "ipc": "aeron:ipc",
            "spy": f"aeron-spy:aeron:udp?endpoint={self.live_address}",
        }[medium]

    # -- the cast --------------------------------------------------------------------------------

    def begin(self) -> None:
        """Drivers, archive, a publisher whose stream is recorded."""
        for host in {self.source.name: self.source, self.home.name: self.home}.values():
            host.start_driver()
        self.start_archive()
        self.session.start_recording(self.recorded, STREAM_ID, auto_stop=True)
        self.publisher = self.source.connect()
        self.publish(self.channel)
        self.connect_live()
        self.simulation.run(self._find_recording)
        self.simulation.add_party("writer", self._write)

    def start_archive(self) -> None:
        """The archive, and a session with it."""
        self.source.start_archive(
            control_channel=self.control, control_channel_enabled=True, segment_file_length="128k"
        )
        self.session = self.source.connect_archive()

    def _find_recording(self) -> bool:
        for recording in self.session.recordings():
            self.recording_id = recording.recording_id
        return self.recording_id >= 0

    def publish(self, channel: str) -> None:
        """A new publication of the stream."""
        self.publication = self.publisher.add_exclusive_publication(channel, STREAM_ID)

    def connect_live(self) -> None:
        """Let the live stream come to the follower."""
        if self.medium == "udp":
            self._destination = self.publication.add_destination(
                f"aeron:udp?endpoint={self.live_address}"
            )

    def disconnect_live(self) -> None:
        """Let it come no more."""
        if self.medium == "udp":
            self._destination.remove()

    def follow(self, start_position: int = FROM_START, **changes: Any) -> PersistentSubscription:
        """A persistent subscription at home."""
        udp = self.medium == "udp"
        address = f"aeron:udp?endpoint={self.home.network.ipv4}:0"
        arguments = {
            "recording_id": self.recording_id,
            "start_position": start_position,
            "live_channel": self.live_channel,
            "live_stream_id": STREAM_ID,
            "replay_channel": address if udp else "aeron:ipc",
            "request_channel": self.control if udp else "aeron:ipc",
            "response_channel": address if udp else "aeron:ipc",
            "message_timeout": 4.0,
            "clock": self.simulation.clock,
            **changes,
        }
        return PersistentSubscription(self.home.connect(), **arguments)

    def read_with(self, poll: Callable[[int], list[Any]]) -> Any:
        """A party that takes messages and checks them."""

        def read() -> int:
            messages = poll(1 + int(self.random.random() * 40))
            for message in messages:
                number = number_of(message.data)
                assert number == self.received, f"{number} came when {self.received} was due"
                self.received += 1
            return len(messages)

        return self.simulation.add_party("reader", read)

    def _write(self) -> int:
        if not self.writing or self.sent >= self.count or self.publication.closed:
            return 0
        length = self._body_length
        if length is None:
            longest = 200 if self.random.random() < 0.8 else LONGEST
            length = int(self.random.random() * longest)
        message = numbered(self.sent, self.random.randbytes(length))
        if self.publication.offer(message) <= 0:
            return 0
        self.sent += 1
        return 1

    # -- what may go wrong -----------------------------------------------------------------------

    def direct(self, harms: int) -> None:
        """Harm as the seed decides, one thing after another, until all of it is over."""
        script = self._script(harms)
        done = []

        def turn() -> int:
            if next(script, None) is None:
                done.append(True)
                self.simulation.remove_party(party)
            return 0

        party = self.simulation.add_party("director", turn)
        self.run(lambda: done)

    def run(self, until: Callable[[], Any]) -> None:
        """Turn everybody until a condition holds."""
        self.simulation.run(until, PATIENCE_S)

    def finish(self) -> None:
        """Everything that was sent, and what is left to send, arrives."""
        self.run(lambda: self.received == self.count)

    def _script(self, harms: int) -> Generator[bool, None, None]:
        for _ in range(harms):
            yield from self._pause(self.random.random() * 1.5)
            harm = self.random.choice(HARMS)
            self.simulation.note(f"harm: {harm}")
            yield from getattr(self, f"_harm_{harm}")()

    def _pause(self, seconds: float) -> Generator[bool, None, None]:
        end = self.simulation.now_s + seconds
        while self.simulation.now_s < end:
            yield True

    def _until(self, condition: Callable[[], Any]) -> Generator[bool, None, None]:
        while not condition():
            yield True

    def _harm_live(self) -> Generator[bool, None, None]:
        self.disconnect_live()
        yield from self._pause(self.random.random() * 6)
        self.connect_live()

    def _harm_network(self) -> Generator[bool, None, None]:
        if self.medium == "udp":
            both_ways = self.random.random() < 0.5
            self.simulation.network.partition(
                self.source.network, self.home.network, both_ways=both_ways
            )
            yield from self._pause(self.random.random() * 5)
            self.simulation.network.heal()

    def _harm_writer(self) -> Generator[bool, None, None]:
        self.writing = False
        yield from self._pause(self.random.random() * 2)
        self.writing = True

    def _harm_reader(self) -> Generator[bool, None, None]:
        for party in self.simulation.parties:
            if party.name == "reader":
                self.simulation.stall(party, int(self.random.random() * 1.5e9))
        yield True

    def _harm_publisher(self) -> Generator[bool, None, None]:
        """The publisher ends; another one goes on where the recording stopped."""
        yield from self._end_publication()
        yield from self._pause(self.random.random() * 2)
        self._extend()

    def _harm_archive(self) -> Generator[bool, None, None]:
        """The archive is killed when it has recorded everything, and comes back."""
        yield from self._end_publication(stopped=False)
        self.source.kill_archive()
        self.source.kill_client(self.session.aeron)
        yield from self._pause(10.5 + self.random.random() * 3)  # until its mark file is stale
        self.start_archive()
        self._extend()

    def _end_publication(self, *, stopped: bool = True) -> Generator[bool, None, None]:
        self.writing = False
        position = self.publication.position
        yield from self._until(
            lambda: self.session.max_recorded_position(self.recording_id) == position
        )
        self.publication.close()
        if stopped:
            yield from self._until(
                lambda: self.session.stop_position(self.recording_id) == position
            )

    def _extend(self) -> None:
        recording = self.session.list_recording(self.recording_id)
        self.publish(
            f"{self.channel}|init-term-id={recording.initial_term_id}"
            f"|term-id={recording.initial_term_id + recording.stop_position // TERM_LENGTH}"
            f"|term-offset={recording.stop_position % TERM_LENGTH}"
        )
        self.session.extend_recording(self.recording_id, self.recorded, STREAM_ID, auto_stop=True)
        self.connect_live()
        self.writing = True

    def close(self) -> None:
        """End of the simulation."""
        self.simulation.close()


@pytest.fixture
def make_world():
    """``make_world(seed, medium, ...)`` makes a world and begins it."""
    made: list[JoinWorld] = []

    def make(seed: int, medium: str, **options: Any) -> JoinWorld:
        world = JoinWorld(seed, medium, **options)
        made.append(world)
        world.begin()
        return world

    yield make
    for world in made:
        world.close()
