"""Questions about the times of recordings, which the reference's archive does not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.client import request
from aerolog.archive.time_index.index import TimeIndex
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
    from aerolog.archive.client.conversation import Conversation
    from aerolog.archive.protocol import ControlResponse
    from aerolog.transport.client.steps.caller import Steps


def find_position(conversation: Conversation, recording_id: int, time_ns: int) -> Steps[int]:
    """The largest known position that skips nothing recorded at or after a time."""
    return _find(conversation, recording_id, POSITION_AT, "time-ns", time_ns)


def find_end_position(conversation: Conversation, recording_id: int, time_ns: int) -> Steps[int]:
    """The smallest known position with nothing from it on recorded before a time."""
    return _find(conversation, recording_id, END_POSITION_AT, "time-ns", time_ns)


def find_time(conversation: Conversation, recording_id: int, position: int) -> Steps[int]:
    """The time at which the frame at a position was recorded, in epoch nanoseconds."""
    return _find(conversation, recording_id, TIME_AT, "position", position)


def time_index(
    conversation: Conversation,
    recording_id: int,
    from_position: int | None = None,
    until_position: int | None = None,
) -> Steps[TimeIndex]:
    """The index of a recording, or the part of it between two positions, fetched in pages."""
    wanted = {"page": NO_PAGE}
    if from_position is not None:
        wanted["from-position"] = from_position
    if until_position is not None:
        wanted["until-position"] = until_position
    pages: list[TimesPage] = []
    while not pages or wanted["page"] != NO_PAGE:
        answer = yield from _answer(conversation, recording_id, Question(TIMES, dict(wanted)))
        page = TimesPage.parse(answer.error_message)
        if page.next_page != NO_PAGE and page.next_page <= wanted["page"]:
            break  # pages that do not advance would keep the loop going for ever
        pages.append(page)
        wanted["page"] = page.next_page
    return TimeIndex.from_pages(recording_id, pages)


def _find(
    conversation: Conversation, recording_id: int, what: str, name: str, value: int
) -> Steps[int]:
    answer = yield from _answer(conversation, recording_id, Question(what, {name: value}))
    return answer.relevant_id


def _answer(
    conversation: Conversation, recording_id: int, question: Question
) -> Steps[ControlResponse]:
    answer = yield from conversation.ask(request.ask_time(recording_id, str(question)))
    if not answer.error_message.startswith(PREFIX):
        raise TimeIndexUnavailableError(
            recording_id,
            f"the archive keeps no index of times that could tell the {question.what} of"
            f" recording {recording_id}: it is none of aerolog, or an older one",
        )
    return answer
