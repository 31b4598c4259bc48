"""Several recordings, merged in time order into one iterator or one stream.

`MergedReplay` merges recordings of running archives and of folders; `AsyncMergedReplay` does the
same in an event loop. See docs/archive/merged-replay.md.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from aerolog.archive.client.options import NS_PER_SECOND
from aerolog.archive.client.replay.merge import BLOCKED, END, TOO_LONG, Merge
from aerolog.archive.client.replay.merge_publication import forward
from aerolog.archive.client.replay.merged_batch import MergedBatch
from aerolog.archive.client.replay.recording_list import Places, Wanted, open_shares
from aerolog.archive.client.replay.replay_source import together
from aerolog.archive.client.replay.time_range import instant_ns
from aerolog.transport.client.send_retry import is_worth_waiting, raise_timeout
from aerolog.transport.errors import (
    AerologError,
    NotConnectedError,
    ResourceClosedError,
)
from aerolog.transport.resource import AsyncResource, Resource

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from datetime import datetime

    from aerolog.archive.client.aeron_archive import AeronArchive
    from aerolog.archive.client.async_aeron_archive import AsyncAeronArchive
    from aerolog.archive.client.caller import Parts, Steps
    from aerolog.archive.client.replay.recording_list import Place
    from aerolog.archive.client.replay.replay_source import Share
    from aerolog.archive.client.replay.timed_message import TimedMessage
    from aerolog.transport.client import ExclusivePublication

    Instant = int | datetime
    OnError = Callable[[int, AerologError], object]

PartT = TypeVar("PartT")

__all__ = ["AsyncMergedReplay", "MergedReplay", "Published"]

#: Rows and bytes of payload in a batch, unless one message alone is longer.
ROWS_MAX: Final = 4096
PAYLOAD_CAPACITY: Final = 1024 * 1024
#: Messages in a list at most: to make them must not take long, the next one may be due.
PART_ROWS: Final = 256
#: Archives allow 20 replays at once, unless they are told otherwise.
REPLAYS_MAX: Final = 16
TIMEOUT_S: Final = 10.0
LATENESS_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class Published:
    """What has been published onto a stream.

    Attributes:
        messages: their number.
        payload_bytes: the bytes in them.
        position: of the publication, after the last one.
    """

    messages: int
    payload_bytes: int
    position: int


class _Merging:
    """What both forms have in common: steps that never wait."""

    def __init__(
        self,
        archive: Place,
        recordings: Sequence[int | tuple[Place, int]],
        start: Instant | None = None,
        end: Instant | None = None,
        *,
        last_ns: int | None = None,
        follow: bool = False,
        timeout: float | None = TIMEOUT_S,
        lateness: float = LATENESS_S,
        replays_max: int = REPLAYS_MAX,
        on_error: OnError | None = None,
    ) -> None:
        """Prepare a merge; nothing is asked for or read before the first message is.

        Args:
            archive: a client of a running archive, or an archive's folder or its path.
            recordings: ids, or pairs of another archive and an id. Their order decides between
                messages of the same time.
            start: messages before it are left out: nanoseconds since the epoch, or a datetime
                (UTC when it names no zone). None: from the starts of the recordings.
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

        Raises:
            ConfigurationError: no recordings, one twice, or arguments that do not go together.
        """
        self._places = Places.of(archive, recordings)
        self._wanted = Wanted(
            instant_ns(start),
            instant_ns(end),
            last_ns,
            follow,
            None if timeout is None else round(timeout * NS_PER_SECOND),
            round(lateness * NS_PER_SECOND),
        )
        self._replays_max = replays_max
        self._on_error = on_error
        self._shares: list[Share] | None = None
        self._ahead: list[Share] = []
        self._merge = Merge([])
        self._over = 0
        self._notes: tuple[str, ...] = ()
        self._indexed: list[bool] = []
        self._closed = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know of the times, by recording; empty before the first message."""
        return self._notes

    @property
    def indexed(self) -> list[bool]:
        """Of each recording, whether its times are from an index; empty before the first message.

        The others' are spread evenly between the times at which they began and ended.
        """
        return self._indexed

    @property
    def positions(self) -> list[int]:
        """Up to where each recording has been given out, in the order of the recordings."""
        return [share.source.position for share in self._shares or ()]

    def parts(self, rows_max: int = PART_ROWS) -> Iterator[int | list[TimedMessage]]:
        """Lists of messages, or how much was done where there are none now; never waits.

        For what waits by itself, such as a pace.

        Args:
            rows_max: messages in a list at most.
        """
        parts = self._parts(rows_max)
        try:
            while (part := self._next(parts)) is not None:
                if isinstance(part, int):
                    yield part
                else:
                    for batch in part:
                        yield batch.messages()
        finally:
            parts.close()

    def _next(self, parts: Parts[PartT]) -> int | list[PartT] | None:
        """What comes next, with the archives' clients to ourselves meanwhile."""
        with ExitStack() as held:
            for archive in self._places.archives:
                held.enter_context(archive._lock)  # noqa: SLF001 - of one package
            return next(parts, None)

    def turn(self) -> None:
        """Keep up the connections to archives, without waiting."""
        for archive in self._places.archives:
            with archive._lock:  # noqa: SLF001 - of one package
                archive._turn()  # noqa: SLF001
        self._keep_up()

    def _keep_up(self) -> None:
        """Take in what archives send: they end sessions that do not read."""
        for archive in self._places.archives:
            with archive._lock:  # noqa: SLF001
                if not archive.closed:
                    archive._usable().pump()  # noqa: SLF001

    # -- steps -----------------------------------------------------------------------------------

    def _parts(
        self,
        rows_max: int = ROWS_MAX,
        payload_capacity: int = PAYLOAD_CAPACITY,
        *,
        reuse: bool = True,
    ) -> Parts[MergedBatch]:
        """Batches as they come, and how much was done where there are none."""
        yield from self._begin()
        batch = MergedBatch(rows_max, payload_capacity)
        waits = _Waits()
        while not self._closed:
            yield from self._open_ahead()
            status = self._merge.run(batch)
            self._merge.settle()
            self._keep_up()
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

    def _begin(self) -> Steps[None]:
        if self._closed:
            raise ResourceClosedError("the merged replay is closed")
        if self._shares is None:
            opened = yield from open_shares(self._places, self._wanted)
            self._shares, self._notes = opened.shares, opened.notes
            self._indexed = opened.indexed
            self._merge = Merge([share.source for share in opened.shares])
            self._ahead = sorted(
                (share for share in opened.shares if share.is_replay),
                key=lambda share: share.source.floor_ns,
            )

    def _open_ahead(self) -> Steps[None]:
        """Ask for the replays that come next, so many that the archive has as many as it may."""
        if not self._ahead:
            return
        shares = self._known()
        room = self._replays_max - sum(share.is_open for share in shares if share.is_replay)
        chosen: list[Share] = []
        while self._ahead and len(chosen) < room:
            share = self._ahead.pop(0)
            if not share.is_open and not self._merge.is_over(shares.index(share)):
                chosen.append(share)
        yield from together([share.open() for share in chosen])

    def _unblock(self, waits: _Waits) -> Steps[tuple[AerologError | None, bool]]:
        """Have the source go on that the merge waits for: an error, or whether to try again."""
        blocked = self._merge.blocked
        share = self._known()[blocked]
        try:
            again = yield from share.go_on(waits.on(blocked))
        except NotConnectedError:
            raise
        except AerologError as error:
            return error, False
        if share.quiet_until_ns is not None:
            again = self._merge.raise_floor(blocked, share.quiet_until_ns) or again
        return None, again

    def _known(self) -> list[Share]:
        if self._shares is None or self._closed:
            raise ResourceClosedError("the merged replay is closed")
        return self._shares

    def _lose(self, error: AerologError) -> None:
        """Go on without the source that has failed, or not at all."""
        if self._on_error is None:
            raise error
        place = self._merge.blocked
        self._known()[place].give_up()
        self._on_error(place, error)

    def _let_go(self) -> None:
        """Close what has been read to its end; the others look ahead."""
        for share in self._known():
            share.look_ahead()
        if self._merge.over == self._over:
            return
        self._over = self._merge.over
        for place, share in enumerate(self._known()):
            if self._merge.is_over(place):
                share.close()

    def _publishing(
        self,
        publication: ExclusivePublication,
        timeout: float | None,
        on_batch: Callable[[MergedBatch], object] | None,
    ) -> Steps[Published]:
        messages = payload_bytes = 0
        for part in self._parts():
            if isinstance(part, int):
                yield part
                continue
            for batch in part:
                for work in _publish(publication, batch, timeout):
                    self._keep_up()
                    yield work
                messages += batch.rows
                payload_bytes += batch.payload_length
                if on_batch is not None:
                    on_batch(batch)
        return Published(messages, payload_bytes, publication.position)

    def _release(self) -> None:
        self._closed = True
        for share in self._shares or ():
            share.close()
        self._places.close()


def _publish(
    publication: ExclusivePublication, batch: MergedBatch, timeout: float | None
) -> Steps[None]:
    monotonic = publication.conductor.monotonic
    last = monotonic()
    row = 0
    while row < batch.rows:
        taken, result = forward(publication, batch, row)
        if taken > row:
            last = monotonic()
        row = taken
        if row < batch.rows:
            is_worth_waiting(publication, result, "wait")
            if timeout is not None and monotonic() - last >= timeout:
                raise_timeout(publication, result, timeout)
            yield 0


class _Waits:
    """For how long the merge has been waiting for one and the same source."""

    def __init__(self) -> None:
        self._place = -1
        self._since_ns = 0

    def begin_anew(self) -> None:
        """Nobody is waited for now."""
        self._place = -1

    def on(self, place: int) -> int:
        """Nanoseconds for which that source has been waited for."""
        now_ns = time.monotonic_ns()
        if place != self._place:
            self._place, self._since_ns = place, now_ns
        return now_ns - self._since_ns


class MergedReplay(_Merging, Resource):
    """Recordings merged in time order: an iterable of timed messages. A context manager.

    It is gone through once. For a pace, wrap it: ``paced(merged, 2.0)``.

    Example:
        with MergedReplay(archive, [3, 1, 2], start, end) as merged:
            for message in merged:
                print(message.time, message.recording_id, message.payload)
    """

    def messages(self) -> Iterator[TimedMessage]:
        """Messages, copied."""
        for batch in self.batches(reuse=True):
            yield from batch.messages()

    def __iter__(self) -> Iterator[TimedMessage]:
        return self.messages()

    def batches(
        self,
        rows_max: int = ROWS_MAX,
        payload_capacity: int = PAYLOAD_CAPACITY,
        *,
        reuse: bool = False,
    ) -> Iterator[MergedBatch]:
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
        return self._carried_out(self._parts(rows_max, payload_capacity, reuse=reuse))

    def publish(
        self,
        publication: ExclusivePublication,
        *,
        timeout: float | None = TIMEOUT_S,
        on_batch: Callable[[MergedBatch], object] | None = None,
    ) -> Published:
        """Publish all messages onto one stream; the reserved value of each is its recording's id.

        Args:
            publication: of the stream.
            timeout: seconds that a subscriber may take to be there or to make room; None waits on.
            on_batch: called with each batch that has been published.

        Raises:
            NotConnectedError: there was no subscriber in time.
            BackPressuredError: the subscribers made no room in time.
            AerologError: as of `batches`.
        """
        found: list[Published] = []

        def steps() -> Parts[Published]:
            found.append((yield from self._publishing(publication, timeout, on_batch)))

        for _ in self._carried_out(steps()):
            pass
        return found[0]

    def _carried_out(self, parts: Parts[Any]) -> Iterator[Any]:
        try:
            while (part := self._next(parts)) is not None:
                if isinstance(part, int):
                    self._wait(part)
                    continue
                self._wait(len(part))
                yield from part
        finally:
            parts.close()

    def _wait(self, work_count: int) -> None:
        first = True
        for archive in self._places.archives:
            if first:
                cast("AeronArchive", archive)._wait(work_count)  # noqa: SLF001
            else:
                archive._turn()  # noqa: SLF001
            first = False

    def close(self) -> None:
        """End the replays and close what was opened; idempotent."""
        self._release()


class AsyncMergedReplay(_Merging, AsyncResource):
    """As `MergedReplay`, for an event loop: ``async with``, ``async for``.

    Archives are `AsyncAeronArchive` clients of the loop, or folders.
    """

    async def messages(self) -> AsyncIterator[TimedMessage]:
        """Messages, copied."""
        async for batch in self.batches(reuse=True):
            for message in batch.messages():
                yield message

    def __aiter__(self) -> AsyncIterator[TimedMessage]:
        return self.messages()

    def batches(
        self,
        rows_max: int = ROWS_MAX,
        payload_capacity: int = PAYLOAD_CAPACITY,
        *,
        reuse: bool = False,
    ) -> AsyncIterator[MergedBatch]:
        """As `MergedReplay.batches`."""
        return self._carried_out(self._parts(rows_max, payload_capacity, reuse=reuse))

    async def publish(
        self,
        publication: ExclusivePublication,
        *,
        timeout: float | None = TIMEOUT_S,  # noqa: ASYNC109 - for silence, not for the whole
        on_batch: Callable[[MergedBatch], object] | None = None,
    ) -> Published:
        """As `MergedReplay.publish`."""
        found: list[Published] = []

        def steps() -> Parts[Published]:
            found.append((yield from self._publishing(publication, timeout, on_batch)))

        async for _ in self._carried_out(steps()):
            pass
        return found[0]

    async def _carried_out(self, parts: Parts[Any]) -> AsyncIterator[Any]:
        idle_turns = 0
        try:
            while (part := self._next(parts)) is not None:
                if not isinstance(part, int):
                    for one in part:
                        yield one
                idle_turns = await self._pause(part if isinstance(part, int) else 1, idle_turns)
        finally:
            parts.close()

    async def _pause(self, work_count: int, idle_turns: int) -> int:
        turns = idle_turns
        for archive in self._places.archives:
            if archive is self._places.archives[0]:
                client = cast("AsyncAeronArchive", archive)
                turns = await client._pause(work_count, idle_turns)  # noqa: SLF001
            else:
                archive._turn()  # noqa: SLF001
        if not self._places.archives:
            await asyncio.sleep(0)
        return turns

    async def close(self) -> None:
        """End the replays and close what was opened; idempotent."""
        self._release()
