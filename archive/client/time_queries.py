"""Queries for the times of recordings, which the reference's archive does not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.client import request
from aerolog.archive.protocol.extension_query import (
    END_POSITION_AT,
    NO_MORE,
    POSITION_AT,
    TIME_AT,
    TIMES,
    ExtensionAnswer,
    ExtensionQuery,
    TimesPage,
)
from aerolog.archive.time_index.index import TimeIndex
from aerolog.transport.errors import TimeIndexUnavailableError

if TYPE_CHECKING:
    from aerolog.archive.client.conversation import Conversation
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
    wanted = {"page": NO_MORE}
    if from_position is not None:
        wanted["from-position"] = from_position
    if until_position is not None:
        wanted["until-position"] = until_position
    pages: list[TimesPage] = []
    while not pages or wanted["page"] != NO_MORE:
        query = ExtensionQuery(TIMES, recording_id, dict(wanted))
        page = TimesPage.of((yield from _answer(conversation, query)))
        if page.next_page != NO_MORE and page.next_page <= wanted["page"]:
            break  # pages that do not advance would keep the loop going for ever
        pages.append(page)
        wanted["page"] = page.next_page
    return TimeIndex.from_pages(recording_id, pages)


def _find(
    conversation: Conversation, recording_id: int, what: str, name: str, value: int
) -> Steps[int]:
    query = ExtensionQuery(what, recording_id, {name: value})
    return (yield from _answer(conversation, query)).number


def _answer(conversation: Conversation, query: ExtensionQuery) -> Steps[ExtensionAnswer]:
    answer = yield from conversation.ask(request.extension(query))
    if answer is None:
        raise TimeIndexUnavailableError(
            query.recording_id,
            f"the archive keeps no index of times that could tell the {query.what} of"
            f" recording {query.recording_id}: it is none of aerolog, or an older one",
        )
    return answer
