"""Migration of segments from one recording to another (spec archive-protocol 14.6).

Each file gets its new name in addition to the old one before the catalog changes, and loses the old
one after it. At no moment does a recording in the catalog lack a file. A crash leaves at most
second names that no recording needs. The times of the segments come to the target's index before
anything else: there they are ignored until the catalog says that the segments are its own.
"""

from __future__ import annotations

import errno
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.service import properties as p
from aerolog.archive.service.storage.stored_segments import FoundNames, SegmentNames
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive import protocol as ap
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.service.conductor.control_session import ControlSession
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.storage.segment_deletion import Deletions
    from aerolog.archive.time_index.notes import TimeNotes

# Fields that must be equal in both recordings, in the order in which the reference compares them.
_MUST_AGREE: Final = (
    ("SegmentFileLength", "segment_file_length"),
    ("TermBufferLength", "term_buffer_length"),
    ("InitialTermId", "initial_term_id"),
    ("StreamId", "stream_id"),
    ("MtuLength", "mtu_length"),
)
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


class SegmentMigration:
    """Carries out migrate requests.

    Args:
        context: the objects that all parts of the archive use.
        deletions: the active deletions.
        notes_of: returns the notes of a recording that goes on, None when it has none.
    """

    def __init__(
        self,
        context: ArchiveContext,
        deletions: Deletions,
        notes_of: Callable[[int], TimeNotes | None],
    ) -> None:
        self._context = context
        self._deletions = deletions
        self._notes_of = notes_of

    def migrate(self, control: ControlSession, request: ap.MigrateSegmentsRequest) -> None:
        """Move all of one recording to the front or the end of another.

        Raises:
            ArchiveError: the recordings or their files do not fit together.
        """
        catalog = self._context.catalog
        source = catalog.checked_entry(request.src_recording_id).descriptor
        target = catalog.checked_entry(request.dst_recording_id).descriptor
        join = _check_fit(source, target)
        for descriptor in (source, target):
            # The reference does not check this and may remove files that it has just moved.
            self._deletions.check_none(descriptor.recording_id)
        moves, left_over = self._moves(source, target)
        if moves:
            notes = self._notes_of(target.recording_id)
            self._context.times.joined(source, target, notes)
            self._give_names(moves)
        if join == source.stop_position:
            catalog.update_start_position(target.recording_id, source.start_position)
        else:
            catalog.update_stop_position(target.recording_id, source.stop_position)
        catalog.update_stop_position(source.recording_id, source.start_position)
        self._drop_names(moves)
        if moves:
            self._context.times.removed(source.recording_id)
        self._answer(control, request, source.recording_id, len(moves), left_over)

    def _answer(
        self,
        control: ControlSession,
        request: ap.MigrateSegmentsRequest,
        recording_id: int,
        count: int,
        left_over: str | None,
    ) -> None:
        if count or left_over is not None:
            names = [] if left_over is None else [left_over]
            self._deletions.start(control, request.correlation_id, recording_id, FoundNames(names))
        control.send_ok(request.correlation_id, count)
        self._deletions.finish(recording_id)

    def _path(self, name: str) -> str:
        return str(Path(self._context.config.archive_dir) / name)

    def _moves(
        self, source: RecordingDescriptor, target: RecordingDescriptor
    ) -> tuple[list[tuple[str, str]], str | None]:
        """Return pairs of old and new paths, and the empty file after the last one, if needed."""
        files, length = self._context.files, source.segment_file_length
        first = source.segment_base(source.start_position)
        last = source.segment_base(source.stop_position)
        left_over = None
        if last == source.stop_position:
            left_over = segment_file_name(source.recording_id, last)
            last -= length
        moves = [
            (self._path(old), self._path(new))
            for old, new in zip(
                SegmentNames(source.recording_id, first, last, length),
                SegmentNames(target.recording_id, first, last, length),
                strict=True,
            )
        ]
        for old, new in moves:
            if not files.exists(old):
                _refuse(f"missing src segment file {old}")
            if files.exists(new):
                _refuse(f"preexisting dst segment file {new}")
        return moves, left_over

    def _give_names(self, moves: list[tuple[str, str]]) -> None:
        """Create all new names, or none of them."""
        files, given = self._context.files, []
        old, new = moves[0]
        try:
            for old, new in moves:
                self._give_name(old, new)
                given.append((old, new))
            self._sync_folder()
        except OSError as error:
            for back, name in reversed(given):
                if files.exists(back):
                    files.remove(name)
                else:
                    files.rename(name, back)
            _refuse(f"failed to rename {old} to {new}: {error}")

    def _give_name(self, old: str, new: str) -> None:
        files = self._context.files
        try:
            files.link(old, new)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            files.rename(old, new)

    def _drop_names(self, moves: list[tuple[str, str]]) -> None:
        files = self._context.files
        for old, _new in moves:
            if files.exists(old):
                self._context.reporter.run(partial(files.remove, old))
        self._sync_folder()

    def _sync_folder(self) -> None:
        if self._context.config[p.FILE_SYNC_LEVEL] > 0:
            self._context.files.sync_dir(str(self._context.config.archive_dir))


def _check_fit(source: RecordingDescriptor, target: RecordingDescriptor) -> int:
    """Return the position at which the two recordings join.

    Raises:
        ArchiveError: the recordings do not join.
    """
    if source.is_active:
        _refuse(f"recording {source.recording_id} is still active")
    for shown, name in _MUST_AGREE:
        ours, theirs = getattr(source, name), getattr(target, name)
        if ours != theirs:
            _refuse(f"invalid migrate: src{shown}={ours} dst{shown}={theirs}")
    if source.stop_position == target.start_position:
        join = source.stop_position
    elif source.start_position == target.stop_position:
        join = source.start_position
    else:
        _refuse(
            "invalid migrate: src and dst are not contiguous"
            f" srcStartPosition={source.start_position} srcStopPosition={source.stop_position}"
            f" dstStartPosition={target.start_position} dstStopPosition={target.stop_position}"
        )
    for which, descriptor in (("src", source), ("dst", target)):
        if descriptor.segment_base(join) != join:
            _refuse(
                f"invalid migrate: join position is not on segment boundary of {which} recording"
                f" seamPosition={join} startPosition={descriptor.start_position}"
                f" stopPosition={descriptor.stop_position}"
                f" termBufferLength={descriptor.term_buffer_length}"
                f" segmentFileLength={descriptor.segment_file_length}"
            )
    return join


def _refuse(text: str) -> NoReturn:
    raise ArchiveError(ArchiveErrorCode.GENERIC, text)
