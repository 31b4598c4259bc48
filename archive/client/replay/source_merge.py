"""The one loop of replays by time: sources read through a merge, as steps that never wait.

A merged replay has several sources, a timed replay has one. Operators make batches, messages, paced
messages or a publication from the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.client.replay.merge import BLOCKED, END, TOO_LONG, Merge
from aerolog.archive.client.replay.merged_batch import MergedBatch
from aerolog.archive.client.replay.recording_list import open_recordings
from aerolog.archive.client.replay.replay_source import together
from aerolog.transport.errors import AerologError, NotConnectedError, ResourceClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.archive.client.replay.recording_list import RecordingList
    from aerolog.archive.client.replay.replay_source import Patience, ReplaySource
    from aerolog.archive.client.replay.time_range import Wanted
    from aerolog.archive.client.replay.timed_message import TimedMessage
    from aerolog.transport.client.steps.caller import Parts, Steps
    from aerolog.transport.concurrent.clock import Clock

    OnError = Callable[[int, AerologError], object]

#: Rows and bytes of payload in a batch, unless one message alone is longer.
ROWS_MAX: Final = 4096
PAYLOAD_CAPACITY: Final = 1024 * 1024
#: The most messages in a list; making them must not take long, as the next one may be due.
PART_ROWS: Final = 256
#: Archives allow 20 replays at once, unless they are told otherwise.
REPLAYS_MAX: Final = 16


class SourceMerge:
    """The messages of recordings, merged in time order; gone through once.

    Attributes:
        recordings: the recordings that are replayed.
        sources: the source of each recording, in the same order; empty before `begin`.
        notes: notes on how exact the times are.
        indexed: for each recording, whether its times are from an index.
    """

    def __init__(
        self,
        recordings: RecordingList,
        wanted: Wanted,
        patience: Patience,
        *,
        replays_max: int = REPLAYS_MAX,
        on_error: OnError | None = None,
    ) -> None:
        """Make a merge that has not begun.

        Args:
            recordings: the recordings to replay, which the caller closes.
            wanted: the part that is wanted of each recording.
            patience: how long the merge waits for its sources.
            replays_max: the most replays that are opened ahead.
            on_error: called with the number of a recording that cannot go on, while the others do.
        """
        self.recordings = recordings
        self.sources: list[ReplaySource] = []
        self.notes: tuple[str, ...] = ()
        self.indexed: list[bool] = []
        self._wanted = wanted
        self._patience = patience
        self._replays_max = replays_max
        self._on_error = on_error
        self._ahead: list[ReplaySource] = []
        self._merge = Merge([])
        self._over = 0
        self._closed = False

    def begin(self) -> Steps[None]:
        """Find out which part of each recording is wanted, unless that is known."""
        if self._closed:
            raise ResourceClosedError("the merged replay is closed")
        if self.sources:
            return
        opened = yield from open_recordings(self.recordings, self._wanted, self._patience)
        self.sources = [one.source for one in opened]
        self.indexed = [one.is_indexed for one in opened]
        self.notes = tuple(note for one in opened for note in one.notes)
        self._merge = Merge([source.messages for source in self.sources])
        self._ahead = sorted(
            (source for source in self.sources if source.is_replay),
            key=lambda source: source.messages.floor_ns,
        )

    def batches(
        self,
        rows_max: int = ROWS_MAX,
        payload_capacity: int = PAYLOAD_CAPACITY,
        *,
        reuse: bool = True,
    ) -> Parts[MergedBatch]:
        """Batches as they come; the arguments are those of `MergedReplay.batches`."""
        yield from self.begin()
        batch = MergedBatch(rows_max, payload_capacity)
        waits = _Waits(self.recordings.clock)
        while not self._closed:
            yield from self._open_ahead()
            status = self._merge.run(batch)
            self._merge.settle()
            self.recordings.pump()
            self._let_go()
            error = None
            if status == BLOCKED:
                error, again = yield from self._unblock(waits)
                if again or (error is None and not batch.rows):
                    if not again:
                        yield 0
                    continue
            if batch.rows:
                yield [batch]
                waits.begin_anew()
                if not reuse:
                    batch = MergedBatch(rows_max, payload_capacity)
                batch.clear()
            if error is not None:
                self._lose(error)
            elif status == END:
                return
            elif status == TOO_LONG:
                batch = MergedBatch(rows_max, max(self._merge.needed, payload_capacity))

    def parts(self, rows_max: int = PART_ROWS) -> Iterator[int | list[TimedMessage]]:
        """Lists of messages, or how much was done where there are none now; never waits."""
        batches = self.batches(rows_max)
        try:
            while True:
                with self.recordings:
                    part = next(batches, None)
                if part is None:
                    return
                if isinstance(part, int):
                    yield part
                else:
                    for batch in part:
                        yield batch.messages()
        finally:
            with self.recordings:
                batches.close()

    def turn(self) -> None:
        """Keep up the connections to archives, without waiting."""
        self.recordings.turn()
        self.recordings.pump()

    def close(self) -> None:
        """Close the sources; idempotent."""
        self._closed = True
        for source in self.sources:
            source.close()

    # -- steps -----------------------------------------------------------------------------------

    def _open_ahead(self) -> Steps[None]:
        """Ask for the replays that come next, so many that the archive has as many as it may."""
        if not self._ahead:
            return
        sources = self._known()
        room = self._replays_max - sum(one.is_open for one in sources if one.is_replay)
        chosen: list[ReplaySource] = []
        while self._ahead and len(chosen) < room:
            source = self._ahead.pop(0)
            if source.is_open or source.is_empty:
                continue
            if not self._merge.is_over(sources.index(source)):
                chosen.append(source)
        yield from together([source.open() for source in chosen])

    def _unblock(self, waits: _Waits) -> Steps[tuple[AerologError | None, bool]]:
        """Let the source that blocks the merge go on: its error, or whether to try again."""
        blocked = self._merge.blocked
        source = self._known()[blocked]
        try:
            again = yield from source.go_on(waits.on(blocked))
        except NotConnectedError:
            raise
        except AerologError as error:
            return error, False
        if source.quiet_until_ns is not None:
            again = self._merge.raise_floor(blocked, source.quiet_until_ns) or again
        return None, again

    def _known(self) -> list[ReplaySource]:
        if self._closed:
            raise ResourceClosedError("the merged replay is closed")
        return self.sources

    def _lose(self, error: AerologError) -> None:
        """Go on without the source that has failed, or raise its error without a handler."""
        if self._on_error is None:
            raise error
        number = self._merge.blocked
        self._known()[number].give_up()
        self._on_error(number, error)

    def _let_go(self) -> None:
        """Close what has been read to its end; the others look ahead."""
        for source in self._known():
            source.look_ahead()
        if self._merge.over == self._over:
            return
        self._over = self._merge.over
        for number, source in enumerate(self._known()):
            if self._merge.is_over(number):
                source.close()


class _Waits:
    """For how long the merge has been waiting for one and the same source."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._number = -1
        self._since_ns = 0

    def begin_anew(self) -> None:
        """Take note that the merge waits for no source now."""
        self._number = -1

    def on(self, number: int) -> int:
        """Nanoseconds for which that source has been waited for."""
        now_ns = self._clock.now_ns()
        if number != self._number:
            self._number, self._since_ns = number, now_ns
        return now_ns - self._since_ns
