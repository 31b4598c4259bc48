"""Times of a running archive's recording, fetched a stretch at a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from aerolog.archive.client import calls
from aerolog.archive.client.timed_range import is_exact
from aerolog.archive.client.timeline import NO_END, STRETCH, descriptor_index, steps_of
from aerolog.transport.errors import TimeIndexUnavailableError

if TYPE_CHECKING:
    from aerolog.archive.client.base import ArchiveClientBase
    from aerolog.archive.client.steps import Steps
    from aerolog.archive.files.descriptor import RecordingDescriptor

#: A live recording's times are asked for again after so long.
AGAIN_NS: Final = 20_000_000


class Stretches:
    """Times of positions of one recording, in ascending use.

    Attributes:
        index: of the stretch that is in use.
        covered: up to where its times hold; messages that begin behind it wait for the next one.
    """

    def __init__(self, archive: ArchiveClientBase, descriptor: RecordingDescriptor) -> None:
        self._archive = archive
        self._descriptor = descriptor
        self._asked_ns = 0
        self._idle_since_ns: int | None = None
        self.index = descriptor_index(descriptor, None)
        self.covered = 0

    def begin(self, position: int) -> Steps[None]:
        """Find out when recording came to a position, and what kind of index there is."""
        yield from self._fetch(position, position)

    def go_on(self, position: int, end: int | None, patience_ns: int) -> Steps[bool]:
        """Fetch the stretch that begins at a position.

        Args:
            position: up to where times were known.
            end: where the range ends, None for a live recording.
            patience_ns: for how long messages of a live recording wait for their times; then
                those of the last entry have to do.

        Returns:
            Whether more is covered than before.
        """
        now_ns = time.monotonic_ns()
        if end is None and now_ns - self._asked_ns < AGAIN_NS:
            return False
        self._asked_ns = now_ns
        recorded = end
        if recorded is None:
            recorded = yield from self._archive._ask(  # noqa: SLF001 - of one package
                calls.ask_position("max recorded position", self._descriptor.recording_id)
            )
        before = self.covered
        until = position if recorded is None else max(position, min(position + STRETCH, recorded))
        yield from self._fetch(position, until)
        last = self.index.last_position
        if end is not None and until >= end:
            self.covered = NO_END
        elif is_exact(self.index) and last > position:
            self.covered = last
        elif end is not None or not is_exact(self.index) or self._is_overdue(now_ns, patience_ns):
            self.covered = until
        if self.covered > before:
            self._idle_since_ns = None
        return self.covered > before

    def _is_overdue(self, now_ns: int, patience_ns: int) -> bool:
        if self._idle_since_ns is None:
            self._idle_since_ns = now_ns
        return now_ns - self._idle_since_ns >= patience_ns

    def _fetch(self, begin: int, until: int) -> Steps[None]:
        archive, recording_id = self._archive, self._descriptor.recording_id
        try:
            self.index = yield from steps_of(archive, "time_index", recording_id, begin, until)
        except TimeIndexUnavailableError:
            self.index = descriptor_index(self._descriptor, until)
