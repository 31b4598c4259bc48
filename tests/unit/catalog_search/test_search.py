"""A search finds what its conditions say, however the database is asked."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import many_recordings as many
import pytest

from aerolog.catalog.index import search_query
from aerolog.catalog.index.errors import SearchError
from aerolog.catalog.index.search import Search, search
from aerolog.catalog.index.search_checks import ORDERS

if TYPE_CHECKING:
    from aerolog.catalog.index import RecordingCatalog

ROWS = many.make_rows(210)

CONDITIONS: dict[str, Search] = {
    "everything": Search(),
    "a stream": Search(stream_id=1001),
    "no stream": Search(stream_id=7),
    "part of a channel": Search(channel="orders"),
    "a channel of every stream": Search(channel="aeron:"),
    "wildcards are characters": Search(channel="50%_off"),
    "wildcards alone": Search(channel="%"),
    "an underscore": Search(channel="_"),
    "quotes": Search(channel="'quoted\""),
    "more than ASCII": Search(channel="zażółć"),
    "an injection": Search(channel="' OR 1=1 --"),
    "stream and channel": Search(stream_id=1002, channel="orders"),
    "a common tag": Search(tags={"env": "prod"}),
    "a rare tag": Search(tags={"carrier": "LH"}),
    "any value": Search(tags={"carrier": None}),
    "two tags": Search(tags={"carrier": "AA", "env": "test"}),
    "no such tag": Search(tags={"carrier": "%"}),
    "a name": Search(name="name-40"),
    "no such name": Search(name="name-%"),
    "a common state": Search(state="stopped"),
    "a rare state": Search(state="purged"),
    "since": Search(since_ms=many.T0 + 5 * 10**8),
    "until": Search(until_ms=many.T0 + 5 * 10**8),
    "a range of time": Search(since_ms=many.T0 + 10**8, until_ms=many.T0 + 10**8 + 10**6),
    "a millisecond": Search(since_ms=many.T0 + 10**8, until_ms=many.T0 + 10**8 + 1),
    "a tag in a range of time": Search(tags={"carrier": "AA"}, since_ms=many.T0 + 10**8),
    "before everything": Search(until_ms=-(2**63)),
    "since for ever": Search(since_ms=-(2**63)),
    "the end of time": Search(since_ms=2**63 - 1),
    "at least": Search(min_size=2**30),
    "at most": Search(max_size=2**10),
    "between sizes": Search(min_size=2**20, max_size=2**21),
    "no size is so large": Search(min_size=2**63 - 1),
    "an archive by place": Search(archive="/archives/two"),
    "an archive by URL": Search(archive="s3://bucket/three"),
    "an archive by number": Search(archive=71),
    "ids": Search(recording_ids=[1, 5, 5, 100, 2**63 - 1]),
    "no ids": Search(recording_ids=[]),
    "all together": Search(
        stream_id=1001,
        channel="alias",
        tags={"env": "prod"},
        state="stopped",
        since_ms=many.T0,
        until_ms=many.T0 + 9 * 10**8,
        min_size=2**8,
        archive="/archives/one",
    ),
}


@pytest.fixture
def filled(catalog: RecordingCatalog) -> RecordingCatalog:
    many.store(catalog, ROWS)
    return catalog


@pytest.mark.parametrize(
    ("few", "sifted"),
    [(1, 40), (1, 250), (10, 5), (5000, 250)],
    ids=["all common", "all sifted", "mixed", "all rare"],
)
def test_what_is_found_is_what_meets_the_conditions(
    few: int, sifted: int, filled: RecordingCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_query, "FEW", few)
    monkeypatch.setattr(search_query, "SIFTED", sifted)
    pages = random.Random(few + sifted)
    for title, base in CONDITIONS.items():
        page = {"limit": pages.randrange(1, 30), "offset": pages.randrange(20)}
        for wanted in (base, replace(base, order=pages.choice(ORDERS), **page)):
            found = search(filled, wanted)

            assert [(one.place, one.recording_id) for one in found] == many.expected(
                ROWS, wanted
            ), (title, wanted)


def test_all_that_is_known_of_a_recording_is_found(filled: RecordingCatalog) -> None:
    row = ROWS[200]

    (found,) = search(filled, Search(name="name-200"))

    assert found.place == many.PLACES[row.archive - 1]
    assert found.archive_id == 70 + row.archive
    assert (found.stream_id, found.channel) == (row.stream_id, row.channel)
    assert (dict(found.tags), found.names) == (row.tags, ("name-200",))
    for name in ("recording_id", "session_id", "state", "start_position", "stop_position"):
        assert getattr(found, name) == row.values[name]
    for name in ("start_time_ms", "stop_time_ms", "size_bytes", "original_channel"):
        assert getattr(found, name) == row.values[name]


def test_pages_have_every_recording_once(filled: RecordingCatalog) -> None:
    pages = [
        search(filled, Search(state="stopped", limit=50, offset=offset))
        for offset in range(0, 250, 50)
    ]

    found = [(one.place, one.recording_id) for page in pages for one in page]
    assert found == many.expected(ROWS, Search(state="stopped"))


def test_a_long_text_is_searched_for(filled: RecordingCatalog) -> None:
    assert search(filled, Search(channel="a" * 16_384)) == []
    assert search(filled, Search(tags={"k" * 16_384: "'" * 16_384})) == []


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Search(stream_id=2**31), "stream_id is 2147483648"),
        (Search(since_ms=2**63), "since_ms is"),
        (Search(min_size=-1), "min_size is -1"),
        (Search(limit=-1), "limit is -1"),
        (Search(offset=2**64), "offset is"),
        (Search(limit=True), "no integer"),
        (Search(channel="a" * 16_385), "channel has 16385 characters"),
        (Search(channel="\0"), "NUL and lone surrogates"),
        (Search(name="\ud800"), "NUL and lone surrogates"),
        (Search(tags={"a": "\0"}), "NUL and lone surrogates"),
        (Search(tags={f"k{n}": None for n in range(65)}), "65 tags are too many"),
        (Search(state="running"), "there are active, stopped, invalid, deleted, purged"),
        (Search(order="random"), "there are newest, oldest, largest, smallest, id"),
        (Search(recording_ids=range(10_001)), "10000 at most"),
        (Search(recording_ids=[2**63]), "a recording id is"),
        (Search(since_ms=2, until_ms=1), "since_ms is 2, more than until_ms"),
        (Search(min_size=2, max_size=1), "min_size is 2, more than max_size"),
        (Search(archive="\0"), "NUL and lone surrogates"),
        (Search(archive=2**70), "archive is"),
    ],
    ids=str,
)
def test_a_condition_that_makes_no_sense_is_named(
    wanted: Search, said: str, local: RecordingCatalog
) -> None:
    with pytest.raises(SearchError, match=said):
        search(local, wanted)
