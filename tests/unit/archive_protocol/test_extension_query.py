"""The extension query: what is one, what is a search, and what an answer holds."""

from __future__ import annotations

import pytest

from aerolog.archive.client import request
from aerolog.archive.protocol import (
    ControlResponse,
    ControlResponseCode,
    FindLastMatchingRecordingRequest,
    decode,
)
from aerolog.archive.protocol.extension_query import (
    END_POSITION_AT,
    FOLDER,
    NO_MORE,
    POSITION_AT,
    READERS,
    READERS_MAX,
    TIME_AT,
    TIMES,
    ExtensionAnswer,
    ExtensionQuery,
    RecordingReader,
    TimesPage,
    readers_answer,
    readers_of,
)
from aerolog.transport.errors import MessageFormatError

QUERIES = {
    "aerolog:position-at?time-ns=5": ExtensionQuery(POSITION_AT, 3, {"time-ns": 5}),
    "aerolog:end-position-at?time-ns=-5": ExtensionQuery(END_POSITION_AT, 3, {"time-ns": -5}),
    "aerolog:time-at?position=64": ExtensionQuery(TIME_AT, 3, {"position": 64}),
    "aerolog:times": ExtensionQuery(TIMES, 3),
    "aerolog:times?page=-1|until-position=64": ExtensionQuery(
        TIMES, 3, {"page": -1, "until-position": 64}
    ),
    "aerolog:readers": ExtensionQuery(READERS, 3),
    "aerolog:folder": ExtensionQuery(FOLDER, 3),
}


def search(channel: str, **changes: int) -> FindLastMatchingRecordingRequest:
    values = {"min_recording_id": 3, "session_id": 0, "stream_id": 0, **changes}
    return FindLastMatchingRecordingRequest(
        control_session_id=1, correlation_id=2, channel=channel, **values
    )


def answer(text: str, relevant_id: int = 0) -> ExtensionAnswer | None:
    return ExtensionAnswer.of(
        ControlResponse(
            control_session_id=1,
            correlation_id=2,
            relevant_id=relevant_id,
            code=ControlResponseCode.OK,
            error_message=text,
        )
    )


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_is_read_as_it_was_written(text: str) -> None:
    query = QUERIES[text]
    assert query.fragment == text
    sent = decode(request.extension(query).message(1, 2).encode())
    assert isinstance(sent, FindLastMatchingRecordingRequest)
    assert sent == search(text)
    assert ExtensionQuery.of(sent) == query


@pytest.mark.parametrize("changes", [{"session_id": 1}, {"stream_id": -1}])
def test_with_a_session_or_a_stream_it_is_a_search(changes: dict[str, int]) -> None:
    assert ExtensionQuery.of(search("aerolog:readers", **changes)) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "aeron:ipc?alias=aerolog:readers",
        "aerolog:",
        "aerolog:weather",
        "aerolog:weather?x=1",
        "aerolog:readers?",
        "aerolog:readers?x=1",
        "aerolog:position-at",
        "aerolog:position-at?time-ns=",
        "aerolog:position-at?time-ns=ten",
        "aerolog:position-at?time-ns=\u0661",
        "aerolog:position-at?time-ns=--1",
        "aerolog:position-at?time-ns=1|time-ns=1",
        "aerolog:position-at?time-ns=1|",
        "aerolog:position-at?position=1",
        "aerolog:time-at?position=9999999999999999999",
        "aerolog:time-at?position=99999999999999999999",
        "aerolog:times?page=1" + "|" * 100_000,
        "aerolog:times?page=" + "1" * 100_000,
    ],
    ids=lambda text: text[:40],
)
def test_what_is_not_a_known_query_is_a_search(text: str) -> None:
    assert ExtensionQuery.of(search(text)) is None


def test_an_archive_that_does_not_know_the_query_has_no_answer() -> None:
    assert answer("", -1) is None
    assert answer("aerolog:", 7) == ExtensionAnswer(7)
    assert answer("aerolog:/data", -1) == ExtensionAnswer(-1, "/data")
    assert ExtensionAnswer(-1, "/data").message == "aerolog:/data"


@pytest.mark.parametrize("text", ["", "1|clock|0|0|0|0;AAAA", "-1|clock|0|0|0|0|;AAAA"])
def test_an_answer_without_a_page_is_refused(text: str) -> None:
    with pytest.raises(MessageFormatError):
        TimesPage.of(ExtensionAnswer(0, text))


def test_readers_come_in_parts_with_the_lowest_of_each_recording() -> None:
    readers = [RecordingReader(n // 2, "replay", 100 - n) for n in range(100)]
    readers.append(RecordingReader(7, "replication", 0))
    found, from_id, answers = [], 0, 0
    while from_id != NO_MORE:
        part = readers_answer(readers, from_id)
        found += readers_of(part)
        from_id = part.number
        answers += 1
        assert len(part.text) <= 60 * READERS_MAX
    assert answers == 4
    expected = [RecordingReader(n, "replay", 100 - 2 * n - 1) for n in range(50)]
    assert sorted(found) == sorted([*expected, RecordingReader(7, "replication", 0)])
    assert readers_answer([], 0) == ExtensionAnswer(NO_MORE)


@pytest.mark.parametrize("text", ["1", "1,2", "a,2,x", "1,2,x|3"])
def test_an_answer_without_readers_is_refused(text: str) -> None:
    with pytest.raises(MessageFormatError):
        readers_of(ExtensionAnswer(0, text))
