"""Several recordings, merged in time order into one iterator or one stream.

`MergedReplay` merges recordings of running archives and of folders; `AsyncMergedReplay` does the
same in an event loop. See docs/archive/merged-replay.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.archive.client.aeron_archive import AeronArchive
from aerolog.archive.client.replay.merge_publication import forward
from aerolog.archive.client.replay.recording_list import RecordingList
from aerolog.archive.client.replay.replay_source import Patience
from aerolog.archive.client.replay.source_merge import (
    PART_ROWS,
    PAYLOAD_CAPACITY,
    REPLAYS_MAX,
    ROWS_MAX,
    SourceMerge,
)
from aerolog.archive.client.replay.time_range import Wanted, instant_ns
from aerolog.transport.client.send_retry import is_worth_waiting, raise_timeout
from aerolog.transport.client.steps.awaited_caller import AwaitedCaller
from aerolog.transport.client.steps.caller import (
    AwaitedForm,
    Parts,
    WaitingCaller,
    WaitingForm,
    series,
)
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from datetime import datetime

    from aerolog.archive.client.replay.merged_batch import MergedBatch
    from aerolog.archive.client.replay.recording_list import Origin
    from aerolog.archive.client.replay.source_merge import OnError
    from aerolog.archive.client.replay.time_range import TimedRange
    from aerolog.archive.client.replay.timed_message import TimedMessage
    from aerolog.transport.client import ExclusivePublication
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.concurrent.clock import Clock

    Instant = int | datetime

__all__ = ["AsyncMergedReplay", "MergedReplay", "Published"]

TIMEOUT_S: Final = 10.0
LATENESS_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class Published:
    """How much has been published onto a stream.

    Attributes:
        messages: the number of messages.
        payload_bytes: the sum of their payloads in bytes.
        position: the publication's position after the last message.
    """

    messages: int
    payload_bytes: int
    position: int


class _MergedReplayBase(ABC):
    """The base of both forms of a merged replay."""

    def __init__(
        self,
        archive: Origin,
        recordings: Sequence[int | tuple[Origin, int]],
        start: Instant | None = None,
        end: Instant | None = None,
        *,
        last_ns: int | None = None,
        follow: bool = False,
        timeout: float | None = TIMEOUT_S,
        lateness: float = LATENESS_S,
        replays_max: int = REPLAYS_MAX,
        on_error: OnError | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare a merge; nothing is asked for or read before the first message is.

        Args:
            archive: a client of a running archive, or an archive's folder or its path.
            recordings: ids, or pairs of another archive and an id. Their order decides between
                messages of the same time.
            start: messages before it are left out: nanoseconds since the epoch, or a datetime
                (one without a zone is UTC). None: from the starts of the recordings.
            end: messages at or after it are left out. None: to what is recorded now.
            last_ns: in place of a start: so many nanoseconds before the end. Where no end is
                given, that is now when one of the recordings is live, else when the last stopped.
            follow: go on with live recordings until all have stopped.
            timeout: seconds without a message of a replay that the merge waits for, after which
                it counts as stalled; None waits on.
            lateness: with ``follow``: seconds by which a message of one live recording may come
                later than those of another, and still be put in its place.
            replays_max: replays that are opened ahead; more only where recordings overlap.
            on_error: called with the place of a recording among ``recordings`` and the error when
                it cannot go on; the others do. None: the error is raised.
            clock: the clock of waits and wall-clock times; the first archive's by default, or the
                machine's when all recordings are of folders.

        Raises:
            ConfigurationError: no recordings, one twice, or arguments that do not go together.
        """
        wanted = Wanted(instant_ns(start), instant_ns(end), follow=follow, last_ns=last_ns)
        if follow and wanted.end_ns is not None:
            raise ConfigurationError("a merge that follows live recordings has no end in time")
        patience = Patience(
            None if timeout is None else round(timeout * NS_PER_S),
            round(lateness * NS_PER_S),
        )
        if patience.lateness_ns < 0:
            raise ConfigurationError(f"lateness must not be negative: {patience.lateness_ns} ns")
        self._recordings = RecordingList(archive, recordings, clock)
        self._merge = SourceMerge(
            self._recordings, wanted, patience, replays_max=replays_max, on_error=on_error
        )
        self._set_caller()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how exact each recording's times are; empty before the first message."""
        return self._merge.notes

    @property
    def ranges(self) -> list[TimedRange]:
        """What is replayed of each recording; empty before the first message."""
        return [source.range for source in self._merge.sources]

    @property
    def indexed(self) -> list[bool]:
        """Whether the times of each recording are from an index; empty before the first message.

        Without an index, times are spread evenly between a recording's start and its end.
        """
        return self._merge.indexed

    @property
    def positions(self) -> list[int]:
        """The position up to which each recording was delivered, in the order of the recordings."""
        return [source.messages.position for source in self._merge.sources]

    def parts(self, rows_max: int = PART_ROWS) -> Iterator[int | list[TimedMessage]]:
        """Lists of messages, or how much was done where there are none now; never waits.

        It is for callers that wait themselves, such as a paced replay.

        Args:
            rows_max: messages in a list at most.
        """
        return self._merge.parts(rows_max)

    def turn(self) -> None:
        """Keep up the connections to archives, without waiting."""
        self._merge.turn()

    @series
    def batches(
        self,
        rows_max: int = ROWS_MAX,
        payload_capacity: int = PAYLOAD_CAPACITY,
        *,
        reuse: bool = False,
    ) -> Parts[MergedBatch]:
        """Messages in batches of columns.

        Args:
            rows_max: rows in a batch at most.
            payload_capacity: bytes of payload in a batch at most, but for a longer single message.
            reuse: fill the same memory again: a batch is valid until the next one is asked for.

        Raises:
            ArchiveError: an archive has no such recording, or could not replay it.
            RecordingDamagedError: a recording of a folder cannot be read on.
            MergeStalledError: a replay delivers nothing, or has ended before its time.
            NotConnectedError: an archive is gone.
        """
        return self._merge.batches(rows_max, payload_capacity, reuse=reuse)

    def _published(
        self,
        publication: ExclusivePublication,
        timeout: float | None,
        on_batch: Callable[[MergedBatch], object] | None,
    ) -> Parts[Published]:
        messages = payload_bytes = 0
        for part in self._merge.batches():
            if isinstance(part, int):
                yield part
                continue
            for batch in part:
                for work in _publish(publication, batch, timeout):
                    self._recordings.pump()
                    yield work
                messages += batch.rows
                payload_bytes += batch.payload_length
                if on_batch is not None:
                    on_batch(batch)
        yield [Published(messages, payload_bytes, publication.position)]

    @abstractmethod
    def _set_caller(self) -> None:
        """Make the caller that carries steps out; it locks all archives and turns them."""

    def _release(self) -> None:
        self._merge.close()
        self._recordings.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._recordings!r}>"


def _publish(
    publication: ExclusivePublication, batch: MergedBatch, timeout: float | None
) -> Steps[None]:
    patience = Deadline(timeout, publication.conductor.options.clock)
    row = 0
    while row < batch.rows:
        taken, result = forward(publication, batch, row)
        if taken > row:
            patience.restart()
        row = taken
        if row < batch.rows:
            is_worth_waiting(publication, result, "wait")
            if timeout is not None and patience.is_over:
                raise_timeout(publication, result, timeout)
            yield 0


class MergedReplay(_MergedReplayBase, WaitingForm):
    """Recordings merged in time order: an iterable of timed messages and a context manager.

    It can be iterated over once. For a pace, wrap it: ``paced(merged, 2.0)``.

    Example:
        with MergedReplay(archive, [3, 1, 2], start, end) as merged:
            for message in merged:
                print(message.time, message.recording_id, message.payload)
    """

    def _set_caller(self) -> None:
        first = next(iter(self._recordings.archives), None)
        idle = first.caller.idle if isinstance(first, AeronArchive) else lambda _: None
        self.caller = WaitingCaller(self._recordings.turn, idle, self._recordings)

    def messages(self) -> Iterator[TimedMessage]:
        """Messages, copied."""
        for batch in self.batches(reuse=True):
            yield from batch.messages()

    def __iter__(self) -> Iterator[TimedMessage]:
        return self.messages()

    def publish(
        self,
        publication: ExclusivePublication,
        *,
        timeout: float | None = TIMEOUT_S,
        on_batch: Callable[[MergedBatch], object] | None = None,
    ) -> Published:
        """Publish all messages onto one stream; the reserved value of each is its recording's id.

        Args:
            publication: the publication of the stream.
            timeout: seconds that a subscriber may take to be there or to make room; None waits on.
            on_batch: called with each batch that has been published.

        Raises:
            NotConnectedError: there was no subscriber in time.
            BackPressuredError: the subscribers made no room in time.
            AerologError: any error of `batches`.
        """
        parts = self._published(publication, timeout, on_batch)
        (published,) = self.caller.iterate(parts)
        return published

    def close(self) -> None:
        """End the replays and close what was opened; idempotent."""
        self._release()


class AsyncMergedReplay(_MergedReplayBase, AwaitedForm):
    """As `MergedReplay`, for an event loop: ``async with``, ``async for``.

    Archives are `AsyncAeronArchive` clients of the loop, or folders.
    """

    def _set_caller(self) -> None:
        self.caller = AwaitedCaller(self._recordings.turn, self._recordings)

    async def messages(self) -> AsyncIterator[TimedMessage]:
        """Messages, copied."""
        async for batch in self.batches(reuse=True):
            for message in batch.messages():
                yield message

    def __aiter__(self) -> AsyncIterator[TimedMessage]:
        return self.messages()

    async def publish(
        self,
        publication: ExclusivePublication,
        *,
        timeout: float | None = TIMEOUT_S,  # noqa: ASYNC109 - for silence, not for the whole
        on_batch: Callable[[MergedBatch], object] | None = None,
    ) -> Published:
        """As `MergedReplay.publish`."""
        parts = self._published(publication, timeout, on_batch)
        (published,) = [one async for one in self.caller.iterate(parts)]
        return published

    async def close(self) -> None:
        """End the replays and close what was opened; idempotent."""
        self._release()
