"""One recording subscription from start to stop, as `aerolog record` drives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerolog.archive.client import RecordingSignal, SourceLocation
from aerolog.tools.connection.idle import sleeping_idle
from aerolog.tools.connection.liveness import Watch
from aerolog.tools.recordings.recording_waits import wait_recorded, wait_stopped
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.client import AeronArchive, RecordingSignalEvent
    from aerolog.transport.client import Aeron, Subscription
    from aerolog.transport.concurrent.deadline import Deadline

_COUNT_BATCH = 1024


@dataclass(slots=True)
class Recorded:
    """A recording that the subscription has begun.

    Attributes:
        recording_id: the id that the archive gave.
        session_id: the session id of the publication.
        start_position: the position at which it began.
        stop_position: the position at which it ended, None while it goes on.
        messages: counted, when they are.
        counted_position: after the last message counted.
        replay: the replay by which messages are counted, None without one.
    """

    recording_id: int
    session_id: int
    start_position: int
    stop_position: int | None = None
    messages: int = 0
    counted_position: int = 0
    replay: Subscription | None = None


class Recorder:
    """Records a channel and stream and tells what becomes of it.

    Attributes:
        recordings: the recordings by their ids, in order of their beginning.
    """

    def __init__(
        self,
        aeron: Aeron,
        archive: AeronArchive,
        channel: str,
        stream_id: int,
        *,
        location: SourceLocation,
        count_messages: bool,
        on_event: Callable[[str, Recorded], object],
    ) -> None:
        """Starts recording.

        Args:
            aeron: the client for a subscription of its own, to count messages.
            archive: the archive that records.
            channel: the channel to record.
            stream_id: the stream to record.
            location: LOCAL or REMOTE.
            count_messages: over IPC by a subscription made before the recording starts; of other
                channels, which often only one can subscribe to, by replays that follow.
            on_event: called with "started" or "stopped" and the recording.
        """
        self.recordings: dict[int, Recorded] = {}
        self._archive = archive
        self._watch = Watch(aeron, archive)
        self._on_event = on_event
        self._counting: Subscription | None = None
        self._counts_replays = False
        if count_messages:
            self._counts_replays = not ChannelUri.parse(channel).is_ipc
            if not self._counts_replays:
                self._counting = aeron.add_subscription(channel, stream_id)
        self._subscription_id = archive.start_recording(channel, stream_id, location)

    @property
    def messages(self) -> int:
        """Messages counted in all recordings."""
        return sum(recorded.messages for recorded in self.recordings.values())

    def run(
        self,
        *,
        until: Deadline | None,
        messages: int | None,
        until_end: bool,
        on_turn: Callable[[], object],
    ) -> None:
        """Follows the recordings.

        Args:
            until: when to return; None for never.
            messages: return when so many are recorded.
            until_end: return when every recording that began has ended.
            on_turn: called every time around.

        Raises:
            AerologError: the driver or the archive is gone.
        """
        idle = sleeping_idle()
        while until is None or not until.is_over:
            work = self._take_signals()
            if messages is not None:
                work += self._count(messages)
                if self.messages >= messages:
                    self._wait_for_counted()
                    return
            if until_end and self.recordings and not self._active():
                return
            on_turn()
            self._watch()
            idle(work)

    def stop(self) -> None:
        """Stops what still goes on and waits for the stop positions, if there is an archive."""
        if self._counting is not None:
            self._counting.close()
        for recorded in self.recordings.values():
            if recorded.replay is not None:
                recorded.replay.close()
        if self._archive.is_disconnected or self._archive.aeron.closed:
            return
        self._archive.try_stop_recording_subscription(self._subscription_id)
        self._take_signals()
        for recorded in self._active():
            self._stopped(recorded, wait_stopped(self._archive, recorded.recording_id))

    def _active(self) -> list[Recorded]:
        return [one for one in self.recordings.values() if one.stop_position is None]

    def _take_signals(self) -> int:
        signals = self._archive.poll_signals()
        for signal in signals:
            if signal.subscription_id == self._subscription_id:
                self._on_signal(signal)
        return len(signals)

    def _on_signal(self, signal: RecordingSignalEvent) -> None:
        if signal.signal == RecordingSignal.START:
            descriptor = self._archive.list_recording(signal.recording_id)
            session_id = 0 if descriptor is None else descriptor.session_id
            recorded = Recorded(signal.recording_id, session_id, signal.position)
            self.recordings[signal.recording_id] = recorded
            self._on_event("started", recorded)
            if self._counts_replays:
                recorded.replay = self._archive.replay(signal.recording_id, signal.position)
        elif signal.signal == RecordingSignal.STOP and signal.recording_id in self.recordings:
            self._stopped(self.recordings[signal.recording_id], signal.position)

    def _stopped(self, recorded: Recorded, position: int) -> None:
        if recorded.stop_position is None:
            recorded.stop_position = position
            self._on_event("stopped", recorded)

    def _count(self, wanted: int) -> int:
        """Counts messages of sessions whose recording has begun; others wait in their logs."""
        if self._counting is None:
            return sum(self._count_replay(one, wanted) for one in self.recordings.values())
        by_session = {recorded.session_id: recorded for recorded in self.recordings.values()}
        work = 0
        for image in self._counting.images:
            recorded = by_session.get(image.session_id)
            missing = wanted - self.messages
            if recorded is not None and missing > 0:
                work += image.poll(_Counter(recorded), min(missing, _COUNT_BATCH))
        return work

    def _count_replay(self, recorded: Recorded, wanted: int) -> int:
        missing = wanted - self.messages
        if recorded.replay is None or missing <= 0:
            return 0
        return recorded.replay.poll(_Counter(recorded), min(missing, _COUNT_BATCH))

    def _wait_for_counted(self) -> None:
        for recorded in self._active():
            if recorded.messages:
                wait_recorded(self._archive, recorded.recording_id, recorded.counted_position)


class _Counter:
    """Handler that counts the messages of one session from where its recording begins."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded

    def __call__(self, _payload: memoryview, header: Any) -> None:
        position = header.position
        if position > self._recorded.start_position:
            self._recorded.messages += 1
            self._recorded.counted_position = position
