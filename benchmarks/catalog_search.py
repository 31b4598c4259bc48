"""Searches of a SQL catalog with a million recordings, one row for each kind of condition."""

from __future__ import annotations

import os
import random
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from aerolog.catalog.index import RecordingCatalog
from aerolog.catalog.index.search import Search, search
from aerolog.transport.errors import AerologError
from benchmarks.durations import median_ms
from benchmarks.folders import temporary_folder
from benchmarks.reference import module_of_tests
from benchmarks.result import PeerUnavailableError, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDINGS = 1_000_000
STREAMS = 20_000
ROUNDS = 11
WARM_UP_ROUNDS = 1
LIMIT = 100
CHUNK = 50_000
T0 = 1_700_000_000_000
COUNT_VARIABLE = "AEROLOG_BENCH_RECORDINGS"
PEER_NAME = "the same conditions as one plain statement"

ROWS = {
    "streams": ("id", "archive_fk", "stream_id", "channel"),
    "recordings": (
        *("id", "archive_fk", "recording_id", "stream_fk", "session_id", "state"),
        *("start_position", "stop_position", "start_time_ms", "stop_time_ms"),
        *("initial_term_id", "segment_length", "term_length", "mtu_length"),
        *("stripped_channel", "original_channel", "source_identity", "size_bytes"),
    ),
    "tags": ("recording_fk", "key", "value"),
    "names": ("archive_fk", "name", "recording_fk"),
    "time_index": ("recording_fk", "time_ns", "until_ns", "position", "until_position"),
}


def million() -> list[Result]:
    """Milliseconds of a search, median of several after the first; SQLite and PostgreSQL."""
    count = int(os.environ.get(COUNT_VARIABLE, RECORDINGS))
    with temporary_folder() as folder:
        results = _measure(f"sqlite:///{folder}/catalog.db", count, "sqlite")
    try:
        with _postgres() as url:
            results += _measure(url, count, "postgresql")
    except PeerUnavailableError as reason:
        results.append(Result("catalog-search-1m", "ms", 0.0, None, f"no PostgreSQL: {reason}"))
    return results


def searches(count: int) -> dict[str, tuple[Search, str]]:
    """Kind of condition -> a search, and its conditions as people would write them in SQL."""
    middle = T0 + count * 250
    hour = middle + 3_600_000
    late = T0 + count * 499
    overlap = "start_time_ms < {until} AND (stop_time_ms IS NULL OR stop_time_ms >= {since})"
    of_stream = "stream_fk IN (SELECT id FROM streams WHERE {})"
    tagged = "id IN (SELECT recording_fk FROM tags WHERE key = '{}' AND value = '{}')"
    named = "id IN (SELECT recording_fk FROM names WHERE name = 'name-0')"
    like = of_stream.format("channel LIKE '%{}%'")
    combined = " AND ".join(
        (like.format("example"), tagged.format("env", "prod"), "size_bytes >= 1048576")
    )
    return {
        "stream": (Search(stream_id=7), of_stream.format("stream_id = 7")),
        "channel-common": (Search(channel="example"), like.format("example")),
        "channel-rare": (Search(channel="host-37.ex"), like.format("host-37.ex")),
        "tag-common": (Search(tags={"env": "prod"}), tagged.format("env", "prod")),
        "tag-rare": (Search(tags={"carrier": "C3"}), tagged.format("carrier", "C3")),
        "name": (Search(name="name-0"), named),
        "state-common": (Search(state="stopped"), "state = 'stopped'"),
        "state-rare": (Search(state="active"), "state = 'active'"),
        "time-hour": (
            Search(since_ms=middle, until_ms=hour),
            overlap.format(since=middle, until=hour),
        ),
        "time-late": (Search(since_ms=late), overlap.format(since=late, until=2**62)),
        "size-common": (Search(min_size=1 << 20), "size_bytes >= 1048576"),
        "size-rare": (Search(min_size=1023 << 30), f"size_bytes >= {1023 << 30}"),
        "combined": (
            Search(
                channel="example",
                tags={"env": "prod"},
                min_size=1 << 20,
                since_ms=middle,
                until_ms=hour,
            ),
            f"{combined} AND {overlap.format(since=middle, until=hour)}",
        ),
    }


def fill(catalog: RecordingCatalog, count: int) -> None:
    """Recordings of 20,000 streams, one after the other, of all lengths, with their times."""
    _write(
        catalog, "archives", ("id", "archive_id", "place", "journal_position"), [(1, 1, "/a", 0)]
    )
    streams = min(STREAMS, count)
    channels = [
        f"aeron:udp?endpoint=host-{i % 700}.example.com:{20000 + i}|alias=orders-{i % 37}"
        for i in range(streams)
    ]
    _write(
        catalog,
        "streams",
        ROWS["streams"],
        [(i + 1, 1, i % 5000, channel) for i, channel in enumerate(channels)],
    )
    rng = random.Random(1)
    start = T0
    for first in range(0, count, CHUNK):
        tables: dict[str, list[tuple[Any, ...]]] = {name: [] for name in list(ROWS)[1:]}
        for i in range(first, min(first + CHUNK, count)):
            start += rng.randrange(1000)
            active = i >= count - 20
            stop = None if active else start + int(2 ** rng.uniform(0, 25))
            size = int(2 ** rng.uniform(5, 40))
            stream = rng.randrange(streams)
            tables["recordings"].append(
                (
                    *(i + 1, 1, i, stream + 1, i, "active" if active else "stopped"),
                    *(0, None if active else size, start, stop, 1, 1 << 27, 1 << 26, 1408),
                    *(channels[stream], channels[stream], "127.0.0.1:40000", size),
                )
            )
            # Silent in the middle.
            half, end = start * 10**6 + (stop or start) * 10**6 >> 1, stop and stop * 10**6
            tables["time_index"].append((i + 1, start * 10**6, half, 0, size // 2))
            tables["time_index"].append((i + 1, half + 10**9, end, size // 2, size))
            tables["tags"].append((i + 1, "env", "prod"))
            if i % 1000 == 0:
                tables["tags"].append((i + 1, "carrier", f"C{i // 1000 % 7}"))
                tables["names"].append((1, f"name-{i}", i + 1))
        for table, rows in tables.items():
            _write(catalog, table, ROWS[table], rows)


def _write(
    catalog: RecordingCatalog, table: str, columns: tuple[str, ...], rows: list[tuple[Any, ...]]
) -> None:
    with catalog.session(writes=True) as session:
        connection = session.connection()
        named = ", ".join(columns)
        if connection.dialect.name == "sqlite":
            marks = ", ".join("?" * len(columns))
            connection.exec_driver_sql(f"INSERT INTO {table} ({named}) VALUES ({marks})", rows)
            return
        cursor: Any = connection.connection.cursor()
        with cursor.copy(f"COPY {table} ({named}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)


def _measure(url: str, count: int, database: str) -> list[Result]:
    with RecordingCatalog.open(url) as catalog:
        fill(catalog, count)
        results = []
        for kind, (wanted, where) in searches(count).items():
            bounded = replace(wanted, limit=LIMIT)
            ours, plain = (
                median_ms(call, ROUNDS, WARM_UP_ROUNDS)
                for call in (partial(search, catalog, bounded), partial(_plainly, catalog, where))
            )
            name = f"catalog-search-1m-{kind}-{database}"
            results.append(Result(name, "ms", ours, plain, PEER_NAME, smaller_is_better=True))
    return results


def _plainly(catalog: RecordingCatalog, where: str) -> None:
    statement = f"SELECT id FROM recordings WHERE {where} ORDER BY start_time_ms DESC LIMIT {LIMIT}"
    with catalog.session() as session:
        session.execute(text(statement)).all()


@contextmanager
def _postgres() -> Iterator[str]:
    """A database of a server that is started for this: the one of the tests."""
    try:
        server = module_of_tests("support", "postgres").PostgresServer.start()
    except (ImportError, FileNotFoundError, AerologError) as reason:
        raise PeerUnavailableError(str(reason)) from reason
    try:
        yield server.url(server.new_database())
    finally:
        server.stop()
