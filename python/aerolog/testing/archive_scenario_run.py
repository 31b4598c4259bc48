"""Scenarios with an archive: what was recorded is what was sent, whatever happened to the archive.

Every stream is recorded. At the end every recording is replayed, whole and from somewhere in its
middle, and compared with what the publication's log took.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.protocol import NULL_POSITION
from aerolog.testing.scenario_run import ScenarioRun
from aerolog.testing.scenarios import Harm, Kind
from aerolog.testing.streams import StreamCheckError
from aerolog.transport.errors import ActiveArchiveError, AerologError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.client import AeronArchive
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.testing.hosts import SimulatedHost
    from aerolog.testing.scenario_run import Outcome
    from aerolog.testing.scenarios import HarmPlan, Scenario
    from aerolog.testing.streams import SentStream

_RETRY_S: Final = 1.0
_DISK_SIZE: Final = 1 << 40


class ArchiveScenarioRun(ScenarioRun):
    """A scenario in which every stream of the first host is recorded."""

    def __init__(self, scenario: Scenario, trace: Callable[[str], object] | None = None) -> None:
        super().__init__(scenario, trace)
        self._archive: AeronArchive | None = None
        self._options: dict[str, Any] = {
            "file_sync_level": self.simulation.random.choice((0, 0, 1, 2)),
            "record_checksum": self.simulation.random.choice((None, "CRC-32")),
            "segment_file_length": self.simulation.random.choice(("64k", "256k")),
        }
        #: By recording id: position that the archive had told of when it lost power.
        self._promised: dict[int, int] = {}

    def _start_host(self, host: SimulatedHost) -> None:
        super()._start_host(host)
        self._start_archive(host)

    def _start_archive(self, host: SimulatedHost) -> None:
        """Start it and record; later when the mark file says that another one lives."""
        try:
            host.start_archive(**self._options)
        except ActiveArchiveError:
            self._at(_RETRY_S, lambda: self._start_archive(host))
            return
        client = host.connect(on_error=self._on_client_error)
        self._archive = archive = host.connect_archive(client)
        for stream in self.scenario.streams:
            archive.start_recording("aeron:ipc", stream.stream_id)

    def _set_up(self) -> None:
        super()._set_up()
        self.simulation.add_party("supervisor", self._supervise)

    def _supervise(self) -> int:
        """Start the archive again when it has ended because its client was given up."""
        (host,) = self._hosts
        if host.archive is None or not host.archive.is_closed:
            return 0
        if not self._may_end:
            raise StreamCheckError("the archive ended without a reason")
        self.simulation.note("the archive has ended")
        host.stop_archive()
        self._drop_session(host)
        self._at(_RETRY_S, lambda: self._start_archive(host))
        return 1

    def _do_harm(self, plan: HarmPlan) -> None:
        host = self._hosts[plan.host]
        if plan.harm is Harm.KILL_ARCHIVE:
            self.simulation.note(f"harm: {plan}")
            host.kill_archive()
            self._drop_session(host)
            self._at(plan.lasts_s, lambda: self._start_archive(host))
        elif plan.harm is Harm.FULL_DISK:
            host.disk.fill_up(int(self.simulation.random.random() * 100_000))
            self.simulation.note(f"harm: {plan}, {host.disk.free_bytes} bytes left")
            self._at(plan.lasts_s, lambda: self._free_disk(host))
        elif plan.harm is Harm.POWER_CUT:
            self.simulation.note(f"harm: {plan}")
            self._note_promises()
            host.kill()
            self._archive = None
            # Without syncs nothing is promised, not even that older segments are whole.
            host.disk.restart(lose_unsynced=self._options["file_sync_level"] > 0)
            self._lose(lambda role: role.host is host)
            self._at(max(plan.lasts_s, 2.5), lambda: self._restart(host))
        else:
            super()._do_harm(plan)

    def _drop_session(self, host: SimulatedHost) -> None:
        archive, self._archive = self._archive, None
        if archive is not None:
            host.kill_client(archive.aeron)

    def _free_disk(self, host: SimulatedHost) -> None:
        """Make room, and record again: a recording that failed keeps its publisher waiting."""
        host.disk.capacity_bytes = _DISK_SIZE
        self.simulation.note("the disk has room again")
        archive = self._archive
        if archive is None:
            return
        with contextlib.suppress(AerologError):  # it may have ended, or end now
            for stream in self.scenario.streams:
                archive.try_stop_recording("aeron:ipc", stream.stream_id)
                archive.start_recording("aeron:ipc", stream.stream_id)

    def _note_promises(self) -> None:
        """What a synced archive has told of survives a loss of power."""
        if self._options["file_sync_level"] == 0 or self._archive is None:
            return
        with contextlib.suppress(AerologError):  # it may be about to end
            for recording in self._archive.recordings():
                counter = self._archive.recording_position_counter(recording.recording_id)
                if counter is not None:
                    self._promised[recording.recording_id] = counter.value

    # -- what has to hold ------------------------------------------------------------------------

    def _epilogue(self) -> None:
        if self._may_end:  # let those die who have stalled for too long, and be replaced
            self._run_until(self._stalls_are_short, "long stalls to end")
            self.simulation.run(timeout=0.5)
        self._run_until(self._agenda_is_done, "the archive to be there")
        archive = self._archive
        if self._may_end or archive is None:
            archive = self._archive = self._hosts[0].connect_archive()
        self._run_until(lambda: self._all_stopped(archive), "the recordings to stop")
        for recording in list(archive.recordings()):
            self._check_recording(archive, recording)
        if not self._may_end:
            self._check_wholeness(archive)
        archive.close()

    def _stalls_are_short(self) -> bool:
        """A replay is given up when its archive stalls for long."""
        soon_ns = self.simulation.clock.now_ns() + self.simulation.pace.stall_ns
        return all(party.ready_ns <= soon_ns for party in self.simulation.parties)

    def _all_stopped(self, archive: AeronArchive) -> bool:
        return all(r.stop_position != NULL_POSITION for r in archive.recordings())

    def _check_recording(self, archive: AeronArchive, recording: RecordingDescriptor) -> None:
        stream = self.ledger.streams.get((recording.session_id, recording.stream_id))
        start, stop = recording.start_position, recording.stop_position
        if stream is None:
            if start != stop:
                raise StreamCheckError(f"a recording of what nobody sent: {recording}")
            return
        promised = self._promised.get(recording.recording_id, 0)
        if stop < promised:
            raise StreamCheckError(
                f"{promised} was recorded and synced, {stop} is left: {recording}"
            )
        self._check_replay(archive, recording, stream, start)
        inside = [s for s in stream.starts if start < s < stop]
        if inside:
            self._check_replay(archive, recording, stream, self.simulation.random.choice(inside))

    def _check_replay(
        self, archive: AeronArchive, recording: RecordingDescriptor, stream: SentStream, start: int
    ) -> None:
        first = stream.first_from(start)
        last = bisect_right(stream.positions, recording.stop_position)
        found = list(archive.read(recording.recording_id, start))
        expected = list(zip(stream.positions[first:last], stream.messages[first:last], strict=True))
        if [(message.position, message.data) for message in found] != expected:
            raise StreamCheckError(
                f"recording {recording.recording_id} from {start} replays {len(found)} messages, "
                f"{len(expected)} were recorded: {recording}"
            )
        self.simulation.note(f"replayed {len(found)} of recording {recording.recording_id}")

    def _check_wholeness(self, archive: AeronArchive) -> None:
        """Without harm to the archive every stream is recorded from its first to its last byte."""
        recorded = {
            (r.session_id, r.stream_id): (r.start_position, r.stop_position)
            for r in archive.recordings()
        }
        for key, stream in self.ledger.streams.items():
            start, stop = recorded.get(key, (0, 0))
            if start != 0 or stop < stream.position:
                raise StreamCheckError(f"{stream} is recorded from {start} to {stop}")


def run_scenario(scenario: Scenario, trace: Callable[[str], object] | None = None) -> Outcome:
    """Run a scenario to its end.

    Args:
        scenario: the scenario to run.
        trace: is given a line for everything that happens.

    Raises:
        StreamCheckError: something did not hold.
        SimulationTimeoutError: something did not happen.
    """
    make = ArchiveScenarioRun if scenario.kind is Kind.ARCHIVE else ScenarioRun
    return make(scenario, trace).run()
