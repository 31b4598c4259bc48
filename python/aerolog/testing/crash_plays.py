"""Scripted scenarios of an archive, crashed at each operation on its disk and started again.

A scenario is run once, on a disk that keeps the state before each operation (``CrashDisk``). Then
an archive is started on each of these states, and everything that it holds is compared with what
was recorded; then it has to go on working.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.files.checksum import checksum_for
from aerolog.archive.protocol import RecordingSignal
from aerolog.testing.crash_disk import CrashDisk
from aerolog.testing.crash_ledger import Allowed, Log, Truth, check_catalog, check_segments
from aerolog.testing.simulation import Simulation
from aerolog.testing.streams import StreamCheckError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.archive.client import AeronArchive
    from aerolog.archive.files.descriptor import RecordingDescriptor
    from aerolog.testing.crash_disk import FaultPoint, State
    from aerolog.testing.crash_ledger import Outcome
    from aerolog.testing.hosts import SimulatedHost
    from aerolog.transport.client.publication import ExclusivePublication

TERM: Final = 64 * 1024
MTU: Final = 1408
_CHANNEL: Final = f"aeron:ipc?term-length=64k|mtu={MTU}"
_LENGTHS: Final = (1, 40, 200, 1000, 1376, 3000, 6000)
_WAIT_S: Final = 30.0
_LATER_NS: Final = 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a scenario had come at an operation.

    Attributes:
        step: what was under way.
        allowed: what a crash may leave, by recording id.
        together: of recordings that one request changes, which outcomes go together.
    """

    step: str
    allowed: Allowed
    together: tuple[dict[int, Outcome], ...] = ()


@dataclass(slots=True)
class Stage:
    """A host with an archive, and what its recordings hold.

    Attributes:
        simulation: in which it runs.
        host: the host.
        archive: a session with its archive.
        random: of contents.
        checksum: of frames, by name.
        truths: by recording id.
        pending: outcomes of the request under way, by recording id.
        step_name: what is under way.
    """

    simulation: Simulation
    host: SimulatedHost
    archive: AeronArchive
    random: Random
    checksum: str | None
    truths: dict[int, Truth] = field(default_factory=dict)
    pending: Allowed = field(default_factory=dict)
    together: tuple[dict[int, Outcome], ...] = ()
    step_name: str = "start"
    next_id: int = 0

    def progress(self) -> Progress:
        """What a crash may leave at this moment."""
        allowed: Allowed = {i: [truth.outcome()] for i, truth in self.truths.items()}
        return Progress(self.step_name, {**allowed, **self.pending}, self.together)

    @contextlib.contextmanager
    def step(self, name: str, pending: Allowed | None = None) -> Iterator[None]:
        """A request is under way, which may be done or not when the crash comes."""
        self.step_name, self.pending = name, pending or {}
        yield
        self.step_name, self.pending, self.together = f"after {name}", {}, ()

    def wait(self, condition: Callable[[], object]) -> None:
        """Turn the simulation until a condition holds."""
        self.simulation.run(condition, timeout=_WAIT_S)

    # -- streams ---------------------------------------------------------------------------------

    def open(self, stream_id: int, log: Log | None = None) -> tuple[ExclusivePublication, Log]:
        """A publication, and the log that it continues or begins."""
        client = self.archive.aeron
        if log is None:
            publication = client.add_exclusive_publication(_CHANNEL, stream_id)
            log = Log(
                mtu_length=publication.mtu,
                initial_term_id=publication.initial_term_id,
                session_id=publication.session_id,
                stream_id=stream_id,
                checksum=checksum_for(self.checksum),
            )
            return publication, log
        publication = client.add_exclusive_publication(continuing(log), stream_id)
        log.session_id = publication.session_id
        return publication, log

    def publish(self, publication: ExclusivePublication, log: Log, length: int) -> int:
        """Send messages until the stream is so much longer; returns its position."""
        goal = log.position + length
        while log.position < goal:
            message = self.random.randbytes(self.random.choice(_LENGTHS))
            log.add(message)
            while (result := publication.offer(message)) <= 0:
                self.simulation.step()
            for _ in range(self.random.randrange(3)):
                self.simulation.step()
            if result != log.position:
                raise StreamCheckError(f"the publication is at {result}, its log {log.position}")
        return log.position

    # -- steps -----------------------------------------------------------------------------------

    def record(self, stream_id: int, log: Log | None = None) -> tuple[int, ExclusivePublication]:
        """Begin a recording, with nothing in it yet; of a log that goes on, if there is one."""
        recording_id, archive = self.next_id, self.archive
        self.next_id += 1
        with self.step(f"record {recording_id}"):
            archive.start_recording("aeron:ipc", stream_id)
            publication, log = self.open(stream_id, log)
            truth = Truth(log, log.start_position, channel="aeron:ipc")
            self.pending = {recording_id: [None, truth.outcome()]}
            self.wait(lambda: archive.recording_position_counter(recording_id))
            self._activate(recording_id, truth)
        return recording_id, publication

    def _activate(self, recording_id: int, truth: Truth) -> None:
        counter = self.archive.recording_position_counter(recording_id)
        assert counter is not None
        truth.stop, truth.floor = None, lambda: counter.value
        self.truths[recording_id] = truth

    def grow(self, recording_id: int, publication: ExclusivePublication, length: int) -> None:
        """Send messages to a recording, and wait until it has them."""
        truth = self.truths[recording_id]
        with self.step(f"grow {recording_id}"):
            end = self.publish(publication, truth.log, length)
            self.wait(lambda: truth.floor() >= end)

    def stop(self, recording_id: int, publication: ExclusivePublication) -> None:
        """Stop a recording that has everything sent to it."""
        truth, archive = self.truths[recording_id], self.archive
        truth.floor = lambda: truth.log.position
        with self.step(f"stop {recording_id}"):
            assert archive.stop_recording_by_identity(recording_id)
            self.wait(lambda: archive.stop_position(recording_id) is not None)
            publication.close()
        truth.stop = truth.log.position

    def extend(self, recording_id: int, length: int) -> None:
        """Go on with a stopped recording, and stop it again."""
        truth, archive = self.truths[recording_id], self.archive
        stream_id = truth.log.stream_id
        before = truth.outcome()
        with self.step(f"extend {recording_id}"):
            channel = continuing(truth.log)
            archive.extend_recording(recording_id, channel, stream_id)
            publication, log = self.open(stream_id, truth.log)
            self.pending = {recording_id: [before]}
            self.wait(lambda: archive.recording_position_counter(recording_id))
            self._activate(recording_id, Truth(log, truth.start, channel=truth.channel))
        self.truths[recording_id].detached = truth.detached
        self.grow(recording_id, publication, length)
        self.stop(recording_id, publication)

    # -- what is stored --------------------------------------------------------------------------

    def change(
        self, name: str, recording_id: int, request: Callable[[], object], *steps: Truth
    ) -> None:
        """A request that leads from one state of a recording to others, the last one at its end."""
        outcomes: list[Outcome | None] = [self.truths[recording_id].outcome()]
        outcomes += [truth.outcome() for truth in steps]
        with self.step(f"{name} {recording_id}", {recording_id: outcomes}):
            request()
        self.truths[recording_id] = steps[-1]

    def await_deletion(self, request: Callable[[], object]) -> None:
        """Make a request that removes files, and wait until they are gone."""
        self.archive.poll_signals()
        request()
        self.wait(
            lambda: any(s.signal == RecordingSignal.DELETE for s in self.archive.poll_signals())
        )

    def truncate(self, recording_id: int, position: int) -> None:
        """Cut a stopped recording."""
        truth = self.truths[recording_id]
        after = replace(truth, log=truth.log.cut(position), stop=position)
        request = partial(self.archive.truncate_recording, recording_id, position)
        self.change("truncate", recording_id, partial(self.await_deletion, request), after)

    def detach(self, recording_id: int, start: int) -> None:
        """Take segments from the front."""
        after = replace(self.truths[recording_id], start=start, detached=True)
        request = partial(self.archive.detach_segments, recording_id, start)
        self.change("detach", recording_id, request, after)

    def attach(self, recording_id: int, *starts: int) -> None:
        """Put detached segments back, one after the other."""
        truth = self.truths[recording_id]
        steps = [replace(truth, start=start) for start in starts]
        steps[-1].detached = False
        request = partial(self.archive.attach_segments, recording_id)
        self.change("attach", recording_id, request, *steps)

    def delete_detached(self, recording_id: int) -> None:
        """Remove detached segments."""
        truth = self.truths[recording_id]
        request = partial(self.archive.delete_detached_segments, recording_id)
        after = replace(truth, detached=False)
        with self.step(f"delete detached {recording_id}"):
            self.await_deletion(request)
        self.truths[recording_id] = after

    def purge_segments(self, recording_id: int, start: int) -> None:
        """Remove segments from the front."""
        truth = self.truths[recording_id]
        after = replace(truth, start=start, detached=True)
        request = partial(self.archive.purge_segments, recording_id, start)
        self.change("purge segments", recording_id, partial(self.await_deletion, request), after)
        after.detached = False

    def purge(self, recording_id: int) -> None:
        """Remove a recording."""
        outcomes = [self.truths[recording_id].outcome(), None]
        with self.step(f"purge {recording_id}", {recording_id: outcomes}):
            self.await_deletion(partial(self.archive.purge_recording, recording_id))
        del self.truths[recording_id]

    def update_channel(self, recording_id: int, channel: str) -> None:
        """Give a recording another channel."""
        after = replace(self.truths[recording_id], channel=channel)
        request = partial(self.archive.update_channel, recording_id, channel)
        self.change("update channel", recording_id, request, after)

    def record_behind(self, recording_id: int) -> int:
        """Record a stream that begins where a recording ends, as a recording of its own."""
        log = self.truths[recording_id].log
        new = Log(
            mtu_length=log.mtu_length,
            initial_term_id=log.initial_term_id,
            stream_id=log.stream_id,
            start_position=log.position,
            checksum=log.checksum,
        )
        new_id, publication = self.record(log.stream_id, new)
        self.grow(new_id, publication, TERM + 9_000)
        self.stop(new_id, publication)
        return new_id

    def migrate(self, source_id: int, target_id: int) -> None:
        """Move all of a recording to the end or the front of another."""
        source, target = self.truths[source_id], self.truths[target_id]
        appended = source.start == target.stop
        first, second = (target, source) if appended else (source, target)
        merged = replace(
            target, log=first.log.joined(second.log), start=first.start, stop=second.stop
        )
        emptied = replace(source, log=source.log.cut(source.start), stop=source.start)
        before = {source_id: source.outcome(), target_id: target.outcome()}
        after = {source_id: emptied.outcome(), target_id: merged.outcome()}
        self.together = (before, after)
        pending: Allowed = {i: [before[i], after[i]] for i in (source_id, target_id)}
        with self.step(f"migrate {source_id} to {target_id}", pending):
            self.await_deletion(partial(self.archive.migrate_segments, source_id, target_id))
        self.truths[source_id], self.truths[target_id] = emptied, merged


def continuing(log: Log) -> str:
    """Channel of a publication that begins where a log ends."""
    term_id = (log.initial_term_id + log.position // TERM + 2**31) % 2**32 - 2**31
    return (
        f"{_CHANNEL}|init-term-id={log.initial_term_id}|term-id={term_id}"
        f"|term-offset={log.position % TERM}"
    )


# -- scripts -------------------------------------------------------------------------------------


def _record(stage: Stage) -> None:
    """Recordings beside each other that roll over, one of them stopped and extended."""
    first, first_publication = stage.record(11)
    stage.grow(first, first_publication, 20_000)
    second, second_publication = stage.record(12)
    stage.grow(second, second_publication, 90_000)
    stage.grow(first, first_publication, 120_000)
    stage.stop(second, second_publication)
    stage.extend(second, 70_000)
    third, third_publication = stage.record(13)
    stage.stop(third, third_publication)
    stage.extend(third, 3_000)
    stage.grow(first, first_publication, 5_000)


def _whole_recording(stage: Stage, stream_id: int, length: int) -> int:
    recording_id, publication = stage.record(stream_id)
    stage.grow(recording_id, publication, length)
    stage.stop(recording_id, publication)
    return recording_id


def _ends(stage: Stage) -> None:
    """Recordings that are cut and gone on with, and one that goes."""
    first = _whole_recording(stage, 21, 4 * TERM)
    second = _whole_recording(stage, 22, TERM)
    log = stage.truths[first].log
    stage.truncate(first, log.ends[len(log.ends) // 3])
    stage.extend(first, 2 * TERM)
    stage.purge(second)
    stage.truncate(first, 2 * TERM)
    stage.extend(first, 40_000)
    third = _whole_recording(stage, 23, 2_000)
    stage.truncate(first, 0)
    stage.extend(first, 30_000)
    stage.purge(third)


def _fronts(stage: Stage) -> None:
    """Segments taken from the front, of an active recording too, and put back."""
    first = _whole_recording(stage, 31, 4 * TERM)
    stage.detach(first, 3 * TERM)
    stage.attach(first, 2 * TERM, TERM, 0)
    stage.detach(first, 2 * TERM)
    stage.delete_detached(first)
    second, publication = stage.record(32)
    stage.grow(second, publication, 3 * TERM)
    stage.purge_segments(second, TERM)
    stage.detach(second, 2 * TERM)
    stage.grow(second, publication, TERM)
    stage.stop(second, publication)
    stage.extend(second, 10_000)


def _moves(stage: Stage) -> None:
    """Segments that move to the end and to the front of another recording."""
    first = _whole_recording(stage, 41, 3 * TERM)
    stage.truncate(first, 2 * TERM)
    second = stage.record_behind(first)
    stage.migrate(second, first)
    stage.extend(first, 20_000)
    stage.truncate(first, 3 * TERM)
    third = stage.record_behind(first)
    stage.migrate(first, third)
    stage.extend(third, 20_000)


def _channels(stage: Stage) -> None:
    """Catalog entries that get longer and shorter, between others."""
    first, publication = stage.record(51)
    stage.grow(first, publication, 5_000)
    second = _whole_recording(stage, 52, 3_000)
    third = _whole_recording(stage, 53, 3_000)
    for length in (10, 90, 200, 30, 500):
        stage.update_channel(first, f"aeron:ipc?alias={'a' * length}")
        stage.update_channel(third, f"aeron:ipc?alias={'b' * (length // 2)}")
    stage.update_channel(second, "aeron:ipc?alias=second|tags=7")
    stage.grow(first, publication, 5_000)
    _whole_recording(stage, 54, 1_000)


SCRIPTS: Final[dict[str, Callable[[Stage], None]]] = {
    "record": _record,
    "ends": _ends,
    "fronts": _fronts,
    "moves": _moves,
    "channels": _channels,
}


@dataclass(frozen=True, slots=True)
class Setting:
    """How the archive of a scenario is set up.

    Attributes:
        script: a name in ``SCRIPTS``.
        sync_level: of files and catalog, 0 to 2.
        checksum: of recordings, by name.
    """

    script: str
    sync_level: int = 0
    checksum: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """For the archive."""
        return {
            "file_sync_level": self.sync_level,
            "catalog_file_sync_level": self.sync_level,
            "record_checksum": self.checksum,
            "catalog_capacity": 512,  # so that it has to grow
        }

    def __str__(self) -> str:
        return f"{self.script}:{self.sync_level}:{self.checksum or '-'}"

    @classmethod
    def parse(cls, text: str) -> Setting:
        """From its text."""
        script, sync_level, checksum = text.split(":")
        if script not in SCRIPTS:
            raise ValueError(f"no script {script}: one of {', '.join(SCRIPTS)}")
        return cls(script, int(sync_level), None if checksum == "-" else checksum)


def fault_points(
    setting: Setting, trace: Callable[[str], object] | None = None
) -> list[FaultPoint]:
    """Run a scenario; the operations on its archive's disk, with the states before them."""
    disk = CrashDisk()
    with Simulation(seed=1, trace=trace) as simulation:
        host = simulation.host(disk=disk)
        host.start_driver()
        stages: list[Stage] = []
        disk.watch(lambda: stages[0].progress() if stages else Progress("start", {}))
        host.start_archive(**setting.options)
        archive = host.connect_archive()
        stages.append(Stage(simulation, host, archive, Random(7), setting.checksum))  # noqa: S311
        SCRIPTS[setting.script](stages[0])
        disk.stop_watching()
        archive.close()
    return disk.points


def states_of(setting: Setting, point: FaultPoint) -> list[tuple[str, State]]:
    """What a crash at an operation may leave, by the way of crashing."""
    found = [("kill", point.after_kill())]
    found += [(f"torn-{index}", state) for index, state in enumerate(point.torn)]
    if setting.sync_level > 0:
        for seed in range(2):
            random = Random(f"{point.number} {seed}")  # noqa: S311 -- repeatable
            found.append((f"power-{seed}", point.after_power_loss(random)))
    return found


class Aftermath:
    """An archive on what a crash has left: what it must hold, and that it goes on.

    Args:
        setting: of the archive.
        progress: of the scenario when it crashed.
        state: what is on the disk.
        trace: is given a line for everything that happens.
        power_lost: whether that was how it crashed: of what was not synced, later pages may be
            there and earlier ones not.
    """

    def __init__(
        self,
        setting: Setting,
        progress: Progress,
        state: State,
        trace: Callable[[str], object] | None = None,
        *,
        power_lost: bool = False,
    ) -> None:
        self.setting = setting
        self.power_lost = power_lost
        self.progress = progress
        self.disk = CrashDisk.of(state)
        self._trace = trace

    def check(self, *, replay: bool = True, go_on: bool = False) -> None:
        """Start an archive and compare; with ``go_on`` record more, and start it once again.

        Raises:
            StreamCheckError: something is lost, doubled or wrong.
        """
        with Simulation(seed=2, trace=self._trace) as simulation:
            simulation.clock.advance_ns(_LATER_NS)
            host = simulation.host(disk=self.disk)
            host.start_driver()
            host.start_archive(**self.setting.options)
            archive = host.connect_archive()
            found = list(archive.recordings())
            matched = self._compare(found)
            if replay:
                for descriptor in found:
                    _check_replay(archive, descriptor, matched[descriptor.recording_id].log)
            truths = {
                descriptor.recording_id: Truth(
                    matched[descriptor.recording_id].log.cut(descriptor.stop_position),
                    descriptor.start_position,
                    descriptor.stop_position,
                    detached=matched[descriptor.recording_id].detached,
                )
                for descriptor in found
                if go_on
            }
            if go_on:
                random = Random(8)  # noqa: S311 -- repeatable
                checksum = self.setting.checksum
                stage = Stage(simulation, host, archive, random, checksum, truths)
                self._go_on(stage)
            archive.close()

    def _compare(self, found: list[RecordingDescriptor]) -> dict[int, Outcome]:
        for descriptor in found:
            if descriptor.stop_timestamp < descriptor.start_timestamp:
                raise StreamCheckError(f"stopped before it began: {descriptor}")
        matched = check_catalog(found, self.progress.allowed)
        for ids in {tuple(sorted(outcomes)) for outcomes in self.progress.together}:
            if {i: matched[i] for i in ids} not in self.progress.together:
                raise StreamCheckError(f"recordings {ids} do not go together: {found}")
        folder = "/host-1/archive"
        names = self.disk.list_dir(folder)
        check_segments(
            names,
            lambda n: self.disk.read_bytes(f"{folder}/{n}"),
            found,
            matched,
            nothing_behind=not self.power_lost,
        )
        return matched

    def _go_on(self, stage: Stage) -> None:
        for recording_id, truth in list(stage.truths.items()):
            if truth.log.position in {*truth.log.ends, truth.log.start_position}:
                stage.extend(recording_id, TERM + 2_000)
        stage.next_id = 1 + max(
            (*stage.truths, *(i for i, o in self.progress.allowed.items() if o)), default=-1
        )
        found = list(stage.archive.recordings())
        self.progress = stage.progress()
        matched = self._compare(found)
        for descriptor in found:
            _check_replay(stage.archive, descriptor, matched[descriptor.recording_id].log)


def _check_replay(archive: AeronArchive, descriptor: RecordingDescriptor, log: Log) -> None:
    start, stop = descriptor.start_position, descriptor.stop_position
    expected = log.messages_between(start, stop)
    found = [(message.position, message.data) for message in archive.read(descriptor.recording_id)]
    if found != expected:
        raise StreamCheckError(
            f"recording {descriptor.recording_id} replays {len(found)} messages, {len(expected)}"
            f" were recorded from {start} to {stop}"
        )
