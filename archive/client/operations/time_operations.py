"""Times of recordings: questions that the reference's archive does not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.client import request
from aerolog.archive.client.caller import Steps, operation
from aerolog.archive.client.client_base import ArchiveClientBase
from aerolog.archive.time_index.index import TimeIndex, epoch_ns
from aerolog.archive.time_index.time_query import (
    END_POSITION_AT,
    NO_PAGE,
    POSITION_AT,
    PREFIX,
    TIME_AT,
    TIMES,
    Question,
    TimesPage,
)
from aerolog.transport.errors import TimeIndexUnavailableError

if TYPE_CHECKING:
    from datetime import datetime

    from aerolog.archive.protocol import ControlResponse


class TimeOperations(ArchiveClientBase):
    """Find places in recordings by wall-clock time.

    Times are epoch nanoseconds or datetimes, one without a zone is UTC. Each operation raises
    TimeIndexUnavailableError at an archive that does not know the question, as the reference's.
    """

    @operation
    def find_position(self, recording_id: int, time: int | datetime) -> Steps[int]:
        """The largest known position that skips nothing recorded at or after a time.

        Args:
            recording_id: of the recording, active or not.
            time: epoch ns, or a datetime.
        """
        return self._find(recording_id, POSITION_AT, "time-ns", epoch_ns(time))

    @operation
    def find_end_position(self, recording_id: int, time: int | datetime) -> Steps[int]:
        """The smallest known position with nothing from it on recorded before a time.

        Args:
            recording_id: of the recording, active or not.
            time: epoch ns, or a datetime.
        """
        return self._find(recording_id, END_POSITION_AT, "time-ns", epoch_ns(time))

    @operation
    def find_time(self, recording_id: int, position: int) -> Steps[int]:
        """When the frame at a position was recorded, epoch ns.

        Args:
            recording_id: of the recording, active or not.
            position: of the frame.
        """
        return self._find(recording_id, TIME_AT, "position", position)

    @operation
    def time_index(
        self,
        recording_id: int,
        from_position: int | None = None,
        until_position: int | None = None,
    ) -> Steps[TimeIndex]:
        """The index of a recording, or the part of it between two positions, fetched in pages.

        Outside that part the index tells times only roughly.

        Args:
            recording_id: of the recording, active or not.
            from_position: the start by default.
            until_position: the end by default.
        """
        wanted = {"page": NO_PAGE}
        if from_position is not None:
            wanted["from-position"] = from_position
        if until_position is not None:
            wanted["until-position"] = until_position
        pages: list[TimesPage] = []
        while not pages or wanted["page"] != NO_PAGE:
            answer = yield from self._question(recording_id, Question(TIMES, dict(wanted)))
            page = TimesPage.parse(answer.error_message)
            if page.next_page != NO_PAGE and page.next_page <= wanted["page"]:
                break  # nonsense, which would go on for ever
            pages.append(page)
            wanted["page"] = page.next_page
        return TimeIndex.from_pages(recording_id, pages)

    def _find(self, recording_id: int, what: str, name: str, value: int) -> Steps[int]:
        answer = yield from self._question(recording_id, Question(what, {name: value}))
        return answer.relevant_id

    def _question(self, recording_id: int, question: Question) -> Steps[ControlResponse]:
        answer = yield from self._ask(request.ask_time(recording_id, str(question)))
        if not answer.error_message.startswith(PREFIX):
            raise TimeIndexUnavailableError(
                recording_id,
                f"the archive keeps no index of times that could tell the {question.what} of"
                f" recording {recording_id}: it is none of aerolog, or an older one",
            )
        return answer
