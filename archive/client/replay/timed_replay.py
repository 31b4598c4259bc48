"""Replay of a recording by time, at the pace at which it was recorded or another.

`TimedReplay` gives the messages of a recording, of a running archive or of a folder, each with its
time and each when it is due. `AsyncTimedReplay` does the same in an event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.client.replay.paced_replay import (
    PaceControl,
    both,
    pace,
    pace_async,
    pace_lists,
)
from aerolog.archive.client.replay.recording_list import RecordingList
from aerolog.archive.client.replay.replay_source import Patience
from aerolog.archive.client.replay.source_merge import PART_ROWS, SourceMerge
from aerolog.archive.client.replay.time_range import Wanted, instant_ns
from aerolog.transport.client.steps.caller import WaitingCaller
from aerolog.transport.resource import AsyncResource, Resource
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from datetime import datetime

    from aerolog.archive.client.replay.recording_list import Origin
    from aerolog.archive.client.replay.time_range import TimedRange
    from aerolog.archive.client.replay.timed_message import TimedMessage
    from aerolog.transport.concurrent.clock import Clock

    Instant = int | datetime

_NAP_NS: Final = 50_000
#: Messages made at a time where a pace is kept: the next one may be due meanwhile.
PACED_ROWS: Final = 64

__all__ = ["AsyncTimedReplay", "TimedReplay"]


class _TimedReplayBase(PaceControl):
    """The base of both forms of a timed replay."""

    def __init__(
        self,
        archive: Origin,
        recording_id: int,
        start: Instant | None = None,
        end: Instant | None = None,
        speed: float | None = 1.0,
        *,
        position: int | None = None,
        length: int | None = None,
        follow: bool = False,
        last_ns: int | None = None,
        paused: bool = False,
        timeout: float | None = 10.0,
        clock: Clock | None = None,
    ) -> None:
        """Prepare a replay; nothing is asked for before the first message is.

        Args:
            archive: a client of a running archive, or an archive's folder.
            recording_id: the recording to replay.
            start: messages before it are left out: nanoseconds since the epoch, or a datetime
                (one without a zone is UTC). None: from the start of the recording.
            end: messages at or after it are left out. None: to what is recorded now.
            speed: recorded seconds in one second; None: as fast as can be.
            position: where a message begins, to start there; not together with ``start``.
            length: how many bytes to replay from there.
            follow: go on with a live recording until it stops.
            last_ns: in place of a start: so many nanoseconds before the end. Where no end is
                given, that is now for a live recording, else when it stopped.
            paused: begin paused.
            timeout: seconds without a message after which a replay of an archive counts as
                stalled; None waits on.
            clock: for the pace and wall-clock times; the archive's or the machine's by default.

        Raises:
            ConfigurationError: arguments that do not go together.
        """
        super().__init__(speed, clock=clock, paused=paused)
        self._wanted = Wanted(instant_ns(start), instant_ns(end), position, length, follow, last_ns)
        self._patience = Patience(
            None if timeout is None else round(timeout * NS_PER_S), is_merge=False
        )
        self._recordings = RecordingList(archive, [recording_id], clock)
        self._rows_max = PART_ROWS if speed is None else PACED_ROWS
        self._merge = self._begun_anew()

    @property
    def range(self) -> TimedRange | None:
        """What is replayed, by position and time; None before the first message was asked for."""
        sources = self._merge.sources
        return sources[0].range if sources else None

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how exact the times are: no time index, gaps in it, steps back of the clock."""
        return self._merge.notes

    @property
    def has_index(self) -> bool:
        """Whether times are from a time index, not spread between the recording's ends."""
        return self._merge.indexed == [True]

    def turn(self) -> None:
        """Keep up the connection to the archive, without waiting."""
        self._merge.turn()

    def _begun_anew(self) -> SourceMerge:
        return SourceMerge(self._recordings, self._wanted, self._patience)

    def _parts(self) -> Iterator[int | list[TimedMessage]]:
        """All messages, from the first on each time that they are gone through."""
        self._merge.close()
        self._merge = merge = self._begun_anew()
        try:
            yield from merge.parts(self._rows_max)
        finally:
            merge.close()

    def _release(self) -> None:
        self.stop()
        self._merge.close()
        self._recordings.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._recordings!r}>"


class TimedReplay(_TimedReplayBase, Resource):
    """A replay by time: an iterable of timed messages with a pace. A context manager.

    Any thread may pause, resume, stop and change the speed, while one thread iterates.

    Example:
        with TimedReplay(archive, 7, start, end, speed=2.0) as replay:
            for message in replay:
                print(message.time, message.payload)
    """

    def __iter__(self) -> Iterator[TimedMessage]:
        return pace(self._pacer, self._parts(), self.turn)

    def batches(self, on_wait: Callable[[], object] | None = None) -> Iterator[list[TimedMessage]]:
        """Messages in lists: each has what is due at the time.

        Args:
            on_wait: called while a message is waited for; may raise.
        """
        return pace_lists(self._pacer, self._parts(), both(self.turn, on_wait))

    def find_range(self) -> TimedRange:
        """What is to be replayed, by position; asks, and replays nothing.

        Raises:
            ArchiveError: there is no such recording.
            ConfigurationError: a position outside the recording.
        """
        caller = WaitingCaller(self.turn, lambda _: self._pacer.nap(_NAP_NS), self._recordings)
        caller.carry_out(self._merge.begin())
        return self._merge.sources[0].range

    def close(self) -> None:
        """End the replay; idempotent."""
        self._release()


class AsyncTimedReplay(_TimedReplayBase, AsyncResource):
    """As `TimedReplay`, for an event loop: ``async with``, ``async for``."""

    def __aiter__(self) -> AsyncIterator[TimedMessage]:
        return pace_async(self._pacer, self._parts(), self.turn)

    async def close(self) -> None:
        """End the replay; idempotent."""
        self._release()
