"""A recording that is copied from one archive to another, in a simulation where much goes wrong.

Somebody who wants the copy asks for it again and again until he is told that all is there.
Meanwhile a director parts the network, fills the disk of the copy and kills the archives, as the
seed decides. In the end the copy has to have the frames of its source, byte for byte.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.archive.protocol import RecordingSignal
from aerolog.testing import Simulation
from aerolog.testing.simulation import Pace, SimulationTimeoutError
from aerolog.transport.errors import ActiveArchiveError, AerologError, ArchiveError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

STREAM_ID = 7
CONTROL_PORT, LIVE_PORT = 8010, 8020
TERM_LENGTH = 65_536
HEADER_LENGTH = 32
PATIENCE_S = 60.0
ATTEMPTS = 60
FORGOTTEN_S = 10.5  # until the mark file of a killed archive is stale


class CopyWorld:
    """The simulation with its cast.

    Args:
        seed: of everything.
        loss: of datagrams.
        live: copy a stream that goes on, and join it.
        count: messages of the stream.
    """

    def __init__(self, seed: int, *, loss: float, live: bool, count: int) -> None:
        self.simulation = simulation = Simulation(seed, pace=Pace(stall_chance=0.0003))
        self.random = random.Random(f"copies {seed}")
        self.live, self.count = live, count
        self.source, self.home = simulation.host("source"), simulation.host("home")
        simulation.network.set_link(
            loss=loss, duplicate=loss / 2, delay_ns=100_000, jitter_ns=300_000
        )
        self.sent = 0
        self.outcomes: list[str] = []
        self.copy_id = -1
        self.watcher: Any = None
        self.publication: Any = None
        self.recorder: Any = None
        self.next_send_s = 0.0

    # -- the cast ---------------------------------------------------------------------------------

    def begin(self) -> None:
        """Drivers, archives, and a recording."""
        for host in (self.source, self.home):
            host.start_driver()
            self.start_archive(host)
        address = self.source.network.ipv4
        self.recorder = self.source.connect_archive()
        channel = "aeron:ipc?term-length=64k"
        if self.live:
            channel = (
                f"aeron:udp?control-mode=dynamic|control={address}:{LIVE_PORT}|fc=min|ssc=true"
                "|term-length=64k"
            )
        self.recorder.start_recording(channel, STREAM_ID)
        self.publication = self.source.connect().add_exclusive_publication(channel, STREAM_ID)
        self.run(lambda: self.recorder.list_recording(0) is not None)
        self.simulation.add_party("writer", self._write)
        if not self.live:
            self.finish_source()

    def start_archive(self, host: Any) -> None:
        """The archive of a host."""
        host.start_archive(
            control_channel=f"aeron:udp?endpoint={host.network.ipv4}:{CONTROL_PORT}",
            control_channel_enabled=True,
            replication_channel=f"aeron:udp?endpoint={host.network.ipv4}:0",
            control_response_channel=f"aeron:udp?endpoint={host.network.ipv4}:0",
            message_timeout=2.0,
            segment_file_length="128k",
        )

    def _write(self) -> int:
        now_s = self.simulation.now_s
        if self.sent >= self.count or now_s < self.next_send_s or self.publication.closed:
            return 0
        message = self.random.randbytes(1 + int(self.random.random() * 1500))
        if self.publication.offer(message) <= 0:
            return 0
        self.sent += 1
        if self.live:  # slow enough for the log to keep what a parted network delays
            self.next_send_s = now_s + 0.1
        return 1

    def finish_source(self) -> None:
        """Everything is sent and recorded, and the stream ends."""
        self.run(lambda: self.sent == self.count)
        position = self.publication.position
        self.run(lambda: self.recorder.max_recorded_position(0) == position)
        self.publication.close()
        self.run(lambda: self.recorder.stop_position(0) == position)

    def run(self, until: Callable[[], Any]) -> None:
        """Turn everybody until a condition holds."""
        self.simulation.run(until, PATIENCE_S)

    def pause(self, seconds: float) -> None:
        """Turn everybody for a while."""
        self.simulation.run(timeout=seconds)

    # -- who wants the copy -----------------------------------------------------------------------

    def copy(self, *, live: bool) -> None:
        """Ask until all is there; with a live stream until the copy has joined it."""
        wanted = RecordingSignal.MERGE if live else RecordingSignal.SYNC
        for _ in range(ATTEMPTS):
            if wanted in self._attempt(live=live):
                return
            self.pause(0.2 + self.random.random())
        raise AssertionError(f"never complete: {self.outcomes[-ATTEMPTS:]}")

    def _attempt(self, *, live: bool) -> list[RecordingSignal]:
        """One replication: the signals of it."""
        found: list[Any] = []
        try:
            watcher = self._watching()
            source = self.source.network.ipv4
            replication = watcher.replicate(
                0,
                f"aeron:udp?endpoint={source}:{CONTROL_PORT}",
                10,
                dst_recording_id=None if self.copy_id < 0 else self.copy_id,
                live_destination=(
                    f"aeron:udp?endpoint={self.home.network.ipv4}:0|control={source}:{LIVE_PORT}"
                    if live
                    else None
                ),
            )

            def ended() -> bool:
                watcher.poll()
                found.extend(watcher.poll_signals(correlation_id=replication))
                for signal in found:
                    if signal.signal is RecordingSignal.REPLICATE:
                        self.copy_id = signal.recording_id
                return watcher.is_disconnected or any(
                    signal.signal is RecordingSignal.REPLICATE_END for signal in found
                )

            self.run(ended)
            self.outcomes.append(" ".join(signal.signal.name for signal in found))
        except SimulationTimeoutError:
            raise
        except ArchiveError as error:
            self.outcomes.append(error.message)
        except AerologError as error:
            self.outcomes.append(type(error).__name__)
            self._look_away()
        return [signal.signal for signal in found]

    def _watching(self) -> Any:
        if self.watcher is not None and self.watcher.is_disconnected:
            self._look_away()
        if self.watcher is None:
            self.watcher = self.home.connect_archive(message_timeout=3.0)
        return self.watcher

    def _look_away(self) -> None:
        watcher, self.watcher = self.watcher, None
        if watcher is not None:
            client = watcher.aeron
            watcher.close()
            self.home.disconnect(client)

    def is_recording(self) -> bool:
        """Whether the archive of the copy records it."""
        archive = self.home.archive
        return archive is not None and bool(archive._conductor.recordings.sessions)

    # -- what may go wrong ------------------------------------------------------------------------

    def harm(self, harms: int) -> None:
        """Let a director do harm, as the seed decides, beside all that goes on."""
        script = self._script(harms)

        def turn() -> int:
            if next(script, None) is None:
                self.simulation.remove_party(party)
                self.is_harmed = False
            return 0

        self.is_harmed = True
        party = self.simulation.add_party("director", turn)

    def _script(self, harms: int) -> Generator[bool, None, None]:
        kinds = ["network", "space", "home"] + ([] if self.live else ["source"])
        for _ in range(harms):
            yield from self._wait(self.random.random() * 1.5)
            kind = self.random.choice(kinds)
            self.simulation.note(f"harm: {kind}")
            if kind == "network":
                yield from self._part()
            elif kind == "space":
                yield from self._fill()
            else:
                yield from self._kill(self.home if kind == "home" else self.source)

    def _part(self) -> Generator[bool, None, None]:
        self.simulation.network.partition(
            self.source.network, self.home.network, both_ways=self.random.random() < 0.5
        )
        yield from self._wait(self.random.random() * 4)
        self.simulation.network.heal()

    def _fill(self) -> Generator[bool, None, None]:
        self.home.disk.fill_up(int(self.random.random() * 300_000))
        yield from self._wait(self.random.random() * 3)
        self.home.disk.fill_up(1 << 40)

    def _kill(self, host: Any) -> Generator[bool, None, None]:
        host.kill_archive()
        yield from self._wait(FORGOTTEN_S + self.random.random())
        while host.archive is None:
            try:
                self.start_archive(host)
            except ActiveArchiveError:
                yield from self._wait(1.0)

    def _wait(self, seconds: float) -> Generator[bool, None, None]:
        end_s = self.simulation.now_s + seconds
        while self.simulation.now_s < end_s:
            yield True

    # -- what has to come of it -------------------------------------------------------------------

    def check_copy(self) -> None:
        """The copy has the frames of its source."""
        descriptors = [
            host.archive._context.catalog.descriptor(number)
            for host, number in ((self.source, 0), (self.home, self.copy_id))
        ]
        source, copy = descriptors
        assert (copy.start_position, copy.stop_position) == (0, source.stop_position)
        assert copy.stream_id == source.stream_id
        assert copy.original_channel == source.original_channel
        theirs, ours = (
            frames(host, number, source.stop_position, source.segment_file_length)
            for host, number in ((self.source, 0), (self.home, self.copy_id))
        )
        assert len(theirs) >= self.count
        assert ours == theirs

    def close(self) -> None:
        """End of the simulation."""
        self.simulation.close()


def frames(host: Any, recording_id: int, stop: int, segment_length: int) -> list[bytes]:
    """Every frame on disk, without session ids; a padding frame is its header."""
    found, position, held, base = [], 0, b"", -1
    while position < stop:
        if position // segment_length * segment_length != base:
            base = position // segment_length * segment_length
            held = host.disk.read_bytes(f"{host.archive_dir}/{recording_id}-{base}.rec")
        at = position - base
        length = int.from_bytes(held[at : at + 4], "little")
        assert 0 < length <= TERM_LENGTH, f"frame of {length} bytes at {position}"
        is_padding = held[at + 6 : at + 8] == b"\0\0"
        frame = held[at : at + (HEADER_LENGTH if is_padding else length)]
        found.append(frame[:12] + frame[16:])
        position += (length + 31) & ~31
    assert position == stop
    return found


@pytest.fixture
def make_world():
    """``make_world(seed, ...)`` makes a world and begins it."""
    made: list[CopyWorld] = []

    def make(seed: int, **options: Any) -> CopyWorld:
        world = CopyWorld(seed, **options)
        made.append(world)
        world.begin()
        return world

    yield make
    for world in made:
        world.close()
