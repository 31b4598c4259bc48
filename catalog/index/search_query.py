"""Builds the queries of a search so that its time does not grow with the catalog.

Each condition has two forms: one that an index answers, and one that tests a row that has been read
already. First each index is asked for a bounded number of rows. If a condition turns out to be
rare, all its rows are read, tested and sorted. If all are common, rows are read in the search's
order until the page is full, which happens soon. Planners cannot choose between the two: they have
no statistics of a catalog that was just filled, and none of substrings. For a search by a range of
time in the order of time there is a step before that: its page is usually among the first rows of
the range, which are tested against all other conditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    and_,
    func,
    literal_column,
    or_,
    select,
    union_all,
)

from aerolog.catalog.index.journal import place_of
from aerolog.catalog.index.models import (
    Archive,
    Name,
    Recording,
    Stream,
    Tag,
    TimeIndexEntry,
)
from aerolog.catalog.index.spans import CLASSES, LIMITS_MS, SPAN_CLASS_SQL, UNENDED
from aerolog.catalog.times import bounded
from aerolog.transport.config.values import INT64_MAX, INT64_MIN
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Select
    from sqlalchemy.orm import Session

    from aerolog.catalog.index.search import Search

#: A condition is rare when at most this many recordings meet it.
FEW: Final = 5000
#: The number of first rows of a range of time that are tested.
SIFTED: Final = 250
#: Up to this many streams are named one by one in a query.
_LISTED: Final = 200

#: The planner's settings for every search.
_ALWAYS: Final = {"enable_seqscan": "off", "jit": "off", "max_parallel_workers_per_gather": "0"}

_SPAN_CLASS: Final[ColumnElement[int]] = literal_column(SPAN_CLASS_SQL)
_BY_TIME: Final = ("newest", "oldest")
_BY_SIZE: Final = ("largest", "smallest")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition in its two forms.

    Attributes:
        keys: a query for the keys of the recordings that meet it; None when it is certainly common.
        indexed: the form that an index answers.
        at_hand: the form that tests a row; its shape keeps planners from using an index.
        walks: the orders in which the index that answers the condition returns the rows.
    """

    keys: Select[Any] | None
    indexed: ColumnElement[bool]
    at_hand: ColumnElement[bool]
    walks: tuple[str, ...] = ()


def chosen_keys(session: Session, wanted: Search) -> list[int]:
    """The keys (of the table ``recordings``) of what a search finds, in the search's order."""
    _trust_indexes(session)
    conditions = [*_of_labels(wanted), *_of_columns(wanted)]
    if wanted.since_ms is not None:
        conditions += _of_times(session, wanted)
    if _walks_a_range(wanted):
        found = _sifted(session, wanted, conditions)
        if found is not None:
            _gather_rows(session)
            return found
    conditions = [*_of_streams(session, wanted), *conditions]
    if wanted.since_ms is not None:
        conditions.append(_of_range(wanted))
    rare = _rarest(session, conditions)
    if rare is None:
        walked = list(session.scalars(_walked(wanted, conditions)))
        _gather_rows(session)
        return walked
    if rare.is_empty:
        return []
    _gather_rows(session)
    others = [one.at_hand for one in conditions if one is not rare.condition]
    chosen = select(Recording.id).where(rare.condition.indexed, *others)
    return list(session.scalars(_page(chosen.order_by(*_order(wanted, indexed=False)), wanted)))


@dataclass(frozen=True, slots=True)
class _Rare:
    condition: Condition
    is_empty: bool


def _rarest(session: Session, conditions: list[Condition]) -> _Rare | None:
    """The condition that the fewest recordings meet; None when all are common."""
    best: tuple[int, Condition] | None = None
    for condition in conditions:
        if condition.keys is None:
            continue
        count = _count(session, condition.keys)
        if count == 0:
            return _Rare(condition, is_empty=True)
        if count <= FEW and (best is None or count < best[0]):
            best = count, condition
    return None if best is None else _Rare(best[1], is_empty=False)


def _count(session: Session, keys: Select[Any]) -> int:
    """The number of keys, counted up to ``FEW`` and one more."""
    some = keys.limit(FEW + 1).subquery()
    return session.scalar(select(func.count()).select_from(some)) or 0


def _sifted(session: Session, wanted: Search, conditions: list[Condition]) -> list[int] | None:
    """The page, if it is among the first rows of a range of time; None when it may not be.

    It usually is. That saves counting the rows of each condition, and a statement with all
    conditions for each class of duration, which takes longer to build and plan than to execute.
    """
    needed = _needed(wanted)
    if needed is None or needed > SIFTED:
        return None
    found = first = list(session.scalars(_Spans(wanted).walked((), SIFTED)))
    others = [one.at_hand for one in conditions]
    streams = _stream_clauses(session, wanted)
    if streams:
        others.append(_is_of(streams))
    if first and others:
        met = select(Recording.id).where(Recording.id.in_(first), *others)
        kept = set(session.scalars(met))
        found = [key for key in first if key in kept]
    if len(found) < needed and len(first) == SIFTED:
        return None
    return found[wanted.offset : needed]


def _walked(wanted: Search, conditions: list[Condition]) -> Select[Any]:
    """A query that reads rows in order from an index and tests the other conditions on each."""
    if _walks_a_range(wanted):
        others = [one.at_hand for one in conditions[:-1]]
        return _page(_Spans(wanted).walked(others, _needed(wanted)), wanted)
    lead = next((one for one in conditions if wanted.order in one.walks), None)
    clauses = [one.indexed if one is lead else one.at_hand for one in conditions]
    found = select(Recording.id).where(*clauses).order_by(*_order(wanted, indexed=True))
    return _page(found, wanted)


def _walks_a_range(wanted: Search) -> bool:
    """Whether a range of time is read in order of time; the range is the last condition then."""
    return wanted.since_ms is not None and wanted.order in _BY_TIME


def _needed(wanted: Search) -> int | None:
    """The number of rows up to the end of the page, None for all rows."""
    return None if wanted.limit is None else min(wanted.limit + wanted.offset, INT64_MAX)


def _of_column(
    indexed: ColumnElement[bool], at_hand: ColumnElement[bool], walks: tuple[str, ...] = ()
) -> Condition:
    return Condition(select(Recording.id).where(indexed), indexed, at_hand, walks)


def _of_keys(keys: Select[Any], at_hand: ColumnElement[bool]) -> Condition:
    return Condition(keys, Recording.id.in_(keys), at_hand)


def _one(rows: Select[Any]) -> ColumnElement[bool]:
    """A condition that a row exists, looked up for one recording at a time.

    Planners turn EXISTS into a join, and would read all tagged rows to return the first hundred.
    """
    return rows.limit(1).correlate(Recording).scalar_subquery() == 1


def _stream_clauses(session: Session, wanted: Search) -> list[ColumnElement[bool]]:
    """The conditions on ``streams``."""
    clauses: list[ColumnElement[bool]] = []
    if wanted.stream_id is not None:
        clauses.append(Stream.stream_id == wanted.stream_id)
    if wanted.channel:
        # LIKE would not do: it has wildcards, and each database treats case differently.
        position = func.instr if _is_sqlite(session) else func.strpos
        clauses.append(position(Stream.channel, wanted.channel) > 0)
    return clauses


def _is_of(clauses: list[ColumnElement[bool]]) -> ColumnElement[bool]:
    """The condition that a recording's stream meets other conditions."""
    return _one(select(1).where(Stream.id == Recording.stream_fk, *clauses))


def _of_streams(session: Session, wanted: Search) -> list[Condition]:
    clauses = _stream_clauses(session, wanted)
    if not clauses:
        return []
    streams = select(Stream.id).where(*clauses)
    keys = list(session.scalars(streams.limit(_LISTED + 1)))
    if len(keys) == 1:
        (key,) = keys
        return [_of_column(Recording.stream_fk == key, Recording.stream_fk + 0 == key, _BY_TIME)]
    at_hand = _is_of(clauses)
    if len(keys) <= _LISTED:
        return [_of_column(Recording.stream_fk.in_(keys), at_hand)]
    inside = Recording.stream_fk.in_(streams)
    if _count(session, streams) > FEW:
        # Each stream has a recording, so there are more than FEW recordings too.
        return [Condition(None, inside, at_hand)]
    return [_of_column(inside, at_hand)]


def _of_labels(wanted: Search) -> list[Condition]:
    found = []
    for key, value in wanted.tags.items():
        tagged = [Tag.key == key, *([] if value is None else [Tag.value == value])]
        found.append(
            _of_keys(
                select(Tag.recording_fk).where(*tagged),
                _one(select(1).where(Tag.recording_fk == Recording.id, *tagged)),
            )
        )
    if wanted.name is not None:
        found.append(
            _of_keys(
                select(Name.recording_fk).where(Name.name == wanted.name),
                _one(select(1).where(Name.recording_fk == Recording.id, Name.name == wanted.name)),
            )
        )
    return found


def _of_columns(wanted: Search) -> list[Condition]:
    found = []
    if wanted.recording_ids is not None:
        ids: Sequence[int] = sorted(set(wanted.recording_ids))
        found.append(
            _of_column(Recording.recording_id.in_(ids), (Recording.recording_id + 0).in_(ids))
        )
    if wanted.archive is not None:
        archives = select(Archive.id).where(is_archive(wanted.archive))
        found.append(
            _of_column(Recording.archive_fk.in_(archives), (Recording.archive_fk + 0).in_(archives))
        )
    if wanted.state is not None:
        same = Recording.state == wanted.state
        found.append(_of_column(same, Recording.state.concat("") == wanted.state, _BY_TIME))
    if wanted.min_size is not None or wanted.max_size is not None:
        low = 0 if wanted.min_size is None else wanted.min_size
        high = INT64_MAX if wanted.max_size is None else wanted.max_size
        size = Recording.size_bytes
        found.append(_of_column(size.between(low, high), (size + 0).between(low, high), _BY_SIZE))
    if wanted.since_ms is None and wanted.until_ms is not None:
        found.append(
            _of_column(
                Recording.start_time_ms < wanted.until_ms,
                Recording.start_time_ms + 0 < wanted.until_ms,
                _BY_TIME,
            )
        )
    return found


def is_archive(archive: str | int) -> ColumnElement[bool]:
    """The condition that an archive has a place (path or URL) or a mark file's id."""
    if isinstance(archive, int):
        return Archive.archive_id == archive
    return Archive.place == place_of(archive)


def _overlaps(wanted: Search) -> ColumnElement[bool]:
    stop = Recording.stop_time_ms
    clauses = [or_(stop.is_(None), stop + 0 >= wanted.since_ms)]
    if wanted.until_ms is not None:
        clauses.append(Recording.start_time_ms + 0 < wanted.until_ms)
    return and_(*clauses)


def _of_range(wanted: Search) -> Condition:
    """The condition that a recording's time from start to stop overlaps a range of time.

    In the order of time the classes of duration are read one by one. The condition then counts as
    common, as they have no single query for its keys.
    """
    at_hand = _overlaps(wanted)
    if _walks_a_range(wanted):
        return Condition(None, at_hand, at_hand)
    return _of_keys(_Spans(wanted).keys(), at_hand)


def _of_times(session: Session, wanted: Search) -> list[Condition]:
    """The condition that the time index, where there is one, has data in the range of time.

    A recording may have received nothing for hours between its start and its stop. Rows are looked
    up for one recording at a time by the primary key of their table.
    """
    if session.scalar(select(TimeIndexEntry.time_ns).limit(1)) is None:
        return []
    assert wanted.since_ms is not None
    of_recording = TimeIndexEntry.recording_fk == Recording.id
    until_ns = TimeIndexEntry.until_ns
    inside = [or_(until_ns.is_(None), until_ns > bounded(wanted.since_ms * NS_PER_MS))]
    if wanted.until_ms is not None:
        inside.append(TimeIndexEntry.time_ns < bounded(wanted.until_ms * NS_PER_MS))
    at_hand = or_(
        _found(select(1).where(of_recording, *inside)),
        ~_found(select(1).where(of_recording)),
    )
    return [Condition(None, at_hand, at_hand)]


def _found(rows: Select[Any]) -> ColumnElement[bool]:
    """The condition of `_one`, but false and not null without a row, so that it can be negated."""
    row = rows.limit(1).correlate(Recording).scalar_subquery()
    return func.coalesce(row, 0) == 1


@dataclass(frozen=True, slots=True)
class _Spans:
    """The recordings that overlap a range of time, from each class of duration in `spans`."""

    wanted: Search

    def keys(self) -> Select[Any]:
        """A query for their keys, in no order."""
        parts = (select(Recording.id).where(*self._of_class(k)) for k in CLASSES)
        return select(union_all(*parts).subquery().c.id)

    def walked(self, others: Sequence[ColumnElement[bool]], needed: int | None) -> Select[Any]:
        """A query for keys in order of time: from each class at most ``needed``, then merged."""
        start = Recording.start_time_ms
        parts = []
        for k in CLASSES:
            rows = select(Recording.id, start).where(*self._of_class(k), *others)
            part = rows.order_by(*_order(self.wanted, indexed=True)).limit(needed).subquery()
            parts.append(select(part))
        every = union_all(*parts).subquery()
        columns = (every.c.start_time_ms, every.c.id)
        descending = self.wanted.order == "newest"
        ordered = select(every.c.id).order_by(*(c.desc() if descending else c for c in columns))
        return ordered.limit(needed)

    def _of_class(self, k: int) -> list[ColumnElement[bool]]:
        since, until, start = self.wanted.since_ms, self.wanted.until_ms, Recording.start_time_ms
        assert since is not None
        clauses = [literal_column(str(k)) == _SPAN_CLASS]
        if k < len(LIMITS_MS):
            clauses.append(start >= max(since - LIMITS_MS[k], INT64_MIN))
        if until is not None:
            clauses.append(start < until)
        if k != UNENDED:
            clauses.append(Recording.stop_time_ms + 0 >= since)
        return clauses


def _order(wanted: Search, *, indexed: bool) -> tuple[ColumnElement[Any], ...]:
    """The columns to sort by, ending with the key, so that pages neither overlap nor leave gaps."""
    columns: dict[str, tuple[Any, ...]] = {
        "newest": (Recording.start_time_ms, Recording.id),
        "oldest": (Recording.start_time_ms, Recording.id),
        "largest": (Recording.size_bytes, Recording.id),
        "smallest": (Recording.size_bytes, Recording.id),
        "id": (Recording.archive_fk, Recording.recording_id),
    }
    chosen = columns[wanted.order]
    if not indexed:
        chosen = tuple(column + 0 for column in chosen)
    if wanted.order in {"newest", "largest"}:
        return tuple(column.desc() for column in chosen)
    return chosen


def _page(found: Select[Any], wanted: Search) -> Select[Any]:
    if wanted.limit is not None:
        found = found.limit(wanted.limit)
    return found.offset(wanted.offset) if wanted.offset else found


def _is_sqlite(session: Session) -> bool:
    return session.get_bind().dialect.name == "sqlite"


def _trust_indexes(session: Session) -> None:
    """Make the planner use indexes and compile nothing, for this transaction.

    It also starts no parallel workers and does not collect or sort a whole index before the first
    row: counts of a few rows and reads of the first page stop early.
    """
    _configure(session, enable_bitmapscan="off", enable_sort="off", **_ALWAYS)


def _gather_rows(session: Session) -> None:
    """Let the planner read and sort all rows of a rare condition, until the transaction ends."""
    _configure(session, enable_bitmapscan="on", enable_sort="on")


def _configure(session: Session, **settings: str) -> None:
    if not _is_sqlite(session):
        session.execute(
            select(*(func.set_config(name, value, True) for name, value in settings.items()))
        )
