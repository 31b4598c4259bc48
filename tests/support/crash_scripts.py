"""Scripted scenarios of an archive, crashed at each operation on its disk and started again.

A scenario is run once, on a disk that keeps the state before each operation (``CrashDisk``). Then
an archive is started on each of these states, and everything that it holds is compared with what
was recorded; then it has to go on working.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, Final

from crash_disk import CrashDisk
from crash_ledger import Log, Truth, check_catalog, check_segments, check_times
from crash_steps import TERM, Progress, Stage

from aerolog.testing.simulation import Simulation
from aerolog.testing.streams import StreamCheckError

if TYPE_CHECKING:
    from collections.abc import Callable

    from crash_disk import FaultPoint, State
    from crash_ledger import Outcome

    from aerolog.archive.client import AeronArchive
    from aerolog.archive.format.descriptor import RecordingDescriptor

_FOLDER: Final = "/host-1/archive"
_WAIT_S: Final = 30.0
_LATER_NS: Final = 3_600_000_000_000
_PASSING_MS: Final = 480_000  # a scenario takes less than _LATER_NS
_POWER_LOSSES: Final = 2
_PAUSES: Final = 3


@dataclass(slots=True)
class SimulatedStage(Stage):
    """A stage in a simulation.

    Attributes:
        simulation: in which it runs.
    """

    simulation: Simulation = field(kw_only=True)

    def wait(self, condition: Callable[[], object]) -> None:
        """Turn the simulation until a condition holds."""
        self.simulation.run(condition, timeout=_WAIT_S)

    def turn(self) -> None:
        """Give somebody a turn."""
        self.simulation.step()

    def now_ns(self) -> int:
        """The time of the simulation."""
        return self.simulation.clock.now_epoch_ns()

    def let_time_pass(self) -> None:
        """Let what follows be some minutes later by the clock."""
        self.simulation.clock.step_epoch_ms(_PASSING_MS)


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
    stage.let_time_pass()
    second = stage.record_behind(first)
    stage.let_time_pass()
    stage.migrate(second, first)
    stage.extend(first, 20_000)
    stage.truncate(first, 3 * TERM)
    stage.let_time_pass()
    third = stage.record_behind(first)
    stage.let_time_pass()
    stage.migrate(first, third)
    stage.extend(third, 20_000)


def _meetings(stage: Stage) -> None:
    """Older segments that move behind newer ones, and then to a recording that goes on."""
    first = _whole_recording(stage, 45, 3 * TERM)
    stage.truncate(first, 2 * TERM)
    second = stage.record_behind(first)
    stage.truncate(first, TERM)
    stage.let_time_pass()
    stage.extend(first, TERM + 20_000)
    stage.truncate(first, 2 * TERM)
    stage.migrate(second, first)
    stage.truncate(first, 3 * TERM)
    stage.let_time_pass()
    third, publication = stage.begin_behind(first)
    stage.migrate(first, third)
    stage.grow(third, publication, 20_000)
    stage.stop(third, publication)


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


def _copies(stage: Stage) -> None:
    """A recording copied to a new one, that brought up to it, and an empty one made a copy."""
    first = _whole_recording(stage, 61, 90_000)
    second = stage.replicate(first)
    stage.extend(first, 50_000)
    stage.replicate(first, second)
    stage.truncate(second, 0)
    stage.update_channel(first, f"aeron:ipc?alias={'a' * 150}")
    stage.replicate(first, second)
    stage.extend(second, 10_000)


SCRIPTS: Final[dict[str, Callable[[Stage], None]]] = {
    "record": _record,
    "ends": _ends,
    "fronts": _fronts,
    "moves": _moves,
    "meetings": _meetings,
    "channels": _channels,
    "copies": _copies,
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
        random = Random(7)
        stage = SimulatedStage(archive, random, setting.checksum, simulation=simulation)
        stage.pauses = _PAUSES
        stage.replication_channel = f"aeron:udp?endpoint={host.network.ipv4}:0"
        stages.append(stage)
        SCRIPTS[setting.script](stage)
        disk.stop_watching()
        archive.close()
    return disk.points


def restart_points(setting: Setting, progress: Progress, state: State) -> list[FaultPoint]:
    """Start an archive on what a crash has left; the operations of the start."""
    disk = CrashDisk.of(state)
    with Simulation(seed=3) as simulation:
        simulation.clock.advance_ns(_LATER_NS)
        host = simulation.host(disk=disk)
        host.start_driver()
        disk.watch(lambda: progress)
        host.start_archive(**setting.options)
        disk.stop_watching()
    return disk.points


def states_of(setting: Setting, point: FaultPoint) -> list[tuple[str, State]]:
    """What a crash at an operation may leave, by the way of crashing."""
    found = [("kill", point.after_kill())]
    found += [(f"torn-{index}", state) for index, state in enumerate(point.torn)]
    losses = _POWER_LOSSES if setting.sync_level > 0 else 0
    return found + [(f"power-{seed}", power_loss(point, seed)) for seed in range(losses)]


def power_loss(point: FaultPoint, seed: int) -> State:
    """What one of the many ways in which power may be lost leaves."""
    random = Random(f"{point.number} {seed}")
    return point.after_power_loss(random)


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
                random = Random(8)
                checksum = self.setting.checksum
                stage = SimulatedStage(archive, random, checksum, truths, simulation=simulation)
                stage.pauses = _PAUSES
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
        names = self.disk.list_dir(_FOLDER)
        self.unknown = check_times(_FOLDER, self.disk, found, matched)
        check_segments(
            names,
            lambda n: self.disk.read_bytes(f"{_FOLDER}/{n}"),
            found,
            matched,
            nothing_behind=not self.power_lost,
        )
        return matched

    def _go_on(self, stage: Stage) -> None:
        for recording_id in list(stage.truths):
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
