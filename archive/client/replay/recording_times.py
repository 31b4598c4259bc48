"""Times of a running archive's recording, fetched a stretch at a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from aerolog.archive.client import request
from aerolog.archive.client.replay.time_range import is_exact
from aerolog.archive.client.replay.timeline import NO_END, descriptor_index, steps_of
from aerolog.transport.errors import TimeIndexUnavailableError

if TYPE_CHECKING:
    from aerolog.archive.client.caller import Steps
    from aerolog.archive.client.client_base import ArchiveClientBase
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.time_index import TimeIndex

#: Bytes of the stream whose times are fetched at once: little at first, twice as much each time.
FIRST_STRETCH: Final = 4 * 1024 * 1024
LAST_STRETCH: Final = 64 * 1024 * 1024
#: A live recording's times are asked for again after so long.
AGAIN_NS: Final = 20_000_000


class Stretches:
    """Times of positions of one recording, in ascending use.

    Attributes:
        index: of the stretch that is in use.
        covered: up to where its times hold; messages that begin behind it wait for the next one.
    """

    def __init__(
        self,
        archive: ArchiveClientBase,
        descriptor: RecordingDescriptor,
        end: int | None,
        patience_ns: int,
    ) -> None:
        """Make one without times; ``begin`` fetches the first.

        Args:
            archive: client of the archive.
            descriptor: of the recording.
            end: up to which times are wanted, None for a live recording.
            patience_ns: for how long messages of a live recording wait for their times; then
                those of the last entry have to do.
        """
        self._archive = archive
        self._descriptor = descriptor
        self._end = end
        self._patience_ns = patience_ns
        self._stretch = FIRST_STRETCH
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
        """Go on with the stretch behind ``covered``; False when there is nothing new yet."""
        if self._next is None and self._may_ask():
            self._fetching = self._fetching or self._fetch()
            yield from self._fetching
            self._fetching = None
        if self._next is None:
            return False
        self.index, self.covered = self._next
        self._next = self._idle_since_ns = None
        return True

    def look_ahead(self, position: int) -> None:
        """Fetch the next stretch among other things, before it is needed; never waits."""
        if self._fetching is None:
            half = self._stretch // 4  # of the one that is in use: the next is twice as long
            if self._next is not None or self._end is None or self.covered - position > half:
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
        """A live recording is not asked for its times all the time."""
        return self._end is not None or time.monotonic_ns() - self._asked_ns >= AGAIN_NS

    def _fetch(self) -> Steps[None]:
        begin, end = self.covered, self._end
        now_ns = self._asked_ns = time.monotonic_ns()
        recorded = end
        if recorded is None:
            recorded = yield from self._archive._ask(  # noqa: SLF001 - of one package
                request.ask_position("max recorded position", self._descriptor.recording_id)
            )
        until = begin if recorded is None else max(begin, min(begin + self._stretch, recorded))
        self._stretch = min(2 * self._stretch, LAST_STRETCH)
        index = yield from self._fetched(begin, until)
        exact, last = is_exact(index), index.last_position
        covered = begin
        if end is not None and (until >= end or not exact):
            covered = NO_END
        elif exact and last > begin:
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
        archive, recording_id = self._archive, self._descriptor.recording_id
        index: TimeIndex
        try:
            index = yield from steps_of(archive, "time_index", recording_id, begin, until)
        except TimeIndexUnavailableError:
            recorded = until if self._end is None else self._end
            index = descriptor_index(self._descriptor, recorded)
        return index
