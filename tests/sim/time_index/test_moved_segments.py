"""Segments come, go and move to other recordings: what an index tells of them is true or unknown.

The model is a list of what is recorded: at which position each message stands, and when it was
sent. Another archive, which knows nothing of indexes, changes the folder too.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.protocol import RecordingSignal
from aerolog.archive.retention.folder_facts import look
from aerolog.archive.time_index import TimeIndex, index_path
from aerolog.archive.verification.recording_verification import verify_opened
from aerolog.testing import FakeFileSystem, Simulation
from aerolog.transport.errors import ArchiveError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from aerolog.archive.client import AeronArchive
    from aerolog.testing.hosts import SimulatedHost

MS = 1_000_000
SECOND = 1000 * MS
TERM = SEGMENT = 65536
STREAM_ID = 7
#: Blocks between two notes keep the clock of the earlier one: see docs/archive/time-index.md.
LEEWAY_NS = 10 * MS


@dataclass
class World:
    """A simulated archive, and what its recordings hold.

    Attributes:
        sent: time and position of each message of a recording, in the order of positions.
        exact: whether all of its times have to be known.
    """

    simulation: Simulation
    seed: int
    disk: FakeFileSystem = field(default_factory=FakeFileSystem)
    sent: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.host: SimulatedHost = self.simulation.host(disk=self.disk)

    def start(self) -> None:
        self.host.start_driver()
        self.host.start_archive(segment_file_length=SEGMENT)
        self.archive: AeronArchive = self.host.connect_archive()

    def restart(self, *, kill: bool = False, after_s: int = 20) -> None:
        if kill:
            self.host.kill()
        else:
            self.host.close()
        self.simulation.clock.advance_ns(after_s * SECOND)
        self.start()

    def begin(self, position: int = 0, extend: int | None = None) -> tuple[int, object]:
        """Begin a recording at a position, or go on with one."""
        channel = ChannelUri.parse(f"aeron:ipc?term-length=64k|alias=s{self.random.random()}")
        if position or extend is not None:
            channel = channel.with_position(position, initial_term_id=0, term_length=TERM)
        else:
            channel = channel.with_position(0, initial_term_id=0, term_length=TERM)
        publication = self.archive.aeron.add_exclusive_publication(channel, STREAM_ID)
        source = f"aeron:ipc?session-id={publication.session_id}"
        before = {one.recording_id for one in self.archive.recordings()}
        if extend is None:
            self.archive.start_recording(source, STREAM_ID)
        else:
            self.archive.extend_recording(extend, source, STREAM_ID)
        found: list[int] = []

        def begun() -> bool:
            found[:] = [
                one.recording_id
                for one in self.archive.recordings()
                if one.recording_id not in before or one.recording_id == extend
            ]
            return bool(found) and self.archive.recording_position(found[0]) is not None

        self.simulation.run(until=begun)
        self.sent.setdefault(found[0], [])
        return found[0], publication

    def send(self, recording_id: int, publication: object, segments: float) -> None:
        clock, archive = self.simulation.clock, self.archive
        end = publication.position + int(segments * SEGMENT)
        while publication.position < end:
            clock.advance_ns(self.random.choice((MS // 10, 3 * MS, 40 * MS)))
            now, begin = clock.now_epoch_ns(), publication.position
            payload = self.random.randbytes(8) + bytes(self.random.choice((50, 992, 3992)))
            fragments = payload if len(payload) <= 1376 else payload[:1300]
            self.simulation.run(until=lambda sent=fragments: publication.offer(sent) > 0)
            self.simulation.run(
                until=lambda: archive.recording_position(recording_id) == publication.position
            )
            length = (len(fragments) + 32 + 31) // 32 * 32
            self.sent[recording_id].append((now, publication.position - length))
            assert publication.position - length >= begin

    def end(self, recording_id: int, publication: object) -> None:
        publication.close()
        self.simulation.run(until=lambda: not self.archive.list_recording(recording_id).is_active)

    def record(self, segments: float, position: int = 0, extend: int | None = None) -> int:
        recording_id, publication = self.begin(position, extend)
        self.send(recording_id, publication, segments)
        self.end(recording_id, publication)
        return recording_id

    def cut(self, recording_id: int, position: int) -> None:
        """Forget what is behind a position."""
        self.sent[recording_id] = [one for one in self.sent[recording_id] if one[1] < position]

    def moved(self, source: int, target: int) -> None:
        """Take over in the model what was moved."""
        self.sent[target] = sorted(self.sent[target] + self.sent[source], key=lambda one: one[1])
        self.sent[source] = []

    # -- by an archive that keeps no indexes ----------------------------------------------------

    def move_by_another(self, source: int, target: int) -> None:
        """Move all segments as another archive does, while this one is not there."""
        self.host.close()
        folder = self.host.archive_dir
        with CatalogFile.open(folder, files=self.host.files, capacity=1 << 16) as catalog:
            here, there = (catalog.descriptor(one) for one in (source, target))
            for base in range(here.segment_base(here.start_position), here.stop_position, SEGMENT):
                self.host.files.rename(
                    f"{folder}/{segment_file_name(source, base)}",
                    f"{folder}/{segment_file_name(target, base)}",
                )
            if here.stop_position == there.start_position:
                catalog.update_start_position(target, here.start_position)
            else:
                catalog.update_stop_position(target, here.stop_position)
            catalog.update_stop_position(source, here.start_position)
        self.simulation.clock.advance_ns(20 * SECOND)
        self.moved(source, target)
        self.start()

    def cut_by_another(self, recording_id: int, *, start: int | None, stop: int | None) -> None:
        """Purge or truncate at a segment's base as another archive does."""
        self.host.close()
        folder = self.host.archive_dir
        with CatalogFile.open(folder, files=self.host.files, capacity=1 << 16) as catalog:
            here = catalog.descriptor(recording_id)
            begin, end = here.segment_base(here.start_position), here.stop_position
            kept = range(start or begin, end if stop is None else stop)
            for base in range(begin, end, SEGMENT):
                if base not in kept:
                    self.host.files.remove(f"{folder}/{segment_file_name(recording_id, base)}")
            if start is not None:
                catalog.update_start_position(recording_id, start)
            if stop is not None:
                catalog.update_stop_position(recording_id, stop)
        self.simulation.clock.advance_ns(20 * SECOND)
        self.sent[recording_id] = [one for one in self.sent[recording_id] if one[1] in kept]
        self.start()

    # -- what has to be true --------------------------------------------------------------------

    def check(self, recording_id: int, *, exact: bool = False) -> None:
        """Everything that is told of a recording's times holds; with exact, everything is."""
        folder, files = self.host.archive_dir, self.host.files
        sent = self.sent[recording_id]
        with TimeIndex.open(folder, recording_id, files=files) as index:
            assert not exact or not index.problems, index.problems
            assert not exact or index.source == "clock"
            self._check_queries(index, sent)
            self._check_answers(index, sent)
            rows = array("q", bytes(8 * len(sent)))
            index.fill_times(array("q", (position for _, position in sent)), rows)
            for (_, position), row in zip(sent, rows, strict=True):  # as an export's record_time
                known = index.source != "descriptor" and index.knows(position)
                assert row == (index.time_at(position) if known else row)
                assert known or row == 0 or index.source == "descriptor"
            for time_ns, position in sent:
                if index.source == "descriptor" or not index.knows(position):
                    assert index.problems
                    assert not exact
                    continue
                assert abs(index.time_at(position) - time_ns) <= LEEWAY_NS, (time_ns, position)
        now_ms = self.simulation.clock.now_epoch_ns() // MS
        facts = {one.recording_id: one for one in look(folder, now_ms, files).recordings}
        for time_ns, _ in sent:
            limit = facts[recording_id].timeline.position_at(time_ns - LEEWAY_NS)
            assert all(time < time_ns for time, place in sent if place < limit)

    def _check_answers(self, index: TimeIndex, sent: list[tuple[int, int]]) -> None:
        """What the running archive answers."""
        archive, recording_id = self.archive, index.recording_id
        for time_ns, position in sent[:: max(len(sent) // 8, 1)]:
            assert archive.find_position(recording_id, time_ns - LEEWAY_NS) <= position
            assert archive.find_end_position(recording_id, time_ns + LEEWAY_NS) > position
            if index.source != "descriptor" and index.knows(position):
                found = archive.find_time(recording_id, position)
                assert abs(found - time_ns) <= LEEWAY_NS
            else:
                with pytest.raises(ArchiveError, match="not known"):
                    archive.find_time(recording_id, position)

    def check_sound(self, recording_id: int) -> None:
        """All messages can be read, from this recording alone, and nothing else can."""
        with ArchiveFolder(self.host.archive_dir, self.host.files) as folder:
            recording = folder.recording(recording_id)
            findings = verify_opened(recording)
            assert not [one.text for one in findings if one.is_damage]
            ends = [message.position for message in recording.messages()]
        assert len(ends) == len(self.sent[recording_id])
        assert ends[-1] == stop_of(self, recording_id)

    def replicate(self, recording_id: int) -> int:
        """Copy a recording; its messages have the time of the copy."""
        archive = self.archive
        known = {one.recording_id for one in archive.recordings()}
        archive.poll_signals()
        begin = self.simulation.clock.now_epoch_ns()
        archive.replicate(
            recording_id,
            "aeron:ipc",
            10,
            src_response_channel="aeron:ipc",
            replication_channel=f"aeron:udp?endpoint={self.host.network.ipv4}:0",
        )
        ended: set[RecordingSignal] = set()

        def has_ended() -> bool:
            ended.update(one.signal for one in archive.poll_signals())
            return {RecordingSignal.REPLICATE_END, RecordingSignal.STOP} <= ended

        self.simulation.run(until=has_ended)
        end = self.simulation.clock.now_epoch_ns()
        (copy,) = {one.recording_id for one in archive.recordings()} - known
        with TimeIndex.open(self.host.archive_dir, copy, files=self.host.files) as index:
            for _, position in self.sent[recording_id]:
                assert begin - LEEWAY_NS <= index.time_at(position) <= end + LEEWAY_NS
        self.sent[copy] = [(begin, position) for _, position in self.sent[recording_id]]
        return copy

    def _check_queries(self, index: TimeIndex, sent: list[tuple[int, int]]) -> None:
        if index.source == "descriptor":
            return
        for wanted, _ in sent:
            start, end = index.position_at(wanted - LEEWAY_NS), index.end_position_at(wanted)
            for time_ns, position in sent:
                assert position >= start or time_ns < wanted
                assert position < end or time_ns >= wanted - LEEWAY_NS


def stop_of(world: World, recording_id: int) -> int:
    return world.archive.list_recording(recording_id).stop_position


def two_parts(world: World, *, older_first: bool) -> tuple[int, int, int]:
    """A front and a rest of whole segments that join, and where; one is an hour older."""
    world.start()
    front = rest = -1
    for is_front in (True, False) if older_first else (False, True):
        if is_front:
            front = world.record(3.3)
            world.archive.truncate_recording(front, 3 * SEGMENT)
            world.cut(front, 3 * SEGMENT)
        else:
            rest = world.record(2.5, position=3 * SEGMENT)
        world.restart(after_s=3600)
    return front, rest, 3 * SEGMENT


@pytest.mark.parametrize("older_first", [True, False])
@pytest.mark.parametrize("to_front", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_times_move_with_the_segments(seed, older_first, to_front) -> None:
    with Simulation(seed=seed) as simulation:
        world = World(simulation, seed)
        front, rest, _ = two_parts(world, older_first=older_first)
        source, target = (front, rest) if to_front else (rest, front)
        assert world.archive.migrate_segments(source, target) == 3
        world.moved(source, target)
        world.check(target, exact=True)
        assert not world.disk.exists(index_path("", source))
        world.restart(kill=True)
        world.check(target, exact=True)
        world.record(1.2, position=stop_of(world, target), extend=target)
        world.check(target, exact=True)
        world.archive.purge_segments(target, 2 * SEGMENT)
        world.sent[target] = [one for one in world.sent[target] if one[1] >= 2 * SEGMENT]
        world.check(target, exact=True)


def test_times_move_to_the_front_of_a_recording_that_goes_on() -> None:
    with Simulation(seed=5) as simulation:
        world = World(simulation, 5)
        world.start()
        front = world.record(2.4)
        world.archive.truncate_recording(front, 2 * SEGMENT)
        world.cut(front, 2 * SEGMENT)
        world.restart(after_s=3600)
        rest, publication = world.begin(position=2 * SEGMENT)
        world.send(rest, publication, 0.7)
        world.archive.migrate_segments(front, rest)
        world.moved(front, rest)
        world.send(rest, publication, 1.1)
        world.end(rest, publication)
        world.check(rest, exact=True)


@pytest.mark.parametrize("without", ["source", "target"])
@pytest.mark.parametrize("to_front", [True, False])
def test_what_has_no_index_is_unknown_and_younger_than_anything(to_front, without) -> None:
    with Simulation(seed=2) as simulation:
        world = World(simulation, 2)
        front, rest, join = two_parts(world, older_first=True)
        source, target = (front, rest) if to_front else (rest, front)
        lacking = source if without == "source" else target
        world.host.files.remove(index_path(world.host.archive_dir, lacking))
        world.archive.migrate_segments(source, target)
        world.moved(source, target)
        world.check(target)
        stop = stop_of(world, target)
        begin, end = (0, join) if lacking == front else (join, stop)
        with TimeIndex.open(world.host.archive_dir, target, files=world.host.files) as index:
            assert f"positions {begin} to {end} are not known" in index.problems[0]
            known = {index.knows(position) for _, position in world.sent[target]}
            assert known == {True, False}
        with pytest.raises(ArchiveError, match=f"position {begin} of recording {target}"):
            world.archive.find_time(target, begin)
        fetched = world.archive.time_index(target)
        assert f"positions {begin} to {end} are not known" in fetched.problems[0]


@pytest.mark.parametrize("to_front", [True, False])
@pytest.mark.parametrize("older_first", [True, False])
def test_segments_that_another_archive_moved_are_noticed(to_front, older_first) -> None:
    with Simulation(seed=3) as simulation:
        world = World(simulation, 3)
        front, rest, _ = two_parts(world, older_first=older_first)
        source, target = (front, rest) if to_front else (rest, front)
        world.move_by_another(source, target)
        world.check(target)
        with TimeIndex.open(world.host.archive_dir, target, files=world.host.files) as index:
            assert {index.knows(position) for _, position in world.sent[target]} == {True, False}
        world.record(1.2, position=stop_of(world, target), extend=target)
        world.check(target)


@pytest.mark.parametrize("to_front", [True, False])
@pytest.mark.parametrize("segments", [1, 2, 3])
def test_segments_in_place_of_others_are_noticed(to_front, segments) -> None:
    """The new ones stand where the index has entries of those that are gone."""
    with Simulation(seed=segments) as simulation:
        world = World(simulation, segments)
        world.start()
        target = world.record(4.5 if to_front else 4)
        world.restart(after_s=3600)
        begin = (3 - segments if to_front else 2) * SEGMENT
        source = world.record(segments + 0.4, position=begin)
        world.archive.truncate_recording(source, begin + segments * SEGMENT)
        world.cut(source, begin + segments * SEGMENT)
        if to_front:
            world.cut_by_another(target, start=3 * SEGMENT, stop=None)
        else:
            world.cut_by_another(target, start=None, stop=2 * SEGMENT)
        world.check(target, exact=True)
        world.move_by_another(source, target)
        world.check(target)


def test_segments_with_checksums_are_recognized() -> None:
    with Simulation(seed=4) as simulation:
        world = World(simulation, 4)
        world.host.start_driver()
        checksum = "org.agrona.checksum.Crc32c"
        world.host.start_archive(segment_file_length=SEGMENT, record_checksum=checksum)
        world.archive = world.host.connect_archive()
        recording_id = world.record(2.5)
        world.check(recording_id, exact=True)
        # The frames of the first session still have their samples.
        world.record(1.5, position=stop_of(world, recording_id), extend=recording_id)
        world.check(recording_id, exact=True)


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("older_first", [True, False])
def test_what_follows_a_migration_finds_true_times(older_first: bool, kill: bool) -> None:
    """Each request in turn, with a restart after it or a kill."""
    with Simulation(seed=6) as simulation:
        world = World(simulation, 6)
        front, rest, join = two_parts(world, older_first=older_first)
        world.archive.migrate_segments(rest, front)
        world.moved(rest, front)

        def check() -> None:
            world.check_sound(front)
            world.check(front, exact=True)
            world.restart(kill=kill, after_s=600)
            world.check(front, exact=True)

        check()
        world.archive.detach_segments(front, 2 * SEGMENT)
        whole = world.sent[front]
        world.sent[front] = [one for one in whole if one[1] >= 2 * SEGMENT]
        check()
        assert world.archive.attach_segments(front) == 2
        world.sent[front] = whole
        check()
        within = next(position for _, position in whole if position > join + SEGMENT // 2)
        world.archive.truncate_recording(front, within)
        world.cut(front, within)
        check()
        world.record(1.3, position=within, extend=front)
        check()
        copy = world.replicate(front)
        world.check_sound(copy)
        world.archive.detach_segments(front, SEGMENT)
        world.archive.delete_detached_segments(front)
        world.sent[front] = [one for one in world.sent[front] if one[1] >= SEGMENT]
        check()
        world.check_sound(copy)


@pytest.mark.parametrize("seed", range(4))
def test_any_history_tells_the_truth_or_nothing(seed) -> None:
    with Simulation(seed=seed) as simulation:
        world = World(simulation, seed)
        world.start()
        random = world.random
        main = world.record(3.5)
        for _ in range(6):
            world.restart(kill=random.random() < 0.3, after_s=random.choice((20, 60, 3600)))
            found = world.archive.list_recording(main)
            first, stop = found.start_position, found.stop_position
            bases = [base for base in range(first, stop, SEGMENT) if base > first]
            do = random.choice(("extend", "truncate", "purge", "append", "prepend", "other"))
            if do == "extend":
                world.record(random.choice((0.4, 1.3)), position=stop, extend=main)
            elif do == "purge" and len(bases) > 1:
                world.archive.purge_segments(main, bases[0])
                world.sent[main] = [one for one in world.sent[main] if one[1] >= bases[0]]
            elif do == "truncate" and len(bases) > 1:
                world.archive.truncate_recording(main, bases[-1])
                world.cut(main, bases[-1])
            elif do in {"append", "other"} and bases:
                world.archive.truncate_recording(main, bases[-1])
                world.cut(main, bases[-1])
                rest = world.record(1.7, position=bases[-1])
                if do == "append":
                    world.archive.migrate_segments(rest, main)
                    world.moved(rest, main)
                else:
                    world.move_by_another(rest, main)
            elif do == "prepend" and first >= SEGMENT:
                front = world.record(1.2, position=first - SEGMENT)
                world.archive.truncate_recording(front, first)
                world.cut(front, first)
                if random.random() < 0.5:
                    world.archive.migrate_segments(front, main)
                    world.moved(front, main)
                else:
                    world.move_by_another(front, main)
            world.check(main)
