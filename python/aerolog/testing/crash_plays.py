"""Scripted scenarios of an archive, crashed at each operation on its disk and started again.

A scenario is run once, on a disk that keeps the state before each operation (``CrashDisk``). Then
an archive is started on each of these states, and everything that it holds is compared with what
was recorded; then it has to go on working.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.files.checksum import checksum_for
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
    """

    step: str
    allowed: Allowed


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
    step_name: str = "start"
    next_id: int = 0

    def progress(self) -> Progress:
        """What a crash may leave at this moment."""
        allowed: Allowed = {i: [truth.outcome()] for i, truth in self.truths.items()}
        return Progress(self.step_name, {**allowed, **self.pending})

    @contextlib.contextmanager
    def step(self, name: str, pending: Allowed | None = None) -> Iterator[None]:
        """A request is under way, which may be done or not when the crash comes."""
        self.step_name, self.pending = name, pending or {}
        yield
        self.step_name, self.pending = f"after {name}", {}

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

    def record(self, stream_id: int) -> tuple[int, ExclusivePublication]:
        """Begin a recording, with nothing in it yet."""
        recording_id, archive = self.next_id, self.archive
        self.next_id += 1
        with self.step(f"record {recording_id}"):
            archive.start_recording("aeron:ipc", stream_id)
            publication, log = self.open(stream_id)
            truth = Truth(log, 0, channel="aeron:ipc")
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


SCRIPTS: Final[dict[str, Callable[[Stage], None]]] = {"record": _record}


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
