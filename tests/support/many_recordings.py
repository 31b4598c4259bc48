"""Rows of many recordings, at random by a seed, and what a search has to find among them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert

from aerolog.catalog.index.models import Archive, Name, Recording, Stream, Tag

if TYPE_CHECKING:
    from aerolog.catalog.index import RecordingCatalog
    from aerolog.catalog.index.search import Search

STATES = ("active", "stopped", "stopped", "stopped", "invalid", "deleted", "purged")
CHANNELS = (
    "aeron:ipc",
    "aeron:ipc?alias=orders",
    "aeron:udp?endpoint=localhost:20121|alias=50%_off",
    "aeron:udp?endpoint=[::1]:20122|alias='quoted\"",
    "aeron:udp?endpoint=host-1:4000|alias=ORDERS",
    "aeron:udp?endpoint=host-2:4000|alias=zażółć",
)
PLACES = ("/archives/one", "/archives/two", "s3://bucket/three")
T0 = 1_700_000_000_000


@dataclass
class Row:
    """A recording, with its labels."""

    key: int
    values: dict[str, Any]
    archive: int
    stream_id: int
    channel: str
    tags: dict[str, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def meets(self, wanted: Search) -> bool:
        """The conditions of a search, written down once more and simply."""
        start, stop = self.values["start_time_ms"], self.values["stop_time_ms"]
        size = self.values["size_bytes"]
        places = {PLACES[self.archive - 1], 70 + self.archive}
        return (
            wanted.stream_id in {None, self.stream_id}
            and (wanted.channel or "") in self.channel
            and all(
                key in self.tags and value in {None, self.tags[key]}
                for key, value in wanted.tags.items()
            )
            and (wanted.name is None or wanted.name in self.names)
            and wanted.state in {None, self.values["state"]}
            and (wanted.since_ms is None or stop is None or stop >= wanted.since_ms)
            and (wanted.until_ms is None or start < wanted.until_ms)
            and (wanted.min_size is None or size >= wanted.min_size)
            and (wanted.max_size is None or size <= wanted.max_size)
            and (wanted.archive is None or wanted.archive in places)
            and (
                wanted.recording_ids is None or self.values["recording_id"] in wanted.recording_ids
            )
        )


ORDER = {
    "newest": lambda row: (-row.values["start_time_ms"], -row.key),
    "oldest": lambda row: (row.values["start_time_ms"], row.key),
    "largest": lambda row: (-row.values["size_bytes"], -row.key),
    "smallest": lambda row: (row.values["size_bytes"], row.key),
    "id": lambda row: (row.archive, row.values["recording_id"]),
}


def expected(rows: list[Row], wanted: Search) -> list[tuple[str, int]]:
    """Places and ids, in order."""
    found = sorted((row for row in rows if row.meets(wanted)), key=ORDER[wanted.order])
    end = None if wanted.limit is None else wanted.offset + wanted.limit
    return [
        (PLACES[row.archive - 1], row.values["recording_id"]) for row in found[wanted.offset : end]
    ]


def make_rows(count: int, seed: int = 1) -> list[Row]:
    """Recordings of three archives; some times are those of damaged descriptors."""
    rng = random.Random(seed)
    rows = []
    for number in range(count):
        start = T0 + rng.randrange(10**9)
        if number % 97 == 3:
            start = rng.choice([-(2**63), 0, 2**63 - 1])
        state = rng.choice(STATES)
        lasted = int(2 ** rng.uniform(0, 42)) - 2
        stop = None if state == "active" else min(max(start + lasted, -(2**63)), 2**63 - 1)
        stream = rng.randrange(3 * len(CHANNELS))
        channel = CHANNELS[stream % len(CHANNELS)]
        archive = number % len(PLACES) + 1
        row = Row(
            key=number + 1,
            archive=archive,
            stream_id=1000 + stream // len(CHANNELS),
            channel=channel,
            values={
                "recording_id": number // len(PLACES),
                "session_id": number,
                "state": state,
                "start_position": 0,
                "stop_position": None if state == "active" else 64,
                "start_time_ms": start,
                "stop_time_ms": stop,
                "initial_term_id": 1,
                "segment_length": 65536,
                "term_length": 65536,
                "mtu_length": 1408,
                "stripped_channel": channel,
                "original_channel": channel,
                "source_identity": "aeron:ipc",
                "size_bytes": int(2 ** rng.uniform(5, 40)),
            },
        )
        if rng.random() < 0.7:
            row.tags["env"] = rng.choice(["prod", "test"])
        if number % 50 == 0:
            row.tags["carrier"] = rng.choice(["AA", "LH"])
        if number % 40 == 0:
            row.names.append(f"name-{number}")
        rows.append(row)
    return rows


def store(catalog: RecordingCatalog, rows: list[Row]) -> None:
    """Put them into a catalog that is empty."""
    streams = {(row.archive, row.stream_id, row.channel) for row in rows}
    keys = {stream: key for key, stream in enumerate(sorted(streams), 1)}
    with catalog.session(writes=True) as session:
        tables: list[tuple[Any, list[dict[str, Any]]]] = [
            (
                Archive,
                [
                    {"id": at, "archive_id": 70 + at, "place": place, "journal_position": 0}
                    for at, place in enumerate(PLACES, 1)
                ],
            ),
            (
                Stream,
                [
                    {"id": key, "archive_fk": archive, "stream_id": stream_id, "channel": channel}
                    for (archive, stream_id, channel), key in keys.items()
                ],
            ),
            (
                Recording,
                [
                    {
                        "id": row.key,
                        "archive_fk": row.archive,
                        "stream_fk": keys[row.archive, row.stream_id, row.channel],
                        **row.values,
                    }
                    for row in rows
                ],
            ),
            (
                Tag,
                [
                    {"recording_fk": row.key, "key": key, "value": value}
                    for row in rows
                    for key, value in row.tags.items()
                ],
            ),
            (
                Name,
                [
                    {"archive_fk": row.archive, "recording_fk": row.key, "name": name}
                    for row in rows
                    for name in row.names
                ],
            ),
        ]
        for table, values in tables:
            session.connection().execute(insert(table.__table__), values)
