"""Databases are asked so that an index answers: their own plans say so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import many_recordings as many
import pytest
from sqlalchemy import event

from aerolog.catalog.index import RecordingCatalog, search_query
from aerolog.catalog.index.search import Search, search
from aerolog.catalog.index.spans import SPAN_CLASS_SQL

if TYPE_CHECKING:
    from pathlib import Path

ROWS = many.make_rows(400)
LATE = many.T0 + 10**9
SEARCHES = {
    "stream": Search(stream_id=1001, limit=10),
    "channel": Search(channel="orders", limit=10),
    "common tag": Search(tags={"env": "prod"}, limit=10),
    "rare tag": Search(tags={"carrier": "AA"}, limit=10),
    "name": Search(name="name-40", limit=10),
    "common state": Search(state="stopped", limit=10),
    "rare state": Search(state="purged", limit=10),
    "range of time": Search(since_ms=many.T0, until_ms=LATE, limit=10),
    "short range of time": Search(since_ms=LATE - 1000, until_ms=LATE, limit=10),
    "until": Search(until_ms=LATE, limit=10),
    "size": Search(min_size=1 << 20, limit=10),
    "largest": Search(min_size=1 << 20, order="largest", limit=10),
    "ids": Search(recording_ids=[1, 2, 3], limit=10),
    "archive": Search(archive="/archives/one", limit=10),
    "combined": Search(
        channel="alias", tags={"env": "prod"}, since_ms=many.T0, min_size=1 << 20, limit=10
    ),
}


def plans(catalog: RecordingCatalog, wanted: Search) -> list[str]:
    """What the database says to each statement of a search, as it is set when it runs."""
    found: list[str] = []
    is_sqlite = catalog.engine.dialect.name == "sqlite"
    explain = "EXPLAIN QUERY PLAN " if is_sqlite else "EXPLAIN "

    def note(_c: Any, cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        if statement.startswith("SELECT") and "set_config" not in statement:
            cursor.execute(explain + statement, parameters)
            found.append("\n".join(str(row[-1]) for row in cursor.fetchall()))

    event.listen(catalog.engine, "before_cursor_execute", note)
    try:
        search(catalog, wanted)
    finally:
        event.remove(catalog.engine, "before_cursor_execute", note)
    return found


@pytest.mark.parametrize("few", [5, 5000], ids=["common", "rare"])
def test_no_statement_reads_all_recordings_without_an_index(
    few: int, catalog: RecordingCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_query, "FEW", few)
    many.store(catalog, ROWS)
    for title, wanted in SEARCHES.items():
        for plan in plans(catalog, wanted):
            whole = re.findall(
                r"SCAN (?:recordings|tags)$|Seq Scan on (?:recordings|tags)\b", plan, re.MULTILINE
            )
            assert not whole, (title, plan)


@pytest.mark.parametrize("title", ["stream", "common state", "until", "largest"])
def test_common_conditions_need_no_sort(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_query, "FEW", 1)
    monkeypatch.setattr(many, "CHANNELS", ("aeron:ipc",))
    rows = many.make_rows(300)
    for row in rows:
        row.archive = 1  # so that a stream is one row of streams
        row.values["recording_id"] = row.key
    with RecordingCatalog.open(archive_dir=tmp_path) as catalog:
        many.store(catalog, rows)
        chosen = [plan for plan in plans(catalog, SEARCHES[title]) if "tags" not in plan]

    assert len(chosen) >= 2
    assert not any("FOR ORDER BY" in plan for plan in chosen), chosen


def test_the_index_of_a_range_of_time_has_the_expression_of_the_search(
    catalog: RecordingCatalog,
) -> None:
    with catalog.session() as session:
        connection = session.connection()
        if connection.dialect.name == "sqlite":
            sql = "SELECT sql FROM sqlite_master WHERE name = 'ix_recordings_span_class'"
            made = connection.exec_driver_sql(sql).scalar_one()
            assert "".join(SPAN_CLASS_SQL.split()) in "".join(made.split())
    many.store(catalog, ROWS)
    plan = "\n".join(plans(catalog, SEARCHES["short range of time"]))
    assert "ix_recordings_span_class" in plan
