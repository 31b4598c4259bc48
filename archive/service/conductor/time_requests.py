"""Handling of questions about times that clients ask (docs/archive/time-index.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.format.layout import MAX_I64
from aerolog.archive.protocol.enums import NULL_POSITION
from aerolog.archive.time_index.index import SOURCE_DESCRIPTOR, TimeIndex
from aerolog.archive.time_index.time_query import (
    END_POSITION_AT,
    NO_PAGE,
    POSITION_AT,
    PREFIX,
    TIME_AT,
    Question,
)
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode, MessageFormatError

if TYPE_CHECKING:
    from aerolog.archive import protocol as ap
    from aerolog.archive.service.conductor.control_session import ControlSession
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.recorder.recordings import Recordings


def is_question(request: ap.FindLastMatchingRecordingRequest) -> bool:
    """Return whether a FindLastMatchingRecording request carries a question about times."""
    return request.channel.startswith(PREFIX)


class TimeRequests:
    """Answers questions about times from the time indexes in the archive's folder.

    Args:
        context: the objects that all parts of the archive use.
        recordings: the active recordings.
    """

    def __init__(self, context: ArchiveContext, recordings: Recordings) -> None:
        self._context = context
        self._recordings = recordings

    def answer(self, control: ControlSession, request: ap.FindLastMatchingRecordingRequest) -> None:
        """Answer a question.

        Raises:
            ArchiveError: the recording does not exist, or the question is unknown.
        """
        try:
            question = Question.parse(request.channel)
        except MessageFormatError as error:
            raise ArchiveError(ArchiveErrorCode.GENERIC, str(error)) from None
        with self._index(request.min_recording_id) as index:
            number, text = _answer(question, index)
        control.send_ok(request.correlation_id, number, text)

    def _index(self, recording_id: int) -> TimeIndex:
        context = self._context
        descriptor = context.catalog.checked_entry(recording_id).descriptor
        end = descriptor.stop_position
        session = self._recordings.sessions.get(recording_id)
        if session is not None:
            end = session.position
            if session.writer.notes is not None:
                session.writer.notes.write_out()
        return TimeIndex.beside(
            context.config.archive_dir,
            descriptor,
            descriptor.start_position,
            descriptor.start_position if end == NULL_POSITION else end,
            context.files,
        )


def _answer(question: Question, index: TimeIndex) -> tuple[int, str]:
    """Return relevant id and text of the answer."""
    values = question.values
    if question.what == POSITION_AT:
        return index.position_at(values["time-ns"]), PREFIX
    if question.what == END_POSITION_AT:
        return index.end_position_at(values["time-ns"]), PREFIX
    if question.what == TIME_AT:
        if index.source == SOURCE_DESCRIPTOR and index.start_position < index.end_position:
            raise ArchiveError(
                ArchiveErrorCode.GENERIC,
                f"recording {index.recording_id} has no time index: when a position of it was"
                " recorded is not known",
            )
        return index.time_at(values["position"]), PREFIX
    page = index.page(
        values.get("page", NO_PAGE),
        values.get("from-position", 0),
        values.get("until-position", MAX_I64),
    )
    return len(page.entries) // 16, str(page)
