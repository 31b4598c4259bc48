"""What a verification says of each recording, and what follows from it for the catalog.

Rules, their order and their words: spec archive-tool 8.2. To examine changes nothing; ``apply``
does. Segments are walked ahead on other threads while earlier verdicts are told.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format import segment_walk
from aerolog.archive.format.read_errors import is_unreadable
from aerolog.archive.protocol.enums import RecordingState
from aerolog.tools.archive_files.catalog_editor import Entry, check_state
from aerolog.tools.archive_files.raw_catalog import file_in
from aerolog.tools.archive_files.segment_names import (
    base_of,
    check_term_length,
    is_term_length,
    number_of,
    segments_by_id,
)
from aerolog.tools.archive_files.segment_walkers import Segment, Walked, Walkers
from aerolog.tools.command_line.java_error import (
    ILLEGAL_ARGUMENT,
    IO_ERROR,
    JavaError,
    java_error_of,
)
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from aerolog.archive.format.checksum import Checksum
    from aerolog.tools.archive_files.catalog_editor import EditableCatalog

_STATES: Final = {RecordingState.VALID, RecordingState.INVALID}
_BYTE_RANGE: Final = "Range [{0}, {0} + 4) out of bounds for length {1}"


@dataclass(frozen=True, slots=True)
class Cut:
    """A last frame that cannot be told to be whole: the file would end before it.

    Attributes:
        path: the path of the segment.
        length: the length of the file, which stays the same.
        position: the position of the frame in the stream.
    """

    path: str
    offset: int
    length: int
    position: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found of one entry.

    Attributes:
        entry: the catalog entry that was examined.
        problem: what is wrong with it, None when nothing is.
        path: the path of the segment in question, None when it is the entry.
        skipped: whether its state is none that is verified.
        stop_position: the stop position that it is to have, None to leave it.
        state: the state that it is to have, None to leave it.
        unverified: the last frame, where nothing tells whether it is whole.
        error: what else there is to say of a file that cannot be read.
        is_unreadable: whether the file may be sound, and only cannot be read now: for want of
            permission, of a mount, or of a disk that answers. Its entry stays.
    """

    entry: Entry
    problem: str | None = None
    path: str | None = None
    skipped: bool = False
    stop_position: int | None = None
    state: RecordingState | None = None
    unverified: Cut | None = None
    error: str | None = None
    is_unreadable: bool = False

    @property
    def changes(self) -> bool:
        """Whether anything in the catalog is to change."""
        return self.stop_position is not None or self.state not in {None, self.entry.state}

    def line(self) -> str:
        """The line that the reference prints."""
        at = f"recordingId={self.entry.recording_id}"
        if self.path is not None:
            at += f", file={self.path}"
        if self.skipped:
            return f"({at}) skipping: {self.entry.state_name}"
        return f"({at}) OK" if self.problem is None else f"({at}) ERR: {self.problem}"


@dataclass(slots=True)
class _Pending:
    """An entry whose segments are being walked."""

    entry: Entry
    problem: str | None = None
    failure: JavaError | None = None
    checksum: int | None = None
    highest: Segment | None = None
    last: Future[Walked] | None = None
    walks: list[tuple[Segment, Future[Walked]]] = field(default_factory=list)


class Examiner:
    """Examines entries, in order.

    Args:
        folder: the archive's folder, as it was given.
        catalog: open.
        walkers: threads.
        checksum: the checksum that descriptors and frames have, None to leave them unchecked.
        all_segments: walk all segments; False: the last one of each recording.
        decide: whether to cut a last frame off, asked in the order of the entries.
    """

    def __init__(
        self,
        folder: str,
        catalog: EditableCatalog,
        walkers: Walkers,
        *,
        checksum: Checksum | None,
        all_segments: bool,
        decide: Callable[[Cut], bool],
    ) -> None:
        self._folder = folder
        self._catalog = catalog
        self._walkers = walkers
        self._checksum = checksum
        self._all = all_segments
        self._decide = decide
        self._names = segments_by_id(folder)

    def verdicts(self, entries: list[Entry]) -> Iterator[Verdict]:
        """Verdicts in the order of the entries.

        Raises:
            JavaError: what ends the reference's tool, after the verdicts before it.
        """
        waiting: deque[_Pending] = deque()
        for entry in entries:
            waiting.append(self._begin(entry))
            if len(waiting) > 2 * self._walkers.count:
                yield self._finish(waiting.popleft())
        while waiting:
            yield self._finish(waiting.popleft())

    def _begin(self, entry: Entry) -> _Pending:
        """Look at the entry, and have its segments walked."""
        pending = _Pending(entry)
        if entry.state not in _STATES:
            return pending
        try:
            names = self._names.get(entry.recording_id, [])
            pending.problem = _positions_problem(entry) or self._names_problem(pending, names)
        except JavaError as error:
            pending.failure = error
        if pending.problem or pending.failure:
            return pending
        if self._checksum is not None:
            pending.checksum = self._catalog.checksum_of(entry, self._checksum)
        highest = pending.highest
        doomed = pending.checksum not in {None, entry.checksum} or not is_term_length(
            entry.term_length
        )
        if highest is not None and doomed:
            pending.last = self._walkers.begin(entry, highest, rule=segment_walk.WALK_LENGTHS)
        elif highest is not None:
            chosen = names if self._all else [Path(highest.path).name]
            segments = [segment_of(self._folder, entry, name) for name in chosen]
            pending.walks = [(one, self._walkers.begin(entry, one)) for one in segments]
            pending.last = next(walk for one, walk in pending.walks if one == highest)
        return pending

    def _names_problem(self, pending: _Pending, names: list[str]) -> str | None:
        """What is wrong with the files' names; finds the last one."""
        entry = pending.entry
        if not names:
            return None
        try:
            highest = max(names, key=base_of)
        except JavaError as error:
            return error.message
        end = _wrapped(base_of(highest) + entry.segment_length - 1)
        if entry.start_position > end or entry.stop_position > end:
            return (
                f"Invariant violation: startPosition={entry.start_position} and/or stopPosition="
                f"{entry.stop_position} exceed max segment file position={end}"
            )
        pending.highest = segment_of(self._folder, entry, highest)
        return None

    def _finish(self, pending: _Pending) -> Verdict:
        entry = pending.entry
        if pending.failure is not None:
            raise pending.failure
        if entry.state not in _STATES:
            check_state(entry)
            return Verdict(entry, skipped=True)
        if pending.problem is not None:
            return _faulty(entry, pending.problem)
        stop, unverified = entry.start_position, None
        if pending.highest is not None and pending.last is not None:
            walked = pending.last.result()
            found = self._end(entry, pending.highest, walked)
            if isinstance(found, str):
                faulty = _faulty(entry, found)
                return self._kept_where_unreadable(faulty, walked, pending.highest)
            stop, unverified = found
        is_cut = False
        if unverified is not None:
            try:
                is_cut = self._decide(unverified)
            except JavaError as error:
                return _faulty(entry, error.message or error.java_class)
            stop = unverified.position if is_cut else stop
        if pending.checksum is not None and pending.checksum != entry.checksum:
            return _faulty(
                entry,
                f"invalid Catalog checksum: expected={pending.checksum}, actual={entry.checksum}",
                unverified=unverified,
            )
        if pending.highest is not None:
            check_term_length(entry.term_length)
        for segment, walk in pending.walks:
            cut_at = unverified if is_cut and segment == pending.highest else None
            verdict = self._judge(entry, segment, walk.result(), cut_at)
            if verdict is not None:
                return verdict
        becomes_valid = entry.state == RecordingState.INVALID and pending.highest is not None
        return Verdict(
            entry,
            stop_position=None if stop == entry.stop_position else stop,
            state=RecordingState.VALID if becomes_valid else None,
            unverified=unverified,
        )

    def _end(self, entry: Entry, highest: Segment, walked: Walked) -> str | tuple[int, Cut | None]:
        """Where the recording ends and a last frame that is in doubt, or why that is unknown."""
        if walked.status == segment_walk.WALK_IO_ERROR:
            number = walked.walk.found
            error = OSError(number, os.strerror(number))
            # A folder can be opened by us, and not by the reference.
            return _io_message(error, highest.path if number == errno.EISDIR else "")
        if walked.status is not None and walked.status != segment_walk.WALK_END:
            walked = self._walkers.walk(entry, highest, rule=segment_walk.WALK_LENGTHS)
        if walked.error is not None:
            return _io_message(walked.error, highest.path)
        if walked.status == segment_walk.WALK_OVERFLOW:
            return _BYTE_RANGE.format(walked.walk.found, segment_walk.BODY_LENGTH_MAX)
        stop = _wrapped(highest.base + walked.last.end)
        if walked.is_verified:
            return max(stop, entry.start_position), None
        before = max(_wrapped(highest.base + walked.last.offset), entry.start_position)
        # As the reference has it, which leaves a dot in it.
        path = highest.path if highest.path.startswith("/") else f"{Path.cwd()}/{highest.path}"
        cut = Cut(path, walked.last.offset, entry.segment_length, before)
        return max(stop, entry.start_position), cut

    def _judge(
        self, entry: Entry, segment: Segment, walked: Walked, cut: Cut | None
    ) -> Verdict | None:
        """The verdict where a segment is faulty."""
        if cut is not None and walked.walk.offset >= cut.offset:
            return None  # what the walk met is cut off by now
        failure = walk_failure(walked)
        if failure is not None:
            verdict = _faulty(entry, "failed to verify file", segment.path, error=failure)
            return self._kept_where_unreadable(verdict, walked, segment)
        problem = walk_problem(walked)
        return None if problem is None else _faulty(entry, problem, segment.path)

    def _kept_where_unreadable(self, verdict: Verdict, walked: Walked, segment: Segment) -> Verdict:
        """The verdict, without a change of the entry where the segment only cannot be read."""
        error = walked.error
        if error is None and walked.status == segment_walk.WALK_IO_ERROR:
            error = OSError(walked.walk.found, "")
        if error is None or not is_unreadable(error, segment.path, RealFileSystem()):
            return verdict
        if error.errno == errno.ENOENT:
            return verdict  # a link that leads nowhere, which the reference's tool takes for damage
        return replace(verdict, state=None, is_unreadable=True)


def segment_of(folder: str, entry: Entry, name: str) -> Segment:
    """A segment file of a recording, and where its frames begin."""
    base, within = number_of(name), entry.start_position & (entry.term_length - 1)
    is_first = base == entry.start_position - within
    return Segment(file_in(folder, name), base, within if is_first else 0)


def walk_failure(walked: Walked) -> str | None:
    """Why a segment could not be read, None when it could."""
    if walked.error is not None:
        return str(java_error_of(walked.error))
    if walked.status == segment_walk.WALK_IO_ERROR:
        return f"{IO_ERROR}: {os.strerror(walked.walk.found)}"
    return None


def walk_problem(walked: Walked, body_length_max: int = segment_walk.BODY_LENGTH_MAX) -> str | None:
    """What is wrong with a frame, in the reference's words, None when nothing is.

    Raises:
        JavaError: a frame's length ends the reference's tool.
    """
    walk = walked.walk
    if walked.status in {segment_walk.WALK_NEGATIVE, segment_walk.WALK_TOO_LONG}:
        raise JavaError(ILLEGAL_ARGUMENT, _limit_message(walk.found, body_length_max))
    if walked.status == segment_walk.WALK_BACKWARD:
        raise JavaError(ILLEGAL_ARGUMENT, "Negative position")
    if walked.status == segment_walk.WALK_NO_HEADER:
        return "failed to read fragment header"
    if walked.status == segment_walk.WALK_MISMATCH:
        return (
            f"fragment termOffset={walk.term_offset} (expected={walk.expected_term_offset}),"
            f" termId={walk.term_id} (expected={walk.expected_term_id}),"
            f" streamId={walk.stream_id} (expected={walk.expected_stream_id})"
        )
    if walked.status == segment_walk.WALK_NO_BODY:
        return f"failed to read {walk.found} byte(s) of data at offset {walk.offset + 32}"
    if walked.status == segment_walk.WALK_CHECKSUM:
        return f"checksum failed recorded={walk.found} (expected={walk.expected})"
    return None


def apply(catalog: EditableCatalog, verdict: Verdict, now_ms: int) -> None:
    """Store what follows from a verdict."""
    if verdict.stop_position is not None:
        catalog.store_stop(verdict.entry, verdict.stop_position, now_ms)
    if verdict.state is not None:
        catalog.store_state(verdict.entry, verdict.state)


def cut_off(cut: Cut) -> None:
    """Cut a segment at a frame and give it its length again."""
    with RealFileSystem().open_data_file(cut.path, writable=True) as file:
        file.clear_behind(cut.offset)
        file.set_length(cut.length)


def _positions_problem(entry: Entry) -> str | None:
    start, stop = entry.start_position, entry.stop_position
    if start < 0:
        return f"Negative startPosition={start}"
    if start % FRAME_ALIGNMENT:
        return f"Non-aligned startPosition={start}"
    if entry.is_active:
        return None
    if stop < start:
        return f"Invariant violation stopPosition={stop} is before startPosition={start}"
    if stop % FRAME_ALIGNMENT:
        return f"Non-aligned stopPosition={stop}"
    return None


def _faulty(
    entry: Entry,
    problem: str,
    path: str | None = None,
    *,
    error: str | None = None,
    unverified: Cut | None = None,
) -> Verdict:
    return Verdict(
        entry,
        problem,
        path,
        state=RecordingState.INVALID,
        error=error,
        unverified=unverified,
    )


def _limit_message(length: int, most: int) -> str:
    if length < 0:
        return f"newLimit < 0: ({length} < 0)"
    return f"newLimit > capacity: ({length} > {most})"


def _io_message(error: OSError, path: str) -> str:
    reason = "" if error.errno == errno.ENOENT else error.strerror or str(error)
    return ": ".join(part for part in (path, reason) if part)


def _wrapped(value: int) -> int:
    """A sum in 64 bits, as the reference's arithmetic has it."""
    return (value + 2**63) % 2**64 - 2**63
