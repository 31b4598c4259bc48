"""Replay by time onto a channel, at a pace.

The archive replays natively, bounded by a counter of this client, and the client moves the counter
along the recording's time index: each entry's bytes are released when the entry is due. So the
messages do not pass through this process, any subscriber sees them, and they keep the recording's
positions; during a pause the counter does not move. The pace is as fine as the index. The counter
only takes positions of index entries, which are frame boundaries: a bounded replay whose limit lies
within a frame would never go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.client.client_base import ArchiveClientState
from aerolog.archive.client.replay.archive_replay import image_session_id
from aerolog.archive.client.replay.paced_replay import PaceControl
from aerolog.archive.client.replay.recording_times import LAST_FETCH, find_range
from aerolog.archive.client.replay.time_range import Wanted, instant_ns, notes_of
from aerolog.archive.protocol.counter_types import RECORDING_KEY, ArchiveCounterType
from aerolog.archive.time_index import SOURCE_DESCRIPTOR
from aerolog.transport.errors import ConfigurationError, TimeIndexUnavailableError
from aerolog.transport.resource import Resource
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from aerolog.archive.client.aeron_archive import AeronArchive
    from aerolog.archive.client.replay.time_range import TimedRange
    from aerolog.archive.time_index import TimeIndex
    from aerolog.transport.client.client_counters import Counter

    Instant = int | datetime

#: Type of the counter, one of those that applications may use.
_LOOK_NS: Final = 20_000_000


class ChannelReplay(PaceControl, Resource):
    """A recording that an archive replays onto a channel at its recorded pace, or another.

    It is a context manager, at whose end the replay ends. The archive has to use the same driver
    as its client.

    Example:
        with ChannelReplay(archive, 7, "aeron:udp?endpoint=host:4000", 10, speed=2.0) as replay:
            replay.begin()
            replay.run()
    """

    def __init__(
        self,
        archive: AeronArchive,
        recording_id: int,
        channel: str | ChannelUri,
        stream_id: int,
        start: Instant | None = None,
        end: Instant | None = None,
        speed: float | None = 1.0,
        *,
        position: int | None = None,
        length: int | None = None,
        follow: bool = False,
        last_ns: int | None = None,
        paused: bool = False,
    ) -> None:
        """Prepare the replay; arguments as for `TimedReplay`, and the channel and stream to use.

        A datetime without a zone is UTC.

        Raises:
            ConfigurationError: arguments do not go together, or the archive's driver is not this
                client's, so that the archive does not see the client's counter.
        """
        super().__init__(speed, clock=archive.options.clock, paused=paused)
        if not ChannelUri.parse(archive.options.request_channel).is_ipc:
            raise ConfigurationError(
                "the pace of a replay onto a channel is kept by a counter of the archive's driver: "
                f"ask the archive by aeron:ipc there, not by {archive.options.request_channel}"
            )
        self._archive = archive
        self._channel = str(channel)
        self._stream_id = stream_id
        self._clock = archive.options.clock
        self._recording_id = recording_id
        self._wanted = Wanted(instant_ns(start), instant_ns(end), position, length, follow, last_ns)
        self._counter: Counter | None = None
        self._part: TimedRange | None = None
        self.notes: tuple[str, ...] = ()
        self.replay_session_id: int | None = None

    @property
    def archive(self) -> AeronArchive:
        """The client of the archive that replays."""
        return self._archive

    @property
    def range(self) -> TimedRange | None:
        """What is replayed, None before it began."""
        return self._part

    @property
    def session_id(self) -> int | None:
        """Session id of the replay's publication, None before it began."""
        replay = self.replay_session_id
        return None if replay is None else image_session_id(replay)

    @property
    def released_position(self) -> int:
        """The position up to which the archive may replay now."""
        return 0 if self._counter is None else self._counter.value

    def begin(self) -> TimedRange:
        """Have the archive begin; nothing is let through before `run`.

        Raises:
            ArchiveError: there is no such recording, or the archive refuses.
            ConfigurationError: the recording has no time index to keep a pace by, or the position
                lies outside.
        """
        archive = self._archive
        part = archive.caller.carry_out(
            find_range(archive.conversation, self._recording_id, self._wanted)
        )
        index = self._times(part, part.start_position)
        if index.source == SOURCE_DESCRIPTOR:
            raise _no_index(part.recording_id)
        self.notes = notes_of(index, part.descriptor)
        kind = ArchiveCounterType.REPLAY_LIMIT
        self._counter = counter = archive.aeron.add_counter(
            kind,
            f"{kind.label}: recordingId={part.recording_id}",
            RECORDING_KEY.numbers.pack(part.recording_id),
        )
        counter.value = part.start_position
        self._part = part
        self.replay_session_id = archive.start_replay(
            part.recording_id,
            self._channel,
            self._stream_id,
            position=part.start_position,
            length=part.length,
            follow=part.end_position is None,
            limit_counter_id=counter.counter_id,
        )
        return part

    def run(self, on_wait: Callable[[], object] | None = None) -> bool:
        """Release the recording at its pace, until all of it is released.

        Args:
            on_wait: called at intervals; a true result ends the replay.

        Returns:
            Whether all was released: False when the replay was stopped.

        Raises:
            ArchiveError: the archive refused to give further times.
        """
        part = self._part or self.begin()
        looked_ns = 0
        for time_ns, position in self._releases(part):
            while not self._pacer.wait(time_ns, _LOOK_NS):
                if self._pacer.stopped or self._turned(on_wait):
                    return False
            now_ns = self._clock.now_ns()
            if now_ns - looked_ns >= _LOOK_NS:
                looked_ns = now_ns
                if self._turned(on_wait):
                    return False
            self._release(position)
        return not self._pacer.stopped

    def _release(self, position: int) -> None:
        counter = self._counter
        if counter is not None and position > counter.value:
            counter.value = position

    def _turned(self, on_wait: Callable[[], object] | None) -> object:
        self._archive.conversation.keep_up()
        return on_wait is not None and on_wait()

    def _releases(self, part: TimedRange) -> Iterator[tuple[int, int]]:
        """The positions that may be released and the times at which they are due, in order."""
        released = begin = part.start_position
        time_ns: int | None = None
        while True:
            recorded, live = self._recorded(part)
            index = self._times(part, begin)
            if time_ns is None:
                time_ns = index.estimate_at(begin)
            for times, positions in index.entry_blocks():
                for entry_ns, position in zip(times, positions, strict=True):
                    if position > released:
                        yield time_ns, self._limit(part, position, recorded)
                        released = position
                    if position >= part.start_position:
                        time_ns = entry_ns
                    if part.end_position is not None and position >= part.end_position:
                        return
            begin = max(released, min(begin + LAST_FETCH, recorded))
            if begin >= recorded and (not live or part.end_position is not None):
                yield time_ns, self._limit(part, recorded, recorded)
                return
            if begin >= recorded:
                # Due already: only what changes the pace is waited for.
                yield time_ns, released
                self._pacer.nap(_LOOK_NS)

    def _limit(self, part: TimedRange, position: int, recorded: int) -> int:
        """The limit for the replay: a frame boundary, although the requested end may be none."""
        end = part.end_position
        return recorded if end is not None and position >= end else position

    def _recorded(self, part: TimedRange) -> tuple[int, bool]:
        """The position that the recording has reached, and whether it goes on."""
        live = self._archive.recording_position(part.recording_id) is not None
        recorded = self._archive.max_recorded_position(part.recording_id)
        return part.start_position if recorded is None else recorded, live

    def _times(self, part: TimedRange, begin: int) -> TimeIndex:
        try:
            return self._archive.time_index(part.recording_id, begin, begin + LAST_FETCH)
        except TimeIndexUnavailableError as error:
            raise _no_index(part.recording_id) from error

    def close(self) -> None:
        """End the replay; idempotent."""
        self.stop()
        counter, self._counter = self._counter, None
        replay, self.replay_session_id = self.replay_session_id, None
        try:
            if replay is not None and self._archive.state is ArchiveClientState.CONNECTED:
                self._archive.stop_replay(replay)
        finally:
            if counter is not None:
                counter.close()

    def __repr__(self) -> str:
        return (
            f"<ChannelReplay recording_id={self._recording_id} {self._channel}"
            f" stream_id={self._stream_id}>"
        )


def _no_index(recording_id: int) -> ConfigurationError:
    return ConfigurationError(
        f"recording {recording_id} has no time index, by which a replay onto a channel keeps its "
        f"pace: make one with aerolog recordings times {recording_id} --rebuild, or replay as fast "
        "as can be"
    )
