"""The archive's time indexes: written while recording, and removed with their recordings.

A failure of an index costs only precision: it is written to the error log, and the recording
continues without an index.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from aerolog.archive.service import properties as p
from aerolog.archive.service.recorder.time_notes import NotesAgent
from aerolog.archive.time_index.channel_times import channel_time_offset
from aerolog.archive.time_index.index_file import (
    begin_notes,
    forget_before,
    remove_index,
    remove_orphans,
    resume_notes,
    seal_index,
)
from aerolog.archive.time_index.layout import SOURCE_CLOCK
from aerolog.archive.time_index.moved_segments import join_indexes
from aerolog.archive.time_index.notes import TIME_OF_CLOCK

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.service.properties import ArchiveConfig
    from aerolog.archive.service.reporter import ArchiveReporter
    from aerolog.archive.time_index.notes import TimeNotes
    from aerolog.transport.memory.filesystem import FileSystem

CAPACITY_MIN: Final = 1024


class Times(NotesAgent):
    """The index files of the archive's recordings, and the agent that writes them.

    Args:
        config: the archive's settings.
        files: the file system to use.
        reporter: receives errors.
    """

    def __init__(self, config: ArchiveConfig, files: FileSystem, reporter: ArchiveReporter) -> None:
        super().__init__(max(CAPACITY_MIN, 2 * config[p.MAX_RECORDINGS]))
        self._is_on: bool = config[p.TIME_INDEX]
        self._is_by_clock = config[p.TIME_SOURCE] == SOURCE_CLOCK
        self._folder = config.archive_dir
        self._files = files
        self._reporter = reporter

    def control(self) -> int:
        """Release notes that are closed or have failed."""
        ended = self.take_ended()
        for notes in ended:
            if notes.failed_errno:
                text = os.strerror(notes.failed_errno)
                self._tell(f"time index of recording {notes.recording_id} ends: {text}")
                self._try(notes.recording_id, notes.give_up)
        return len(ended)

    # -- the conductor's side ---------------------------------------------------------------------

    def begin(self, descriptor: RecordingDescriptor, channel: str) -> TimeNotes | None:
        """Return the notes of a new recording, None when it gets no index.

        Args:
            descriptor: the recording's descriptor.
            channel: the channel as the client sent it.
        """
        return self._start(
            descriptor.recording_id,
            lambda: begin_notes(
                self._folder, descriptor, self._files, time_offset=self._offset(channel)
            ),
        )

    def resume(
        self,
        before: RecordingDescriptor,
        after: RecordingDescriptor,
        position: int,
        channel: str,
    ) -> TimeNotes | None:
        """Return the notes of an extended recording, None when it has no index.

        Args:
            before: the descriptor before the extension.
            after: the descriptor of the extension.
            position: position from which the extension records.
            channel: the channel as the client sent it.
        """
        return self._start(
            before.recording_id,
            lambda: resume_notes(
                self._folder,
                before,
                after,
                self._files,
                position=position,
                time_offset=self._offset(channel),
            ),
        )

    def _offset(self, channel: str) -> int:
        if self._is_by_clock:
            return TIME_OF_CLOCK
        offset = channel_time_offset(channel)
        return TIME_OF_CLOCK if offset is None else offset

    def _start(self, recording_id: int, make: Callable[[], TimeNotes]) -> TimeNotes | None:
        if not self._is_on:
            return None
        try:
            notes = make()
        except OSError as error:
            self._tell(f"no time index of recording {recording_id}: {error}")
            return None
        if not self.add(notes):
            self._tell(f"no time index of recording {recording_id}: too many recordings")
            self._try(recording_id, notes.give_up)
            return None
        return notes

    def moved(self, descriptor: RecordingDescriptor) -> None:
        """Drop index entries before a recording's new start position."""
        self._try(
            descriptor.recording_id,
            lambda: forget_before(self._folder, descriptor, self._files),
        )

    def joined(
        self, source: RecordingDescriptor, target: RecordingDescriptor, notes: TimeNotes | None
    ) -> None:
        """Write the index of a recording that is about to get all segments of another.

        Args:
            source: the recording whose segments are about to move.
            target: the recording that gets them.
            notes: those of the target, None when it has none.
        """
        if notes is not None and not notes.hold():
            notes = None
        try:
            self._try(
                target.recording_id,
                lambda: join_indexes(self._folder, source, target, notes, self._files),
            )
        finally:
            if notes is not None:
                notes.release()

    def recovered(self, descriptor: RecordingDescriptor) -> None:
        """Complete the index of a recording whose end was found at the archive's start."""
        self._try(
            descriptor.recording_id, lambda: seal_index(self._folder, descriptor, self._files)
        )

    def removed(self, recording_id: int) -> None:
        """Remove the index of a deleted recording."""
        self._try(recording_id, lambda: remove_index(self._folder, recording_id, self._files))

    def sweep(self, is_recording: Callable[[int], bool]) -> None:
        """Remove indexes that belong to no recording; called at the archive's start."""
        self._try(None, lambda: remove_orphans(self._folder, is_recording, self._files))

    def _try(self, recording_id: int | None, do: Callable[[], object]) -> None:
        try:
            do()
        except OSError as error:
            whose = "folder" if recording_id is None else f"of recording {recording_id}"
            self._tell(f"time index {whose}: {error}")

    def _tell(self, text: str) -> None:
        self._reporter.mention(text)
