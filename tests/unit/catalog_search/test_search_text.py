"""Searches as people write them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from aerolog.catalog.index.errors import SearchError
from aerolog.catalog.index.search import Search
from aerolog.catalog.index.search_text import parse_search

TABLE = {
    "stream": 1001,
    "channel": "orders",
    "tag": {"carrier": "AA"},
    "name": "best",
    "state": "stopped",
    "since": datetime(2026, 11, 20, 10, tzinfo=UTC),
    "until": "2026-11-20T10:05:00.0001Z",
    "min-size": "64k",
    "max_size": 10**9,
    "archive": "/archives/one",
    "id": [1, 2],
    "limit": 10,
    "offset": 5,
    "order": "oldest",
}
WORDS = [
    "stream=1001",
    "channel=orders",
    "tag=carrier=AA",
    "name=best",
    "state=stopped",
    "since=1795168800000",
    "until=2026-11-20T10:05:00.0001Z",
    "min-size=65536",
    "max-size=1000000000",
    "archive=/archives/one",
    "id=1",
    "id=2",
    "limit=10",
    "offset=5",
    "order=oldest",
]


def test_a_table_and_words_say_the_same() -> None:
    wanted = Search(
        stream_id=1001,
        channel="orders",
        tags={"carrier": "AA"},
        name="best",
        state="stopped",
        since_ms=1_795_168_800_000,
        until_ms=1_795_169_100_001,
        min_size=65_536,
        max_size=10**9,
        archive="/archives/one",
        recording_ids=(1, 2),
        limit=10,
        offset=5,
        order="oldest",
    )

    assert parse_search(TABLE) == wanted
    assert parse_search(WORDS) == wanted


def test_what_is_none_does_not_matter() -> None:
    assert parse_search({}) == parse_search([]) == parse_search({"stream": None}) == Search()


def test_tags_without_a_value_and_with_odd_ones() -> None:
    assert parse_search({"tag": ["a", "b=", "c=d=e"]}).tags == {"a": None, "b": "", "c": "d=e"}


def test_an_archive_may_be_a_number() -> None:
    assert parse_search(["archive=77"]).archive == 77
    assert parse_search({"archive": -5}).archive == -5


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"streem": 1}, "there is no condition 'streem'; there are stream, channel"),
        ({"stream": "x"}, "no integer"),
        ({"stream": 1.5}, "no integer"),
        ({"stream": True}, "no integer"),
        ({"stream": "9" * 30}, "stream_id is 9"),
        ({"stream": "9" * 5000}, "no integer"),
        ({"channel": 7}, "no text"),
        ({"tag": 7}, "write KEY=VALUE"),
        ({"tag": ["a=1", "a=2"]}, "given twice"),
        ({"since": "soon"}, "is not a time"),
        ({"since": "9" * 40}, "is not a time"),
        ({"min-size": "1x"}, "min-size"),
        ({"id": list(range(10_001))}, "10000 at most"),
        (["stream"], "write NAME=VALUE"),
        (["stream=1", "stream=2"], "given twice"),
        ("stream=1", "a list of NAME=VALUE"),
    ],
    ids=lambda given: str(given)[:30],
)
def test_what_makes_no_sense_is_named(given: Any, said: str) -> None:
    with pytest.raises(SearchError, match=said):
        parse_search(given)
