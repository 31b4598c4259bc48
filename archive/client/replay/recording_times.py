"""The times of a running archive's recording, fetched as they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.client import request, time_queries
from aerolog.archive.client.replay.time_range import TimedRange, bounds_of, is_exact
from aerolog.archive.time_index import SOURCE_DESCRIPTOR, TimeIndex
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode, TimeIndexUnavailableError
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from aerolog.archive.client.conversation import Conversation
    from aerolog.archive.client.replay.time_range import Wanted
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.transport.client.steps.caller import Steps

#: The end of a recording that goes on, which is behind every position.
NO_END: Final = 2**63 - 1
#: Bytes of the stream whose times are fetched at once: little at first, twice as much each time.
FIRST_FETCH: Final = 4 * 1024 * 1024
LAST_FETCH: Final = 64 * 1024 * 1024
#: A live recording's times are asked for again after so long.
AGAIN_NS: Final = 20_000_000


def descriptor_index(descriptor: RecordingDescriptor, recorded: int | None) -> TimeIndex:
    """The times of a recording that its descriptor alone gives."""
    stopped = not descriptor.is_active
    end = descriptor.stop_position if stopped else recorded
    return TimeIndex.from_entries(
        (),
        (),
        recording_id=descriptor.recording_id,
        source=SOURCE_DESCRIPTOR,
        start_position=descriptor.start_position,
        end_position=descriptor.start_position if end is None else end,
        start_time_ns=descriptor.start_timestamp * NS_PER_MS,
        end_time_ns=(descriptor.stop_timestamp + 1) * NS_PER_MS if stopped else None,
    )


def describe(conversation: Conversation, recording_id: int) -> Steps[RecordingDescriptor]:
    """The descriptor of a recording.

    Raises:
        ArchiveError: UNKNOWN_RECORDING.
    """
    descriptor = yield from conversation.ask(request.list_recording(recording_id))
    if descriptor is None:
        raise ArchiveError(
            ArchiveErrorCode.UNKNOWN_RECORDING, f"unknown recording id: {recording_id}"
        )
    return descriptor


def find_end(
    conversation: Conversation, descriptor: RecordingDescriptor, recorded: int, *, is_live: bool
) -> Steps[int]:
    """The time at which a recording ended, in epoch nanoseconds; now when it goes on."""
    if is_live:
        return conversation.clock.now_epoch_ns()
    try:
        return (yield from time_queries.find_time(conversation, descriptor.recording_id, recorded))
    except (TimeIndexUnavailableError, ArchiveError):
        # The archive keeps no index, or none that knows when this part was recorded.
        return descriptor_index(descriptor, recorded).estimate_at(recorded)


def find_range(conversation: Conversation, recording_id: int, wanted: Wanted) -> Steps[TimedRange]:
    """The part of a running archive's recording that is wanted.

    Raises:
        ArchiveError: there is no such recording.
        ConfigurationError: a position outside the recording.
    """
    descriptor = yield from describe(conversation, recording_id)
    found = yield from conversation.ask_position("max recorded position", recording_id)
    live = yield from conversation.ask_position("recording position", recording_id)
    recorded = descriptor.start_position if found is None else found
    if wanted.last_ns is not None:
        end_ns = yield from find_end(conversation, descriptor, recorded, is_live=live is not None)
        wanted = wanted.before(end_ns)
    bounds = yield from _find_bounds(conversation, descriptor, wanted)
    follow = wanted.follow and live is not None
    return TimedRange.of(descriptor, wanted, recorded, bounds, follow=follow)


def _find_bounds(
    conversation: Conversation, descriptor: RecordingDescriptor, wanted: Wanted
) -> Steps[tuple[int | None, int | None]]:
    """Where the wanted times lie in a recording; all of it may, where the archive cannot tell."""
    start = end = None
    recording_id = descriptor.recording_id
    try:
        if wanted.start_ns is not None:
            start = yield from time_queries.find_position(
                conversation, recording_id, wanted.start_ns
            )
        if wanted.end_ns is not None:
            end = yield from time_queries.find_end_position(
                conversation, recording_id, wanted.end_ns
            )
    except TimeIndexUnavailableError:
        return bounds_of(descriptor_index(descriptor, NO_END), wanted)
    return start, end


class RecordingTimes:
    """Times of positions of one recording, in ascending use, fetched a part at a time.

    Attributes:
        index: of the part that is in use.
        covered: up to where its times hold; messages that begin behind it wait for the next one.
    """

    def __init__(
        self,
        conversation: Conversation,
        descriptor: RecordingDescriptor,
        end: int | None,
        patience_ns: int,
    ) -> None:
        """Make one without times; ``begin`` fetches the first.

        Args:
            conversation: with the archive.
            descriptor: of the recording.
            end: up to which times are wanted, None for a live recording.
            patience_ns: for how long messages of a live recording wait for their times; then
                those of the last entry have to do. With 0 none waits for more than an answer.
        """
        self._conversation = conversation
        self._clock = conversation.clock
        self._descriptor = descriptor
        self._end = end
        self._patience_ns = patience_ns
        self._length = FIRST_FETCH
        self._asked_ns = 0
        self._idle_since_ns: int | None = None
        self._next: tuple[TimeIndex, int] | None = None
        self._fetching: Steps[None] | None = None
        self.index = descriptor_index(descriptor, None)
        self.covered = 0

    def begin(self, position: int) -> Steps[None]:
        """Find out when recording came to a position, and what kind of index there is."""
        self.index = yield from self._fetched(position, position)
        self.covered = position

    def advance(self) -> Steps[bool]:
        """Go on with the part behind ``covered``; False when there is nothing new yet."""
        if self._next is None and self._may_ask():
            self._fetching = self._fetching or self._fetch()
            yield from self._fetching
            self._fetching = None
        if self._next is not None:
            self.index, self.covered = self._next
            self._next = self._idle_since_ns = None
            return True
        if self._end is None and self._patience_ns == 0:
            self.covered = NO_END  # until times are asked for again
            return True
        return False

    def look_ahead(self, position: int) -> None:
        """Fetch the next part among other things, before it is needed; never waits.

        Args:
            position: that is looked at next.
        """
        if self._end is None:
            if self.covered == NO_END and self._may_ask():
                self.covered = position
            return
        if self._fetching is None:
            half = self._length // 4  # of the one that is in use: the next is twice as long
            if self._next is not None or self.covered - position > half:
                return
            self._fetching = self._fetch()
        if next(self._fetching, None) is None:
            self._fetching = None

    def close(self) -> None:
        """Drop what is being fetched."""
        if self._fetching is not None:
            self._fetching.close()
            self._fetching = None

    def _may_ask(self) -> bool:
        """Whether it is time to ask for a live recording's times again."""
        return self._end is not None or self._clock.now_ns() - self._asked_ns >= AGAIN_NS

    def _fetch(self) -> Steps[None]:
        begin, end = self.covered, self._end
        now_ns = self._asked_ns = self._clock.now_ns()
        recorded = end
        if recorded is None:
            recorded = yield from self._conversation.ask_position(
                "max recorded position", self._descriptor.recording_id
            )
        until = begin if recorded is None else max(begin, min(begin + self._length, recorded))
        self._length = min(2 * self._length, LAST_FETCH)
        index = yield from self._fetched(begin, until)
        exact, last = is_exact(index), index.last_position
        covered = begin
        if end is not None and (until >= end or not exact):
            covered = NO_END
        elif exact and last > begin and (end is not None or self._patience_ns):
            covered = last
        elif end is not None or not exact or self._is_overdue(now_ns):
            covered = until
        if covered > begin:
            self._next = index, covered

    def _is_overdue(self, now_ns: int) -> bool:
        if self._idle_since_ns is None:
            self._idle_since_ns = now_ns
        return now_ns - self._idle_since_ns >= self._patience_ns

    def _fetched(self, begin: int, until: int) -> Steps[TimeIndex]:
        recording_id = self._descriptor.recording_id
        try:
            return (
                yield from time_queries.time_index(self._conversation, recording_id, begin, until)
            )
        except TimeIndexUnavailableError:
            recorded = until if self._end is None else self._end
            return descriptor_index(self._descriptor, recorded)
