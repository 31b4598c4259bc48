"""``kill -9``, round after round on one folder, in the middle of recordings and of requests."""

from __future__ import annotations

import random
import re
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from crash_ledger import Truth, check_catalog, check_segments, check_times
from crash_steps import TERM, Stage
from peer.tools import archive_tool

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.testing.streams import StreamCheckError
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crash_ledger import Outcome

    from aerolog.archive.client import AeronArchive
    from aerolog.archive.format.descriptor import RecordingDescriptor

pytestmark = [pytest.mark.error_log(""), pytest.mark.processes_end]


WAIT_S = 60.0
STREAMS = 2
ENOUGH = 1_500_000  # bytes of a stream in a round
RECORDINGS_MAX = 14
MOVING_S = 0.01  # about as long as it takes to move segments
LENGTHS = (8, 40, 200, 1000, 1376, 3000, 6000)

SETTINGS = {
    "dedicated": {"aeron.archive.threading.mode": "DEDICATED"},
    "shared-crc32c": {
        "aeron.archive.threading.mode": "SHARED",
        "aeron.archive.record.checksum": "CRC-32C",
    },
    "dedicated-data-synced": {
        "aeron.archive.threading.mode": "DEDICATED",
        "aeron.archive.file.sync.level": "1",
        "aeron.archive.catalog.file.sync.level": "1",
    },
    "shared-all-synced-crc32": {
        "aeron.archive.threading.mode": "SHARED",
        "aeron.archive.file.sync.level": "2",
        "aeron.archive.catalog.file.sync.level": "2",
        "aeron.archive.record.checksum": "CRC-32",
    },
}
COMMON = {
    "aeron.archive.segment.file.length": "65536",
    "aeron.archive.catalog.capacity": "512",
    # For so long the streams of a killed archive hold up who publishes on them.
    "aeron.client.liveness.timeout": "6s",
}


class KilledError(Exception):
    """The archive is dead: what was under way is not going to be answered."""


@dataclass(slots=True)
class LiveStage(Stage):
    """A stage on a running archive that is going to be killed."""

    killed: threading.Event = field(default_factory=threading.Event, kw_only=True)
    is_moving: threading.Event = field(default_factory=threading.Event, kw_only=True)
    stream_id: int = field(default=0, kw_only=True)

    def wait(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not condition():
            self.turn()
            assert time.monotonic() < deadline, f"{self.step_name} takes too long"

    def turn(self) -> None:
        if self.killed.wait(0.001):
            raise KilledError


class Publisher(threading.Thread):
    """Sends to a recording until it is stopped."""

    def __init__(self, publication: Any, truth: Truth, seed: int) -> None:
        super().__init__(daemon=True)
        self.publication = publication
        self.log = truth.log
        self.random = random.Random(seed)
        self.stopped = threading.Event()
        self.start()

    def run(self) -> None:
        while not self.stopped.wait(0.0005) and self.log.position < ENOUGH:
            message = self.random.randbytes(self.random.choice(LENGTHS))
            self.log.add(message)
            while self.publication.offer(message) <= 0 and not self.stopped.is_set():
                time.sleep(0.001)

    def stop(self) -> None:
        self.stopped.set()
        self.join(WAIT_S)
        assert not self.is_alive()


class Requester(threading.Thread):
    """Makes requests about stopped recordings until the archive is killed."""

    def __init__(self, stage: LiveStage) -> None:
        super().__init__(daemon=True)
        self.stage = stage
        self.made: list[str] = []
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            while True:
                self.stage.turn()
                self._make_one()
                self.made.append(self.stage.step_name.removeprefix("after "))
        except KilledError:
            pass
        except AerologError as error:
            if not self.stage.killed.is_set():
                self.error = error
        except BaseException as error:
            self.error = error
            raise

    def _make_one(self) -> None:
        stage, chance = self.stage, self.stage.random
        stopped = [i for i, truth in stage.truths.items() if truth.stop is not None]
        if not stopped:
            return
        recording_id = chance.choice(stopped)
        truth = stage.truths[recording_id]
        bases = range(truth.start - truth.start % TERM + TERM, truth.stop or 0, TERM)
        wish = chance.randrange(8)
        if wish == 0 and len(stopped) > RECORDINGS_MAX // 2:
            stage.purge(recording_id)
        elif wish == 1:
            channel = f"aeron:ipc?alias={'c' * chance.randrange(200)}"
            stage.update_channel(recording_id, channel)
        elif wish == 2 and bases:
            stage.purge_segments(recording_id, chance.choice(bases))
        elif wish == 3 and bases:
            self._detach(recording_id, chance.choice(bases))
        elif wish == 4 and bases and not truth.detached:
            stage.truncate(recording_id, chance.choice(bases))
            new_id = stage.record_behind(recording_id)
            stage.migrate(new_id, recording_id)
        elif wish == 5 and truth.log.ends:
            inside = [end for end in truth.log.ends if truth.start <= end]
            stage.truncate(recording_id, chance.choice([truth.start, *inside]))
        else:
            stage.extend(recording_id, chance.randrange(1, 2 * TERM))

    def _detach(self, recording_id: int, start: int) -> None:
        stage = self.stage
        truth = stage.truths[recording_id]
        if truth.detached:
            stage.delete_detached(recording_id)
            return
        before = truth.start
        stage.detach(recording_id, start)
        if stage.random.random() < 0.5 and before % TERM == 0:
            stage.attach(recording_id, *range(start - TERM, before - 1, -TERM))


class Rounds:
    """Kills an archive again and again; what it recorded is compared after each restart."""

    def __init__(self, crashing: Any, name: str) -> None:
        self.crashing = crashing
        self.name = name
        self.checksum = SETTINGS[name].get("aeron.archive.record.checksum")
        self.truths: dict[int, Truth] = {}
        self.made: list[str] = []
        self.stream_id = 1000
        self.restarts = 0

    def play(self, number: int) -> None:
        """One round."""
        seed = f"{self.name} {number}"
        chance = random.Random(seed)
        with self.crashing.connect() as archive:
            stage = self._stage(archive, chance)
            requester = self._kill_in_between(stage, chance)
            progress = stage.progress()
            for publication in stage.opened:
                publication.close()
        if requester.error is not None:
            raise requester.error
        self.made += [*requester.made, stage.step_name]
        self.crashing.restart()
        self.restarts += 1
        try:
            with self.crashing.connect() as archive:
                self._compare(archive, progress)
        except StreamCheckError as error:
            raise AssertionError(
                f"round {number} of {self.name}, killed in '{progress.step}' after"
                f" {requester.made}: {error}"
            ) from error

    def _kill_in_between(self, stage: LiveStage, chance: random.Random) -> Requester:
        """Record and make requests, and kill the archive meanwhile."""
        publishers = []
        for _ in range(STREAMS):
            self.stream_id += 1
            recording_id, publication = stage.record(self.stream_id)
            truth = stage.truths[recording_id]
            publishers.append(Publisher(publication, truth, chance.getrandbits(32)))
            watched = truth
        requester = Requester(stage)
        target = chance.randrange(1, 500_000)
        wanted = chance.randrange(1, 5) if len(stage.truths) > STREAMS else 0
        stage.wait(
            lambda: (
                watched.floor() >= target
                and (len(requester.made) >= wanted or not requester.is_alive())
            )
        )
        self._kill(stage, requester, publishers)
        return requester

    def _kill(
        self, stage: LiveStage, requester: Requester, publishers: Sequence[Publisher] = ()
    ) -> None:
        stage.killed.set()
        self.crashing.kill()
        for truth in list(stage.truths.values()):
            truth.floor()  # as long as the counters are there
        for publisher in publishers:
            publisher.stop()
        requester.join(WAIT_S)
        assert not requester.is_alive()

    def _stage(self, archive: AeronArchive, chance: random.Random) -> LiveStage:
        with CatalogReader.open(self.crashing.archive_dir) as catalog:
            next_id = catalog.next_recording_id
        stage = LiveStage(archive, chance, self.checksum, dict(self.truths))
        stage.next_id = next_id
        return stage

    def _compare(self, archive: AeronArchive, progress: Any) -> None:
        found = list(archive.recordings())
        matched = check_catalog(found, progress.allowed)
        for ids in {tuple(sorted(outcomes)) for outcomes in progress.together}:
            if {i: matched[i] for i in ids} not in progress.together:
                raise StreamCheckError(f"recordings {ids} do not go together")
        self._check_folder(found, matched)
        check_times(str(self.crashing.archive_dir), RealFileSystem(), found, matched)
        for descriptor in found:
            if self.truths.get(descriptor.recording_id) is None or descriptor.recording_id % 3 == 0:
                check_replay(archive, descriptor, matched[descriptor.recording_id])
        self.truths = {
            descriptor.recording_id: truth_of(descriptor, matched[descriptor.recording_id])
            for descriptor in found
        }

    def _check_folder(self, found: list[RecordingDescriptor], matched: dict[int, Outcome]) -> None:
        folder = self.crashing.archive_dir
        names = sorted(path.name for path in folder.iterdir())
        check_segments(names, lambda name: (folder / name).read_bytes(), found, matched)


class Migrator(Requester):
    """Moves all of a recording to another one, and back to a third, until the archive is killed."""

    def _make_one(self) -> None:
        stage = self.stage
        stage.stream_id += 1
        first, publication = stage.record(stage.stream_id)
        stage.grow(first, publication, 3 * TERM)
        stage.stop(first, publication)
        stage.truncate(first, 2 * TERM)
        second = stage.record_behind(first)
        stage.is_moving.set()
        source, target = stage.random.sample((first, second), 2)
        stage.migrate(source, target)
        stage.extend(target, 1000)


class Migrations(Rounds):
    """Kills an archive while segments move."""

    def _kill_in_between(self, stage: LiveStage, chance: random.Random) -> Requester:
        stage.stream_id = self.stream_id
        requester = Migrator(stage)
        assert stage.is_moving.wait(WAIT_S)
        stage.killed.wait(chance.random() * MOVING_S)
        self._kill(stage, requester)
        self.stream_id = stage.stream_id
        return requester


def check_replay(archive: AeronArchive, descriptor: RecordingDescriptor, outcome: Outcome) -> None:
    """A replay gives the messages that were recorded."""
    start, stop = descriptor.start_position, descriptor.stop_position
    expected = outcome.log.messages_between(start, stop)
    replayed = [(m.position, m.data) for m in archive.read(descriptor.recording_id)]
    if replayed != expected:
        raise StreamCheckError(
            f"recording {descriptor.recording_id} replays {len(replayed)} messages,"
            f" {len(expected)} were recorded"
        )


def truth_of(descriptor: RecordingDescriptor, outcome: Outcome) -> Truth:
    """What a recording is from now on, whatever it may have been."""
    log = outcome.log.cut(descriptor.stop_position)
    return Truth(
        log,
        descriptor.start_position,
        descriptor.stop_position,
        detached=outcome.detached,
        channel=descriptor.original_channel,
    )


def check_by_reference(rounds: Rounds) -> None:
    """The reference's tool finds nothing wrong, and changes nothing.

    A recording that was truncated to a segment boundary has no file there, as with the reference,
    whose tool then calls it faulty all the same.
    """
    arguments = ["verify", "-a"]
    if rounds.checksum:
        arguments += ["-checksum", rounds.checksum]
    output = archive_tool(
        rounds.crashing.archive_dir, *arguments, stdin="n\n" * 50, timeout=90, check=False
    )
    wrong = []
    for line in output.splitlines():
        found = re.match(r"\(recordingId=(\d+)[,)].* ERR: (.*)", line)
        if found is None:
            continue
        truth = rounds.truths.get(int(found[1]))
        at_boundary = truth is not None and truth.stop is not None and truth.stop % TERM == 0
        if not (at_boundary and "exceed max segment file position" in found[2]):
            wrong.append(line)
    assert not wrong, output
    assert output.count(") OK") + output.count("exceed max segment") >= len(rounds.truths), output
    with CatalogReader.open(rounds.crashing.archive_dir) as catalog:
        for entry in catalog.entries():
            truth = rounds.truths.get(entry.descriptor.recording_id)
            if truth is not None:
                assert entry.descriptor.stop_position == truth.stop


def play(crashing: Any, name: str, count: int, kind: type[Rounds] = Rounds) -> Rounds:
    """So many rounds, and what the reference says at the end."""
    rounds = kind(crashing, name)
    for number in range(count):
        try:
            rounds.play(number)
        except AerologError as error:
            server = crashing.archive.process
            raise AssertionError(
                f"round {number} of {name}: {error}; the archive runs: {server.running},"
                f" it says: {server.log()}"
            ) from error
    assert rounds.restarts == count
    assert crashing.archive.process.stop() == 0
    check_by_reference(rounds)
    crashing.restart()
    return rounds


def settings(*names: str) -> list[Any]:
    """Parameters of the ``crashing`` fixture and of a test."""
    return [pytest.param({**COMMON, **SETTINGS[name]}, name, id=name) for name in names]


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("crashing", "name"), settings(*SETTINGS), indirect=["crashing"])
def test_recordings_and_requests_survive_kills(crashing: Any, name: str) -> None:
    rounds = play(crashing, name, 6)
    assert len(rounds.truths) >= STREAMS
    assert len(rounds.made) > 6


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("crashing", "name"), settings("dedicated"), indirect=["crashing"])
def test_segments_and_their_times_survive_kills_while_they_move(crashing: Any, name: str) -> None:
    """Segments are on their way at each kill, whether or not an answer comes before it."""
    rounds = play(crashing, name, 8, Migrations)
    assert rounds.truths


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("crashing", "name"), settings(*SETTINGS), indirect=["crashing"])
def test_recordings_and_requests_survive_many_kills(crashing: Any, name: str) -> None:
    assert play(crashing, name, 75).restarts == 75
