"""The replayer's Python part: segment files and first answers, on the replayer's thread."""

from __future__ import annotations

import struct
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.segment import segment_file_name, term_id_at
from aerolog.archive.service.replayer import replay_reader
from aerolog.archive.service.replayer.replay_reader import ReplayerAgent, ReplayReader
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode
from aerolog.transport.protocol.frame_header import FRAME_HEADER, FRAME_HEADER_STRUCT
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.service.reporter import ArchiveReporter
    from aerolog.archive.service.session_table import SessionTable
    from aerolog.transport.agents.doorbell import Doorbell
    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.memory.counters import CountersReader
    from aerolog.transport.memory.data_file import DataFile
    from aerolog.transport.memory.filesystem import FileSystem

RETRY_INTERVAL_NS: Final = NS_PER_MS
_NAMES = tuple(field.name for field in FRAME_HEADER)


def frame_position(reader: ReplayReader, position: int) -> str:
    """Format a position as the reference does in errors of a replay."""
    begin = reader.replay_position if reader.damaged_read < 0 else reader.damaged_read
    frame_offset = max(position - begin, 0)
    in_segment = position - frame_offset - reader.segment_base
    term_offset = in_segment & (reader.term_length - 1)
    return (
        f"{position} (segmentFilePosition={reader.segment_base},"
        f" segmentOffset={in_segment - term_offset}, termOffset={term_offset},"
        f" frameOffset={frame_offset})"
    )


class ReplayRequestDetails:
    """What the replayer needs to know about a request in addition to its reader.

    Attributes:
        replay_session_id: id of the replay.
        start_of_recording: the recording's start position when the request was checked.
        initial_term_id: the recording's initial term id.
        stream_id: the recording's stream id.
        answer_ok: sends the OK response.
    """

    __slots__ = (
        "answer_ok",
        "initial_term_id",
        "replay_session_id",
        "start_of_recording",
        "stream_id",
    )

    def __init__(
        self,
        replay_session_id: int,
        start_of_recording: int,
        initial_term_id: int,
        stream_id: int,
        answer_ok: Callable[[], None],
    ) -> None:
        self.replay_session_id = replay_session_id
        self.start_of_recording = start_of_recording
        self.initial_term_id = initial_term_id
        self.stream_id = stream_id
        self.answer_ok = answer_ok


class Replayer(ReplayerAgent):
    """Opens and closes the files of all readers and answers their requests.

    Args:
        buffer_length: most bytes in a read.
        folder: the folder of the segments.
        files: the file system to use.
        reporter: receives errors.
        details: returns a reader's request details; called on the replayer's thread.
        (others): see IoAgent.
    """

    def __init__(
        self,
        table: SessionTable,
        doorbell: Doorbell,
        clock: Clock,
        *,
        buffer_length: int,
        counters: CountersReader,
        counter_ids: tuple[int, int, int],
        folder: str,
        files: FileSystem,
        reporter: ArchiveReporter,
        details: Callable[[ReplayReader], ReplayRequestDetails],
    ) -> None:
        super().__init__(
            "replayer",
            table,
            doorbell,
            clock,
            buffer_length=buffer_length,
            counters=counters,
            counter_ids=counter_ids,
        )
        self._folder = folder
        self._files = files
        self._reporter = reporter
        self._details = details

    def control(self) -> int:
        """Do the work that readers wait for."""
        work = 0
        for index, reader in self.pending(self.clock.now_ns()):
            work += 1
            try:
                self._serve(index, reader)
            except ArchiveError as error:
                reader.fail(error, error.code_value)
            except Exception as error:  # noqa: BLE001 - one replay ends, the others go on
                self._reporter.error(error)
                reader.fail(error)
        return work

    def _serve(self, index: int, reader: ReplayReader) -> None:
        state = reader.state
        if state == replay_reader.INIT:
            if reader.aborted:
                # The reference ends it without an answer, for which its client would wait.
                raise ArchiveError(ArchiveErrorCode.GENERIC, "replay aborted")
            self._open_first(reader)
        elif state == replay_reader.SEGMENT_END:
            self._close_file(reader)
            base = reader.segment_base + reader.segment_length
            path = self._path(reader, base)
            if not self._files.exists(path):
                raise ArchiveError(ArchiveErrorCode.GENERIC, "recording segment not found")
            reader.next_segment(self._files.open_data_file(path))
        else:
            self._finish(index, reader)

    def _finish(self, index: int, reader: ReplayReader) -> None:
        """Release a reader, whatever fails meanwhile."""
        self._reporter.run(partial(self._close_file, reader))
        self._release(index, reader)

    def _open_first(self, reader: ReplayReader) -> None:
        now_ns = self.clock.now_ns()
        path = self._path(reader, reader.segment_base)
        if not self._files.exists(path):
            if now_ns > reader.deadline_ns:
                raise ArchiveError(ArchiveErrorCode.GENERIC, "recording segment file not created")
            reader.wait_until(now_ns + RETRY_INTERVAL_NS)
            return
        details = self._details(reader)
        file = self._files.open_data_file(path)
        position = reader.start_position
        if position > details.start_of_recording and position != reader.stop_position:
            try:
                self._check_frame(file, reader, details)
            except ArchiveError:
                file.close()
                raise
        details.answer_ok()
        self.doorbell.ring_bell()
        reader.open_with(file)

    def _check_frame(
        self, file: DataFile, reader: ReplayReader, details: ReplayRequestDetails
    ) -> None:
        position = reader.start_position
        header = file.read_at(DATA_HEADER_LENGTH, position - reader.segment_base)
        try:
            found = dict(zip(_NAMES, FRAME_HEADER_STRUCT.unpack(header), strict=True))
        except struct.error:
            found = {}
        expected = {
            "term_offset": position & (reader.term_length - 1),
            "term_id": term_id_at(position, details.initial_term_id, reader.term_length),
            "stream_id": details.stream_id,
        }
        if any(found.get(name) != value for name, value in expected.items()):
            raise ArchiveError(
                ArchiveErrorCode.INVALID_POSITION,
                f"replayPosition={frame_position(reader, position)}"
                " does not point to a valid frame",
            )

    def _path(self, reader: ReplayReader, base: int) -> str:
        return str(Path(self._folder) / segment_file_name(reader.recording_id, base))

    def _close_file(self, reader: ReplayReader) -> None:
        file = reader.take_file()
        if file is not None:
            file.close()

    def _release(self, index: int, reader: ReplayReader) -> None:
        # The slot is emptied first: a reader marked as released may be dropped by the conductor.
        self.table.release(index)
        reader.mark_released()
        self.doorbell.ring_bell()

    def end_all(self) -> None:
        """End every replay; called on the replayer's thread or after its end."""
        for index, found in self.table.sessions():
            assert isinstance(found, ReplayReader)
            found.end()
            self._finish(index, found)

    def on_close(self) -> None:
        """End every replay when the replayer ends."""
        self.end_all()
