"""Times of a running archive's recording, fetched a stretch at a time and ahead of their use."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.client import request
from aerolog.archive.client.replay.timed_source import bounds_of
from aerolog.archive.time_index import SOURCE_DESCRIPTOR, TimeIndex
from aerolog.transport.errors import TimeIndexUnavailableError

if TYPE_CHECKING:
    from aerolog.archive.client.caller import Steps
    from aerolog.archive.client.client_base import ArchiveClientBase
    from aerolog.archive.client.replay.time_range import Wanted
    from aerolog.archive.format.descriptor import RecordingDescriptor

_NS_PER_MS: Final = 1_000_000
#: Of a recording that goes on: behind anything.
NO_END: Final = 2**63 - 1
#: Bytes of the stream whose times are fetched at once: little at first, twice as much each time.
FIRST_STRETCH: Final = 4 * 1024 * 1024
LAST_STRETCH: Final = 64 * 1024 * 1024
#: A live recording's times are asked for again after so long.
_AGAIN_NS: Final = 50_000_000


def steps_of(archive: ArchiveClientBase, operation: str, *args: Any) -> Any:
    """The steps of a client's operation, to be carried out among others."""
    return getattr(type(archive), operation).__wrapped__(archive, *args)


def descriptor_index(descriptor: RecordingDescriptor, recorded: int | None) -> TimeIndex:
    """What a descriptor alone tells of the times of a recording."""
    stopped = not descriptor.is_active
    end = descriptor.stop_position if stopped else recorded
    return TimeIndex.from_entries(
        (),
        (),
        recording_id=descriptor.recording_id,
        source=SOURCE_DESCRIPTOR,
        start_position=descriptor.start_position,
        end_position=descriptor.start_position if end is None else end,
        start_time_ns=descriptor.start_timestamp * _NS_PER_MS,
        end_time_ns=(descriptor.stop_timestamp + 1) * _NS_PER_MS if stopped else None,
    )


class Timeline:
    """Times of positions of one recording, in ascending use.

    Attributes:
        index: of the stretch that is in use.
    """

    def __init__(
        self, archive: ArchiveClientBase, descriptor: RecordingDescriptor, begin: int
    ) -> None:
        """Make one without times; ``open`` fetches the first stretch.

        Args:
            archive: client of the archive.
            descriptor: of the recording.
            begin: position from which on times are wanted.
        """
        self._archive = archive
        self._descriptor = descriptor
        self._begin = begin
        self._covered = begin
        self._stretch = FIRST_STRETCH
        self._fetching: Steps[None] | None = None
        self._asked_ns = 0
        self._at_end = False
        self.index = descriptor_index(descriptor, None)

    def open(self) -> Steps[None]:
        """Fetch the first stretch.

        Raises:
            ArchiveError: the archive refused.
        """
        yield from self._fetch(self._begin)

    def times(self, positions: array[int]) -> Steps[array[int]]:
        """Times of ascending positions; fetches what is not here."""
        last = positions[-1]
        if last >= self._covered and self._may_ask():
            self._drop_fetching()
            yield from self._fetch(positions[0])
        self._look_ahead(last)
        found = array("q", bytes(8 * len(positions)))
        self.index.fill_times(positions, found)
        return found

    def close(self) -> None:
        """Drop what is being fetched."""
        self._drop_fetching()

    def _may_ask(self) -> bool:
        """Whether more can be known: a live recording's end is not asked for all the time."""
        if not self._at_end:
            return True
        if not self._descriptor.is_active:
            return False
        return self._archive.options.clock.now_ns() - self._asked_ns >= _AGAIN_NS

    def _look_ahead(self, position: int) -> None:
        """Fetch the next stretch among other things, before it is needed."""
        if self._fetching is None:
            if self._covered - position > self._stretch // 2 or not self._may_ask():
                return
            self._fetching = self._fetch(position)
        try:
            next(self._fetching)
        except StopIteration:
            self._fetching = None

    def _drop_fetching(self) -> None:
        if self._fetching is not None:
            self._fetching.close()
            self._fetching = None

    def _fetch(self, begin: int) -> Steps[None]:
        descriptor, archive = self._descriptor, self._archive
        recording_id = descriptor.recording_id
        self._asked_ns = archive.options.clock.now_ns()
        call = request.ask_position("max recorded position", recording_id)
        recorded = yield from archive._ask(call)  # noqa: SLF001 - of the same client
        end = begin if recorded is None else max(begin, recorded)
        until = min(begin + self._stretch, end)
        try:
            self.index = yield from steps_of(archive, "time_index", recording_id, begin, until)
        except TimeIndexUnavailableError:
            self.index = descriptor_index(descriptor, recorded)
            until = end
        self._covered = until
        self._at_end = until == end
        self._stretch = min(2 * self._stretch, LAST_STRETCH)


def find_bounds(
    archive: ArchiveClientBase, descriptor: RecordingDescriptor, wanted: Wanted
) -> Steps[tuple[int | None, int | None]]:
    """Where the wanted times lie in a recording; all of it may, where the archive cannot tell."""
    recording_id = descriptor.recording_id
    try:
        start = end = None
        if wanted.start_ns is not None:
            start = yield from steps_of(archive, "find_position", recording_id, wanted.start_ns)
        if wanted.end_ns is not None:
            end = yield from steps_of(archive, "find_end_position", recording_id, wanted.end_ns)
    except TimeIndexUnavailableError:
        index = descriptor_index(descriptor, NO_END)
        start, end = bounds_of(index, wanted)
    return start, end


def find_time(
    archive: ArchiveClientBase, descriptor: RecordingDescriptor, position: int
) -> Steps[int]:
    """When a recording had come to a position, epoch ns."""
    recording_id = descriptor.recording_id
    try:
        found: int = yield from steps_of(archive, "find_time", recording_id, position)
    except TimeIndexUnavailableError:
        return descriptor_index(descriptor, position).time_at(position)
    return found
