"""Follows a replication from its start to its end, as `aerolog recordings replicate` shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.client import RecordingSignal
from aerolog.tools.connection.idle import sleeping_idle
from aerolog.tools.connection.liveness import Watch
from aerolog.transport.concurrent.deadline import Deadline, Interval
from aerolog.transport.errors import AeronTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.client import AeronArchive, RecordingSignalEvent
    from aerolog.tools.recordings.source_position import SourceEnd

NO_RECORDING: Final = -1
_ASK_EVERY_S: Final = 0.1


@dataclass(slots=True)
class Replicated:
    """What has become of a replication.

    Attributes:
        replication_id: the id that the archive gave.
        recording_id: the id of the destination, None before it is there.
        start_position: the position in the destination at which this replication began.
        position: the position up to which the destination is recorded.
        synced: whether it has all of a stopped source.
        merged: whether it has joined the live stream and goes on recording that.
        ended: whether the replication is over.
        stopped: whether the destination is not being recorded any more.
    """

    replication_id: int
    recording_id: int | None = None
    start_position: int | None = None
    position: int | None = None
    synced: bool = False
    merged: bool = False
    ended: bool = False
    stopped: bool = True

    def row(self) -> dict[str, Any]:
        """The state as JSON."""
        return {
            "replication_id": self.replication_id,
            "recording_id": self.recording_id,
            "start_position": self.start_position,
            "position": self.position,
            "synced": self.synced,
            "merged": self.merged,
        }


class Replicator:
    """One replication of the archive that a client is connected to.

    Attributes:
        state: what has become of it so far.
    """

    def __init__(
        self,
        archive: AeronArchive,
        replication_id: int,
        *,
        on_signal: Callable[[RecordingSignalEvent], object],
    ) -> None:
        """Begins to follow.

        Args:
            archive: the archive that replicates.
            replication_id: the id that the archive gave.
            on_signal: called with each signal of the replication.
        """
        self.state = Replicated(replication_id)
        self._archive = archive
        self._watch = Watch(archive.aeron, archive)
        self._on_signal = on_signal
        self._asks = Interval(_ASK_EVERY_S)
        self._stop_deadline: Deadline | None = None

    def run(
        self,
        on_position: Callable[[int, int | None], object],
        source: SourceEnd | None,
        *,
        on_turn: Callable[[], object] | None = None,
    ) -> Replicated:
        """Follows the replication to its end, and its recording to its stop where it has one.

        Args:
            on_position: called with the bytes replicated, and how many there are where that is
                known.
            source: tells how far the source is.
            on_turn: called every time around; what it raises ends the following.

        Raises:
            ArchiveError: it failed; the archive says why.
            AerologError: the driver or the archive is gone.
        """
        idle = sleeping_idle()
        while not self._is_over():
            work = self._take_signals()
            self._watch()
            self._ask_position()
            start, position = self.state.start_position, self.state.position
            whole = None if source is None else source.poll()
            if start is not None and position is not None:
                on_position(position - start, None if whole is None else whole - start)
            if on_turn is not None:
                on_turn()
            idle(work)
        self._ask_final()
        return self.state

    def stop(self) -> Replicated:
        """Ends the replication and waits until the archive has: what is there is a recording.

        Raises:
            AeronTimeoutError: the archive does not say that it has ended.
        """
        archive = self._archive
        archive.try_stop_replication(self.state.replication_id)
        idle = sleeping_idle()
        deadline = Deadline(archive.options.message_timeout)
        while not self._is_over():
            work = self._take_signals()
            if deadline.is_over:
                raise AeronTimeoutError(
                    f"replication {self.state.replication_id} has not ended; "
                    f"aerolog recordings stop-replication {self.state.replication_id} tries again"
                )
            idle(work)
        self._ask_final()
        return self.state

    def _is_over(self) -> bool:
        """Whether nothing more is to come.

        Raises:
            AeronTimeoutError: the replication is over, and its recording goes on all the same.
        """
        state = self.state
        if not state.ended or state.stopped or state.merged:
            return state.ended
        if self._stop_deadline is not None and self._stop_deadline.is_over:
            raise AeronTimeoutError(
                f"replication {state.replication_id} is over, and recording {state.recording_id} "
                "has not stopped"
            )
        return False

    def _take_signals(self) -> int:
        signals = self._archive.poll_signals()
        for signal in signals:
            if signal.correlation_id == self.state.replication_id:
                self._take(signal)
                self._on_signal(signal)
        return len(signals)

    def _take(self, signal: RecordingSignalEvent) -> None:
        state = self.state
        if signal.recording_id != NO_RECORDING:
            state.recording_id = signal.recording_id
        if signal.signal == RecordingSignal.EXTEND:
            state.start_position = state.position = signal.position
            state.stopped = False
        elif signal.signal == RecordingSignal.SYNC:
            state.synced = True
            state.position = signal.position
        elif signal.signal == RecordingSignal.MERGE:
            state.merged = True
        elif signal.signal == RecordingSignal.STOP:
            state.stopped = True
            state.position = signal.position
        elif signal.signal == RecordingSignal.REPLICATE_END:
            state.ended = True
            self._stop_deadline = Deadline(self._archive.options.message_timeout)

    def _ask_position(self) -> None:
        state = self.state
        if state.recording_id is None or state.stopped or not self._asks.is_due():
            return
        position = self._archive.recording_position(state.recording_id)
        if position is not None:
            state.position = position

    def _ask_final(self) -> None:
        if self.state.recording_id is not None:
            self.state.position = self._archive.max_recorded_position(self.state.recording_id)
