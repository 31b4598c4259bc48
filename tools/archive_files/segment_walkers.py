"""Walks over segment files on several threads, the native part without the GIL."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import MAX_I32
from aerolog.archive.format.segment import TERM_LENGTH_MIN
from aerolog.archive.format.segment_walk import (
    BODY_LENGTH_MAX,
    WALK_CHECKS,
    WALK_LENGTHS,
    WALK_STAMPS,
    SegmentWalk,
)
from aerolog.archive.format.segment_window import SegmentWindow
from aerolog.tools.archive_files.last_frame import LastFrame, is_verified
from aerolog.tools.archive_files.segment_names import is_term_length
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from aerolog.archive.format.checksum import Checksum
    from aerolog.tools.archive_files.catalog_editor import Entry

#: Long enough for a call to cost nothing, short enough for a core's own cache.
WINDOW_LENGTH: Final = 256 * 1024
_THREADS_MAX: Final = 4


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment file to be walked.

    Attributes:
        path: the path of the file, as it is printed.
        base: position of its first byte.
        start: offset of its first frame.
    """

    path: str
    base: int
    start: int


@dataclass(frozen=True, slots=True)
class Walked:
    """What a walk has found; see SegmentWalk for what the numbers mean.

    Attributes:
        status: how it ended; None when the file could not be read.
        last: the last frame.
        is_verified: whether the last frame was written whole; of walks that ended well.
        error: why the file could not be read.
    """

    status: int | None
    walk: SegmentWalk
    last: LastFrame
    is_verified: bool = True
    error: OSError | None = None


class Walkers(Resource):
    """Threads that walk; a context manager."""

    def __init__(self, checksum: Checksum | None) -> None:
        self._checksum = checksum
        self._own = threading.local()
        self.count = max(1, min(len(os.sched_getaffinity(0)), _THREADS_MAX))
        self._pool = ThreadPoolExecutor(self.count, thread_name_prefix="walk")

    def begin(self, entry: Entry, segment: Segment, *, rule: int = WALK_CHECKS) -> Future[Walked]:
        """Have a segment walked."""
        return self._pool.submit(self.walk, entry, segment, rule=rule)

    def walk(
        self,
        entry: Entry,
        segment: Segment,
        *,
        rule: int,
        body_length_max: int = BODY_LENGTH_MAX,
    ) -> Walked:
        """Walk a segment here and now.

        Args:
            entry: the catalog entry of the recording.
            segment: the file.
            rule: one of those of SegmentWalk.
            body_length_max: what a frame may have behind its header.
        """
        if not hasattr(self._own, "window"):
            self._own.window = SegmentWindow(WINDOW_LENGTH)
        # The lengths alone can be walked whatever the terms are.
        term_length = entry.term_length if is_term_length(entry.term_length) else TERM_LENGTH_MIN
        walk = SegmentWalk(
            self._own.window,
            term_length=term_length,
            initial_term_id=entry.initial_term_id,
            stream_id=entry.stream_id,
            checksum=self._checksum,
            rule=rule,
            body_length_max=body_length_max,
        )
        # Only the position within a run of terms counts, and sums are to stay within 64 bits.
        base = segment.base % (term_length << 32)
        limit = 0
        try:
            with RealFileSystem().open_data_file(
                segment.path, writable=rule == WALK_STAMPS
            ) as file:
                limit = file.file_size()
                if rule != WALK_STAMPS:
                    limit = min(entry.segment_length, limit)
                limit = min(limit, MAX_I32)
                start = min(segment.start, MAX_I32)
                status = walk.walk(file, base, start, limit)
                last = LastFrame.of(walk, limit)
                if segment.start > limit and rule == WALK_LENGTHS:
                    last = replace(last, end=segment.start)
                return Walked(status, walk, last, is_verified(file, last, self._checksum))
        except OSError as error:
            return Walked(None, walk, LastFrame.of(walk, limit), error=error)

    def close(self) -> None:
        """End the threads; what was not begun yet is not."""
        self._pool.shutdown(cancel_futures=True)
