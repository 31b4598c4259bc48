"""The recorder's Python part: segment files and recording events, on the recorder's thread."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.protocol import RecordingStarted, RecordingStopped
from aerolog.archive.service.recorder import recording_writer
from aerolog.archive.service.recorder.recording_writer import RecorderAgent, RecordingWriter
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.errors import AerologError, ResourceClosedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.protocol import Message
    from aerolog.archive.service.recorder.segment_files import SegmentFiles
    from aerolog.archive.service.reporter import ArchiveReporter
    from aerolog.archive.service.session_table import SessionTable
    from aerolog.transport.agents.doorbell import Doorbell
    from aerolog.transport.client.publication import ExclusivePublication
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.memory.counters import CountersReader
    from aerolog.transport.memory.data_file import DataFile
    from aerolog.transport.memory.filesystem import FileSystem

EVENT_ATTEMPTS: Final = 3


class SegmentExistsError(AerologError, FileExistsError):
    """A new segment cannot be created because its file exists."""


class Recorder(RecorderAgent):
    """Opens, changes and closes the files of all writers, and publishes recording events.

    Args:
        scratch_length: bytes of memory for a block with checksums, 0 without checksums.
        folder: the folder of the segments.
        files: the file system to use.
        segments: makes further segments natively; None leaves that to ``files``.
        preallocate: whether the disk space of a whole segment is allocated when it is created.
        reporter: receives errors.
        sync_folder: whether the folder is synced after a segment was created.
        describe: returns a recording's channel and source identity for its started event.
        (others): see IoAgent.
    """

    def __init__(
        self,
        table: SessionTable,
        doorbell: Doorbell,
        clock: Clock,
        *,
        scratch_length: int,
        counters: CountersReader,
        counter_ids: tuple[int, int, int],
        folder: str,
        files: FileSystem,
        segments: SegmentFiles | None,
        preallocate: bool,
        reporter: ArchiveReporter,
        sync_folder: bool,
        describe: Callable[[int], tuple[str, str]],
        events: ExclusivePublication | None,
    ) -> None:
        super().__init__(
            "recorder",
            table,
            doorbell,
            clock,
            buffer_length=scratch_length,
            counters=counters,
            counter_ids=counter_ids,
        )
        self.events = events
        self._folder = folder
        self._files = files
        self._segments = segments
        self._preallocate = preallocate
        self._reporter = reporter
        self._sync_folder = sync_folder
        self._describe = describe

    def control(self) -> int:
        """Do the work that writers wait for."""
        work = 0
        for index, writer in self.pending():
            work += 1
            try:
                self._serve(index, writer)
            except Exception as error:  # noqa: BLE001 - one recording ends, the others go on
                self._reporter.error(error)
                writer.fail(error)
        return work

    def _serve(self, index: int, writer: RecordingWriter) -> None:
        state = writer.state
        if state == recording_writer.INIT:
            writer.open_with(self._open(writer), self._segments, self._preallocate)
            self._reporter.events.recording(
                writer.recording_id, writer.join_position, "INIT", "RECORDING"
            )
            self._started(writer)
        elif state == recording_writer.SEGMENT_FULL:
            self._close_file(writer)
            writer.roll_over(self._create(writer), self._preallocate)
        else:
            self._finish(index, writer)

    def _finish(self, index: int, writer: RecordingWriter) -> None:
        """Release a writer, whatever fails meanwhile."""
        self._reporter.run(writer.give_back_room)
        self._reporter.run(writer.finish_notes)
        if writer.failed_errno or writer.has_unsound_end:
            self._reporter.run(partial(self._drop_part, writer))
        self._reporter.run(partial(self._close_file, writer))
        self._reporter.run(partial(self._stopped, writer))
        self._release(index, writer)

    def _release(self, index: int, writer: RecordingWriter) -> None:
        # The slot is emptied first: a writer marked as released may be dropped by the conductor.
        self.table.release(index)
        writer.mark_released()
        self.doorbell.ring_bell()

    def _path(self, writer: RecordingWriter, base: int) -> str:
        return str(Path(self._folder) / segment_file_name(writer.recording_id, base))

    def _open(self, writer: RecordingWriter) -> DataFile:
        """Open the segment of the join position, which exists when a recording is extended."""
        path = self._path(writer, writer.segment_base)
        file = self._files.open_data_file(path, writable=True, create=True)
        # A frame that recovery left out may follow the position. It is cleared, because after
        # another crash its bytes would be taken for frames.
        return self._made_whole(file, writer, keep=writer.segment_offset)

    def _create(self, writer: RecordingWriter) -> DataFile:
        path = self._path(writer, writer.segment_base + writer.segment_length)
        try:
            file = self._files.open_data_file(path, writable=True, create=True, exclusive=True)
        except FileExistsError as error:
            raise SegmentExistsError(f"segment file already exists: {path}") from error
        return self._made_whole(file, writer)

    def _made_whole(self, file: DataFile, writer: RecordingWriter, *, keep: int = 0) -> DataFile:
        try:
            # The file is never shortened, which would end a process that has it mapped.
            if file.file_size() > keep:
                file.clear_behind(keep)
            file.set_length(writer.segment_length)
            if self._preallocate:
                file.allocate_range(0, writer.segment_length)
            if self._sync_folder:
                self._files.sync_dir(self._folder)
        except BaseException:
            file.close()
            raise
        return file

    def _close_file(self, writer: RecordingWriter) -> None:
        file = writer.take_file()
        if file is not None:
            file.close()

    def _drop_part(self, writer: RecordingWriter) -> None:
        """Clear what was written after the position and is not part of the recording."""
        path = self._path(writer, writer.segment_base)
        if self._files.exists(path):
            with self._files.open_data_file(path, writable=True) as file:
                file.clear_behind(writer.segment_offset)

    def _started(self, writer: RecordingWriter) -> None:
        if self.events is not None:
            channel, source_identity = self._describe(writer.recording_id)
            self._tell(
                RecordingStarted(
                    recording_id=writer.recording_id,
                    start_position=writer.join_position,
                    session_id=writer.image.session_id,
                    stream_id=writer.image.stream_id,
                    channel=channel,
                    source_identity=source_identity,
                )
            )

    def _stopped(self, writer: RecordingWriter) -> None:
        if self.events is not None:
            self._tell(
                RecordingStopped(
                    recording_id=writer.recording_id,
                    start_position=writer.join_position,
                    stop_position=writer.recorded_position,
                )
            )

    def _tell(self, event: Message) -> None:
        """Offer an event; it is dropped when it does not fit, because nothing may wait for it."""
        assert self.events is not None
        encoded = event.encode()
        for _ in range(EVENT_ATTEMPTS):
            result = self.events.offer(encoded)
            if result > 0 or result == OfferStatus.NOT_CONNECTED:
                return
            if result in {OfferStatus.CLOSED, OfferStatus.MAX_POSITION_EXCEEDED}:
                raise ResourceClosedError(f"the recording events stream has ended: {result!r}")

    def end_all(self) -> None:
        """End every recording; called on the recorder's thread or after its end."""
        for index, found in self.table.sessions():
            assert isinstance(found, RecordingWriter)
            self._finish(index, found)

    def on_close(self) -> None:
        """End every recording when the recorder ends."""
        self.end_all()
