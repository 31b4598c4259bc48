"""Searches of a catalog: their conditions and results.

All conditions of a search must hold. `aerolog.catalog.index.search_query` turns them into queries.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select

from aerolog.catalog.index.models import Archive, Name, Recording, State, Stream, Tag
from aerolog.catalog.index.search_checks import checked
from aerolog.catalog.index.search_query import chosen_keys
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy.orm import Session

    from aerolog.catalog.index.recording_catalog import RecordingCatalog

_CHUNK: Final = 500


@repr_without_secrets
@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The conditions of a search; a condition that is None is not applied.

    Attributes:
        stream_id: the recording's stream id.
        channel: a part of the stripped channel; case matters.
        tags: key -> value; the value None matches any value.
        name: the whole name of the recording.
        state: a value of `State`: ``active``, ``stopped``, ``invalid``, ``deleted``, ``purged``.
        since_ms: the recording was active at this time or later, UTC epoch milliseconds. It is
            active from its start to its stop, except where its time index shows that nothing was
            recorded.
        until_ms: the recording was active before this time; with ``since_ms``, at some time between
            the two.
        min_size: the least size of the stream in bytes.
        max_size: the greatest size of the stream in bytes.
        archive: the archive's place (a path or URL) or the id of its mark file.
        recording_ids: the recording's id is one of these.
        limit: the largest number of results.
        offset: the number of results to leave out at the beginning.
        order: one of `ORDERS`: ``newest`` and ``oldest`` by start time, ``largest``, ``smallest``,
            ``id``.
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


@repr_without_secrets
@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRecording:
    """A recording that a search found.

    Attributes:
        archive_id: the id in the archive's mark file, None where there was none.
        place: the archive's folder or URL; with ``recording_id`` it identifies the recording.
        channel: the channel without the parameters that belong to one publication only.
        original_channel: the channel that the request to record it named.
        state: a value of `State`.
        stop_position: None while the recording is active.
        start_time_ms: UTC epoch milliseconds.
        stop_time_ms: None while the recording has no stop time.
        size_bytes: the bytes of stream that the catalog knows of.
        tags: key -> value.
        names: the recording's names, sorted.
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
    """Find the recordings that meet all conditions, in the search's order.

    Raises:
        SearchError: a condition is malformed or out of range.
        CatalogError: the database cannot be queried.
    """
    conditions = checked(wanted)
    with catalog.session() as session:
        keys = chosen_keys(session, conditions)
        return [one for chunk in _chunks(keys) for one in _found(session, chunk)]


def check_ids(catalog: RecordingCatalog, wanted: Search, where: str) -> None:
    """Check that each id of a search is that of a recording, whatever its other conditions are.

    Args:
        catalog: that is searched.
        wanted: whose ids are checked; those of recordings that are gone are known too.
        where: the catalog's name for the message.

    Raises:
        ArchiveError: UNKNOWN_RECORDING.
        Exception: as for `search`.
    """
    from aerolog.catalog.locations import refuse_unknown

    if wanted.recording_ids is not None:
        only_ids = Search(recording_ids=wanted.recording_ids, archive=wanted.archive, order="id")
        known = {found.recording_id for found in search(catalog, only_ids)}
        refuse_unknown(wanted.recording_ids, known, where)


def _chunks(keys: list[int]) -> Iterator[list[int]]:
    for at in range(0, len(keys), _CHUNK):
        yield keys[at : at + _CHUNK]


def _found(session: Session, keys: list[int]) -> Iterator[FoundRecording]:
    """The recordings in the order of their keys, with their tags and names."""
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
