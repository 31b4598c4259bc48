"""Compares recordings of a folder with their rows, and writes only the differences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import bindparam, delete, insert, select, tuple_, update

from aerolog.catalog.index.models import (
    NOT_STORED,
    Export,
    ExportFile,
    Hold,
    Lineage,
    Mark,
    Name,
    Recording,
    Segment,
    SegmentState,
    State,
    Stream,
    Tag,
    TimeIndexEntry,
    TimeIndexFile,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Table
    from sqlalchemy.orm import Session

    from aerolog.archive.format.descriptor import CatalogEntry
    from aerolog.catalog.index.folder_scan import FolderScan, Found, FoundSegment

_RECORDINGS: Final[Table] = Recording.__table__  # type: ignore[assignment]
_SEGMENTS: Final[Table] = Segment.__table__  # type: ignore[assignment]

#: The columns that the folder determines, apart from the stream's key.
COLUMNS: Final = (
    "recording_id",
    "session_id",
    "state",
    "start_position",
    "stop_position",
    "start_time_ms",
    "stop_time_ms",
    "initial_term_id",
    "segment_length",
    "term_length",
    "mtu_length",
    "stripped_channel",
    "original_channel",
    "source_identity",
    "size_bytes",
)
_START_TIME: Final = COLUMNS.index("start_time_ms")
_INITIAL_TERM: Final = COLUMNS.index("initial_term_id")

#: The tables whose rows refer to a recording's row.
OF_A_RECORDING: Final = (Segment, Tag, Name, Lineage, Mark, TimeIndexEntry, TimeIndexFile, Hold)


class Stored(NamedTuple):
    """A recording's row: its key, its stream's key, and its columns in the order of ``COLUMNS``."""

    key: int
    stream_id: int
    in_order: tuple[Any, ...]

    @property
    def values(self) -> dict[str, Any]:
        """The columns by their names."""
        return dict(zip(COLUMNS, self.in_order, strict=True))


class StoredSegment(NamedTuple):
    """A segment's row."""

    size_bytes: int
    state: str
    fingerprint: str | None


@dataclass(slots=True)
class Counts:
    """The numbers of recordings compared, rows added and rows changed in a chunk."""

    recordings: int = 0
    added: int = 0
    changed: int = 0
    segments_changed: int = 0


@dataclass(slots=True)
class _Changes:
    """The rows to write for a chunk."""

    added: list[tuple[dict[str, Any], int, Found]] = field(default_factory=list)
    changed: list[dict[str, Any]] = field(default_factory=list)
    segments_added: list[dict[str, Any]] = field(default_factory=list)
    segments_changed: list[dict[str, Any]] = field(default_factory=list)
    segments_removed: list[tuple[int, int]] = field(default_factory=list)


def values_of(found: Found) -> dict[str, Any]:
    """The columns of a recording's row, in the order of ``COLUMNS``."""
    descriptor = found.descriptor
    is_active = descriptor.is_active
    return {
        "recording_id": descriptor.recording_id,
        "session_id": descriptor.session_id,
        "state": found.state.value,
        "start_position": descriptor.start_position,
        "stop_position": None if is_active else descriptor.stop_position,
        "start_time_ms": descriptor.start_timestamp,
        "stop_time_ms": None if descriptor.stop_timestamp < 0 else descriptor.stop_timestamp,
        "initial_term_id": descriptor.initial_term_id,
        "segment_length": descriptor.segment_file_length,
        "term_length": descriptor.term_buffer_length,
        "mtu_length": descriptor.mtu_length,
        "stripped_channel": stored_text(descriptor.stripped_channel),
        "original_channel": stored_text(descriptor.original_channel),
        "source_identity": stored_text(descriptor.source_identity),
        "size_bytes": found.end_position - descriptor.start_position,
    }


def covered_until(values: dict[str, Any], base_position: int) -> int | None:
    """The position up to which a closed segment has data; None while the segment may still grow.

    Args:
        values: the columns of the recording's row.
        base_position: the base position of the segment.
    """
    end: int = values["start_position"] + values["size_bytes"]
    behind: int = base_position + values["segment_length"]
    if behind <= end:
        return behind
    if values["state"] == State.STOPPED and base_position < end:
        return end
    return None


class ChunkWriter:
    """Writes differing rows in a session's transaction, which has locked the archive's rows."""

    def __init__(self, session: Session, archive_fk: int) -> None:
        self._session = session
        self._archive_fk = archive_fk
        self._streams: dict[tuple[int, str], int] = {}

    def write(self, chunk: Sequence[CatalogEntry], scan: FolderScan) -> Counts:
        """Compare some entries with their rows, and bring the rows up to date."""
        ids = [entry.descriptor.recording_id for entry in chunk]
        stored = self._stored(ids)
        segments = self._stored_segments([one.key for one in stored.values()])
        changes = _Changes()
        for entry in chunk:
            found = scan.look_at(entry)
            if found is None:
                continue
            row = stored.get(found.descriptor.recording_id)
            if row is not None and _is_another(row.in_order, found):
                scan.problems.setdefault(
                    f"recording {found.descriptor.recording_id} of {scan.path} is another one than "
                    "before: what was noted of that one is dropped"
                )
                drop_recordings(self._session, [row.key])
                row = None
            self._compare(row, segments, found, changes)
        self._write(changes)
        return Counts(
            recordings=len(chunk),
            added=len(changes.added),
            changed=len(changes.changed),
            segments_changed=len(changes.segments_added)
            + len(changes.segments_changed)
            + len(changes.segments_removed),
        )

    def _stored(self, ids: Sequence[int]) -> dict[int, Stored]:
        columns = [_RECORDINGS.c[name] for name in COLUMNS]
        rows = self._session.execute(
            select(_RECORDINGS.c.id, Stream.stream_id, *columns)
            .join(Stream, Stream.id == _RECORDINGS.c.stream_fk)
            .where(
                _RECORDINGS.c.archive_fk == self._archive_fk, _RECORDINGS.c.recording_id.in_(ids)
            )
        )
        return {row[2]: Stored(row[0], row[1], tuple(row[2:])) for row in rows}

    def _stored_segments(self, keys: Sequence[int]) -> dict[int, dict[int, StoredSegment]]:
        found: dict[int, dict[int, StoredSegment]] = {}
        if keys:
            rows = self._session.execute(
                select(
                    _SEGMENTS.c.recording_fk,
                    _SEGMENTS.c.base_position,
                    _SEGMENTS.c.size_bytes,
                    _SEGMENTS.c.state,
                    _SEGMENTS.c.fingerprint,
                ).where(_SEGMENTS.c.recording_fk.in_(keys))
            )
            for key, base, *rest in rows:
                found.setdefault(key, {})[base] = StoredSegment(*rest)
        return found

    def _compare(
        self,
        row: Stored | None,
        segments: dict[int, dict[int, StoredSegment]],
        found: Found,
        changes: _Changes,
    ) -> None:
        values = values_of(found)
        stream_id = found.descriptor.stream_id
        if row is None:
            changes.added.append((values, stream_id, found))
            return
        if stream_id != row.stream_id or tuple(values.values()) != row.in_order:
            changes.changed.append({**values, "key": row.key, "stream_id": stream_id})
        left = segments.get(row.key, {})
        for segment in found.segments:
            before = left.pop(segment.base_position, None)
            if before is None:
                changes.segments_added.append(_segment_values(row.key, segment))
                continue
            is_kept = (
                before.fingerprint is not None
                and segment.state != SegmentState.MISSING
                and before.size_bytes == segment.size_bytes
                and covered_until(row.values, segment.base_position)
                == covered_until(values, segment.base_position)
            )
            fingerprint = before.fingerprint if is_kept else None
            if before != (segment.size_bytes, segment.state.value, fingerprint):
                changes.segments_changed.append(_segment_values(row.key, segment, fingerprint))
        changes.segments_removed += [(row.key, base) for base in left]

    def _write(self, changes: _Changes) -> None:
        session = self._session
        wanted = {(stream_id, values["stripped_channel"]) for values, stream_id, _ in changes.added}
        wanted |= {(one["stream_id"], one["stripped_channel"]) for one in changes.changed}
        self._make_streams(wanted)
        if changes.added:
            self._add(changes)
        if changes.changed:
            named: dict[str, Any] = {name: bindparam(name) for name in (*COLUMNS, "stream_fk")}
            statement = update(_RECORDINGS).where(_RECORDINGS.c.id == bindparam("key"))
            for one in changes.changed:
                one["stream_fk"] = self._streams[one.pop("stream_id"), one["stripped_channel"]]
            session.connection().execute(statement.values(named), changes.changed)
        if changes.segments_added:
            session.connection().execute(insert(_SEGMENTS), changes.segments_added)
        if changes.segments_changed:
            statement = update(_SEGMENTS).where(
                _SEGMENTS.c.recording_fk == bindparam("key"),
                _SEGMENTS.c.base_position == bindparam("base"),
            )
            rows = [
                {**one, "key": one["recording_fk"], "base": one["base_position"]}
                for one in changes.segments_changed
            ]
            named = {name: bindparam(name) for name in changes.segments_changed[0]}
            session.connection().execute(statement.values(named), rows)
        if changes.segments_removed:
            session.connection().execute(
                delete(_SEGMENTS).where(
                    _SEGMENTS.c.recording_fk == bindparam("key"),
                    _SEGMENTS.c.base_position == bindparam("base"),
                ),
                [{"key": key, "base": base} for key, base in changes.segments_removed],
            )

    def _add(self, changes: _Changes) -> None:
        session, archive_fk = self._session, self._archive_fk
        rows = [
            {
                **values,
                "archive_fk": archive_fk,
                "stream_fk": self._streams[stream_id, values["stripped_channel"]],
            }
            for values, stream_id, _ in changes.added
        ]
        session.connection().execute(insert(_RECORDINGS), rows)
        ids = [values["recording_id"] for values, _, _ in changes.added]
        added = session.execute(
            select(_RECORDINGS.c.recording_id, _RECORDINGS.c.id).where(
                _RECORDINGS.c.archive_fk == archive_fk, _RECORDINGS.c.recording_id.in_(ids)
            )
        )
        keys = {row[0]: row[1] for row in added}
        for values, _, found in changes.added:
            key = keys[values["recording_id"]]
            changes.segments_added += [_segment_values(key, one) for one in found.segments]

    def _make_streams(self, wanted: set[tuple[int, str]]) -> None:
        if not wanted:
            return
        session, archive_fk = self._session, self._archive_fk
        self._streams |= self._known_streams(wanted)
        new = sorted(wanted - self._streams.keys())
        if new:
            rows = [
                {"archive_fk": archive_fk, "stream_id": stream_id, "channel": channel}
                for stream_id, channel in new
            ]
            session.connection().execute(insert(Stream.__table__), rows)  # type: ignore[arg-type]
            self._streams |= self._known_streams(set(new))

    def _known_streams(self, wanted: set[tuple[int, str]]) -> dict[tuple[int, str], int]:
        rows = self._session.execute(
            select(Stream.stream_id, Stream.channel, Stream.id).where(
                Stream.archive_fk == self._archive_fk,
                tuple_(Stream.stream_id, Stream.channel).in_(sorted(wanted)),
            )
        )
        return {(stream_id, channel): key for stream_id, channel, key in rows}


def _segment_values(
    key: int, segment: FoundSegment, fingerprint: str | None = None
) -> dict[str, Any]:
    return {
        "recording_fk": key,
        "base_position": segment.base_position,
        "size_bytes": segment.size_bytes,
        "state": segment.state.value,
        "fingerprint": fingerprint,
    }


def drop_recordings(session: Session, keys: Sequence[int]) -> None:
    """Delete recordings' rows with all rows that refer to them."""
    exports = select(Export.id).where(Export.recording_fk.in_(keys))
    session.execute(delete(ExportFile).where(ExportFile.export_fk.in_(exports)))
    session.execute(delete(Export).where(Export.recording_fk.in_(keys)))
    for table in OF_A_RECORDING:
        session.execute(delete(table).where(table.recording_fk.in_(keys)))
    session.execute(delete(Recording).where(Recording.id.in_(keys)))


def _is_another(before: tuple[Any, ...], found: Found) -> bool:
    """Whether an id now belongs to another recording: a column that never changes differs."""
    descriptor = found.descriptor
    return (before[_START_TIME], before[_INITIAL_TERM]) != (
        descriptor.start_timestamp,
        descriptor.initial_term_id,
    )


def stored_text(text: str) -> str:
    """A text that both kinds of database can store: without what damage may bring into it."""
    return NOT_STORED.sub("\ufffd", text)
