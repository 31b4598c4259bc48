"""Searching a catalog: what to look for, and what is found.

Conditions are joined by "and". How a database is asked is in `aerolog.catalog.index.search_query`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select

from aerolog.catalog.index.models import Archive, Name, Recording, State, Stream, Tag
from aerolog.catalog.index.search_checks import checked
from aerolog.catalog.index.search_query import chosen_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy.orm import Session

    from aerolog.catalog.index.recording_catalog import RecordingCatalog

_CHUNK: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The conditions of a search; a condition that is None is not applied.

    Attributes:
        stream_id: of the recording.
        channel: part of its stripped channel, capitals as they are.
        tags: key -> value; a value of None is any.
        name: of the recording, all of it.
        state: of `State`: ``active``, ``stopped``, ``invalid``, ``deleted``, ``purged``.
        since_ms: recorded at this time or later, UTC epoch milliseconds; that is from its start to
            its stop, but where its time index knows that it was silent.
        until_ms: recorded before this time. With ``since_ms``: at some time between the two.
        min_size: least size of the stream, bytes.
        max_size: greatest size of the stream, bytes.
        archive: its place (a path or URL) or the id of its mark file.
        recording_ids: one of these.
        limit: how many at most.
        offset: how many of the first to leave out.
        order: of `ORDERS`: ``newest`` and ``oldest`` by start, ``largest``, ``smallest``, ``id``.
    """

    stream_id: int | None = None
    channel: str | None = None
    tags: Mapping[str, str | None] = field(default_factory=dict)
    name: str | None = None
    state: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    min_size: int | None = None
    max_size: int | None = None
    archive: str | int | None = None
    recording_ids: Sequence[int] | None = None
    limit: int | None = None
    offset: int = 0
    order: str = "newest"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRecording:
    """A recording as the catalog has it.

    Attributes:
        archive_id: of the archive's mark file, None where there was none.
        place: the archive's folder or URL; with ``recording_id`` it names the recording.
        channel: stripped of what is one publication's own.
        original_channel: as it was asked to be recorded.
        state: of `State`.
        stop_position: None while it has none.
        start_time_ms: UTC epoch milliseconds.
        stop_time_ms: None while it has none.
        size_bytes: of the stream, as far as the catalog knows.
        tags: key -> value.
        names: sorted.
    """

    archive_id: int | None
    place: str
    recording_id: int
    session_id: int
    stream_id: int
    channel: str
    original_channel: str
    state: State
    start_position: int
    stop_position: int | None
    start_time_ms: int
    stop_time_ms: int | None
    size_bytes: int
    tags: Mapping[str, str]
    names: tuple[str, ...]


def search(catalog: RecordingCatalog, wanted: Search) -> list[FoundRecording]:
    """The recordings that meet all conditions, in the order that is asked for.

    Raises:
        SearchError: a condition makes no sense.
        CatalogError: the database cannot be asked.
    """
    conditions = checked(wanted)
    with catalog.session() as session:
        keys = chosen_keys(session, conditions)
        return [one for chunk in _chunks(keys) for one in _found(session, chunk)]


def _chunks(keys: list[int]) -> Iterator[list[int]]:
    for at in range(0, len(keys), _CHUNK):
        yield keys[at : at + _CHUNK]


def _found(session: Session, keys: list[int]) -> Iterator[FoundRecording]:
    """Recordings in the order of their keys, with their tags and names."""
    tags: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for key, tag, value in session.execute(
        select(Tag.recording_fk, Tag.key, Tag.value)
        .where(Tag.recording_fk.in_(keys))
        .order_by(Tag.key)
    ):
        tags[key][tag] = value
    names: defaultdict[int, list[str]] = defaultdict(list)
    for key, name in session.execute(
        select(Name.recording_fk, Name.name).where(Name.recording_fk.in_(keys))
    ):
        names[key].append(name)
    rows = session.execute(_ROWS.where(Recording.id.in_(keys))).mappings()
    found: dict[int, dict[str, Any]] = {row["id"]: dict(row) for row in rows}
    for key in keys:
        values = found[key]
        del values["id"]
        values["state"] = State(values["state"])
        yield FoundRecording(**values, tags=tags[key], names=tuple(sorted(names[key])))


_ROWS: Final = (
    select(
        Recording.id,
        Archive.archive_id,
        Archive.place,
        Recording.recording_id,
        Recording.session_id,
        Stream.stream_id,
        Stream.channel,
        Recording.original_channel,
        Recording.state,
        Recording.start_position,
        Recording.stop_position,
        Recording.start_time_ms,
        Recording.stop_time_ms,
        Recording.size_bytes,
    )
    .join(Archive, Recording.archive_fk == Archive.id)
    .join(Stream, Recording.stream_fk == Stream.id)
)
