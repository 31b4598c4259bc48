"""Answers to the extension query (spec extension-query 2)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.layout import MAX_I64
from aerolog.archive.protocol.enums import NULL_POSITION
from aerolog.archive.protocol.extension_query import (
    END_POSITION_AT,
    FOLDER,
    NO_MORE,
    POSITION_AT,
    READERS,
    TIME_AT,
    ExtensionAnswer,
    ExtensionQuery,
    readers_answer,
)
from aerolog.archive.time_index.index import SOURCE_DESCRIPTOR, TimeIndex
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aerolog.archive.protocol.extension_query import RecordingReader
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.recorder.recordings import Recordings


class ExtensionQueries:
    """Answers queries about times, about readers and about the archive's folder.

    Args:
        context: the objects that all parts of the archive use.
        recordings: the active recordings.
        readers: tells which replays and replications need a recording now.
    """

    def __init__(
        self,
        context: ArchiveContext,
        recordings: Recordings,
        readers: Callable[[], Iterable[RecordingReader]],
    ) -> None:
        self._context = context
        self._recordings = recordings
        self._readers = readers

    def answer(self, query: ExtensionQuery) -> ExtensionAnswer:
        """Answer a query.

        Raises:
            ArchiveError: the recording does not exist, or the time of a position is not known.
        """
        if query.what == READERS:
            return readers_answer(self._readers(), query.recording_id)
        if query.what == FOLDER:
            folder = Path(self._context.config.archive_dir).resolve()
            return ExtensionAnswer(NO_MORE, str(folder))
        with self._index(query.recording_id) as index:
            return _answer_from(index, query)

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


def _answer_from(index: TimeIndex, query: ExtensionQuery) -> ExtensionAnswer:
    values = query.values
    if query.what == POSITION_AT:
        return ExtensionAnswer(index.position_at(values["time-ns"]))
    if query.what == END_POSITION_AT:
        return ExtensionAnswer(index.end_position_at(values["time-ns"]))
    if query.what == TIME_AT:
        if index.source == SOURCE_DESCRIPTOR and index.start_position < index.end_position:
            raise ArchiveError(
                ArchiveErrorCode.GENERIC,
                f"recording {index.recording_id} has no time index: when a position of it was"
                " recorded is not known",
            )
        return ExtensionAnswer(index.time_at(values["position"]))
    page = index.page(
        values.get("page", NO_MORE),
        values.get("from-position", 0),
        values.get("until-position", MAX_I64),
    )
    return page.answer()
