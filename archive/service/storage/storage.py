"""Requests that change what is stored (spec archive-protocol 14).

The catalog is changed first and the files after it, so that after a crash a recording still has all
the files that its catalog entry refers to.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.enums import RecordingState
from aerolog.archive.service import properties as p
from aerolog.archive.service.storage.segment_migration import SegmentMigration
from aerolog.archive.service.storage.stored_segments import (
    Names,
    NameScan,
    SegmentNames,
    check_frame_at,
    cut_segment,
    detached_names,
    first_position,
)
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.protocol.extension_query import RecordingReader
    from aerolog.archive.service.conductor.control_session import ControlSession
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.recorder.recordings import Recordings
    from aerolog.archive.service.replayer.replays import Replays
    from aerolog.archive.service.storage.segment_deletion import Deletions
    from aerolog.archive.time_index.notes import TimeNotes


class Storage:
    """Truncates, purges, detaches, attaches and migrates.

    Args:
        context: the objects that all parts of the archive use.
        recordings: the active recordings.
        replays: the active replays.
        deletions: the active deletions.
        replicated: returns the recordings that replications are making.
    """

    def __init__(
        self,
        context: ArchiveContext,
        recordings: Recordings,
        replays: Replays,
        deletions: Deletions,
        replicated: Callable[[], Iterable[RecordingReader]] = tuple,
    ) -> None:
        self._context = context
        self._replicated = replicated
        self._recordings = recordings
        self._replays = replays
        self._deletions = deletions
        self._moving = SegmentMigration(context, deletions, self._notes_of)

    def handlers(self) -> dict[type[ap.Message], Callable[[ControlSession, Any], int | None]]:
        """Return the handlers of these requests by message class."""
        return {
            ap.TruncateRecordingRequest: self._truncate,
            ap.PurgeRecordingRequest: self._purge,
            ap.DetachSegmentsRequest: self._detach,
            ap.DeleteDetachedSegmentsRequest: self._delete_detached,
            ap.PurgeSegmentsRequest: self._purge_segments,
            ap.AttachSegmentsRequest: self._attach,
            ap.MigrateSegmentsRequest: self._moving.migrate,
        }

    @property
    def _folder(self) -> str:
        return str(self._context.config.archive_dir)

    def _descriptor(self, recording_id: int) -> RecordingDescriptor:
        """Return a recording's descriptor after checking it for arithmetic with positions."""
        return self._context.catalog.checked_entry(recording_id).descriptor

    def _delete(
        self,
        control: ControlSession,
        request: ap.TruncateRecordingRequest | ap.PurgeSegmentsRequest,
        names: Names,
    ) -> None:
        """Answer with the number of files and start their removal."""
        deletions, recording_id = self._deletions, request.recording_id
        count = deletions.start(control, request.correlation_id, recording_id, names)
        control.send_ok(request.correlation_id, count)
        deletions.finish(recording_id)

    # -- truncation and purge ---------------------------------------------------------------------

    def _truncate(self, control: ControlSession, request: ap.TruncateRecordingRequest) -> None:
        recording_id, position = request.recording_id, request.position
        descriptor = self._descriptor(recording_id)
        self._check_no_replay("truncate", recording_id)
        if recording_id in self._recordings.sessions:
            _refuse("cannot truncate active recording", ArchiveErrorCode.ACTIVE_RECORDING)
        start, stop = descriptor.start_position, descriptor.stop_position
        if not start <= position <= stop or position % FRAME_ALIGNMENT:
            _refuse(
                f"invalid position {position}: start={start} stop={stop}"
                f" alignment={FRAME_ALIGNMENT}",
                ArchiveErrorCode.INVALID_POSITION,
            )
        self._deletions.check_none(recording_id)
        files = self._context.files
        base = descriptor.segment_base(position)
        is_inside = start < position != stop and position > base
        if is_inside:
            # The reference lowers the stop position before it checks (spec archive-protocol 23.2).
            check_frame_at(files, self._folder, descriptor, position)
        scan = self._scan(recording_id) if position == start else None
        self._context.catalog.update_stop_position(recording_id, position)
        if is_inside:
            level = self._context.config[p.FILE_SYNC_LEVEL]
            cut_segment(files, self._folder, descriptor, position, level)
        if scan is None:
            self._delete(control, request, self._names_from(descriptor, position))
        else:
            self._deletions.start_found(control, request.correlation_id, scan, recording_id)

    def _notes_of(self, recording_id: int) -> TimeNotes | None:
        session = self._recordings.sessions.get(recording_id)
        return None if session is None else session.writer.notes

    def _scan(self, recording_id: int) -> NameScan:
        """Start a search for all files of a recording."""
        return NameScan(self._context.files, self._folder, recording_id)

    def _names_from(self, descriptor: RecordingDescriptor, position: int) -> Names:
        """Return the files that a recording does not need when it ends at a position within it."""
        length = descriptor.segment_file_length
        base = descriptor.segment_base(position)
        first = base if position == base else base + length
        return SegmentNames(descriptor.recording_id, first, descriptor.stop_position, length)

    def _purge(self, control: ControlSession, request: ap.PurgeRecordingRequest) -> None:
        recording_id = request.recording_id
        self._context.catalog.descriptor(recording_id)
        self._check_no_replay("purge", recording_id)
        if recording_id in self._recordings.sessions:
            _refuse(
                f"cannot purge active recording {recording_id}", ArchiveErrorCode.ACTIVE_RECORDING
            )
        if any(one.recording_id == recording_id for one in self._replicated()):
            # The reference purges it, so that the replication fails at its next step.
            _refuse(
                f"cannot purge recording {recording_id}: it is being replicated",
                ArchiveErrorCode.ACTIVE_RECORDING,
            )
        self._deletions.check_none(recording_id)
        scan = self._scan(recording_id)
        self._context.catalog.change_state(recording_id, RecordingState.DELETED)
        self._context.times.removed(recording_id)
        self._deletions.start_found(control, request.correlation_id, scan, recording_id)

    def _check_no_replay(self, verb: str, recording_id: int) -> None:
        if self._replays.has_replay_of(recording_id):
            _refuse(
                f"cannot {verb} recording with active replay {recording_id}",
                ArchiveErrorCode.ACTIVE_RECORDING,
            )

    # -- purge, detachment and attachment at the start --------------------------------------------

    def _detach(self, _control: ControlSession, request: ap.DetachSegmentsRequest) -> int:
        descriptor = self._descriptor(request.recording_id)
        self._check_detachable(descriptor, request.new_start_position)
        self._context.catalog.update_start_position(
            request.recording_id, request.new_start_position
        )
        return 0

    def _check_detachable(self, descriptor: RecordingDescriptor, start: int) -> None:
        recording_id, length = descriptor.recording_id, descriptor.segment_file_length
        if descriptor.segment_base(start) != start:
            _refuse(f"invalid segment start: newStartPosition={start}")
        lower = descriptor.segment_base(descriptor.start_position) + length
        if start < lower:
            _refuse(f"invalid detach: newStartPosition={start} lowerBound={lower}")
        end = descriptor.stop_position
        if recording_id in self._recordings.sessions:
            end = self._recordings.position(recording_id)
        upper = descriptor.segment_base(max(end, descriptor.start_position))
        if start > upper:
            _refuse(f"invalid detach: in use, newStartPosition={start} upperBound={upper}")
        for replay in self._replays.replays_of(recording_id):
            if start > replay.segment_base:
                _refuse(
                    f"invalid detach: replay in progress -  state={replay.state}"
                    f" newStartPosition={start} upperBound={replay.segment_base}"
                    f" sessionId={replay.session_id} streamId={replay.stream_id}"
                    f" channel={replay.channel}"
                )
        for reader in self._replays.readers():  # includes replays that are being created
            bound = descriptor.segment_base(max(reader.position, descriptor.start_position))
            if reader.recording_id == recording_id and start > bound:
                _refuse(
                    "invalid detach: replay in progress -  state=INIT"
                    f" newStartPosition={start} upperBound={bound}"
                )

    def _delete_detached(
        self, control: ControlSession, request: ap.DeleteDetachedSegmentsRequest
    ) -> None:
        recording_id = request.recording_id
        descriptor = self._descriptor(recording_id)
        self._deletions.check_none(recording_id)
        scan, choose = self._scan(recording_id), partial(detached_names, descriptor)
        self._deletions.start_found(control, request.correlation_id, scan, recording_id, choose)

    def _purge_segments(self, control: ControlSession, request: ap.PurgeSegmentsRequest) -> None:
        recording_id, start = request.recording_id, request.new_start_position
        descriptor = self._descriptor(recording_id)
        self._check_detachable(descriptor, start)
        self._deletions.check_none(recording_id)
        self._context.catalog.update_start_position(recording_id, start)
        self._context.times.moved(self._descriptor(recording_id))
        length = descriptor.segment_file_length
        first = descriptor.segment_base(descriptor.start_position)
        self._delete(control, request, SegmentNames(recording_id, first, start - length, length))

    def _attach(self, _control: ControlSession, request: ap.AttachSegmentsRequest) -> int:
        recording_id = request.recording_id
        descriptor = self._descriptor(recording_id)
        # The reference attaches files that it is about to remove; this archive does not.
        self._deletions.check_none(recording_id)
        length = descriptor.segment_file_length
        base = descriptor.segment_base(descriptor.start_position) - length
        count = 0
        while base >= 0:
            start = first_position(self._context.files, self._folder, descriptor, base)
            if start is None:
                break
            self._context.catalog.update_start_position(recording_id, start)
            count += 1
            if start != base:
                break
            base -= length
        return count


def _refuse(text: str, code: ArchiveErrorCode = ArchiveErrorCode.GENERIC) -> NoReturn:
    raise ArchiveError(code, text)
