"""Collects everything that a catalog holds about one recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import inspect, select

from aerolog.catalog.index.errors import LabelError
from aerolog.catalog.index.models import (
    Archive,
    Export,
    ExportFile,
    Hold,
    Lineage,
    Mark,
    Name,
    Recording,
    Segment,
    Stream,
    Tag,
    TimeIndexEntry,
)

if TYPE_CHECKING:
    from sqlalchemy import Select
    from sqlalchemy.orm import Session

    from aerolog.catalog.index.labels import LabelledRecording
    from aerolog.catalog.index.models import Base
    from aerolog.catalog.index.recording_catalog import RecordingCatalog


def details(catalog: RecordingCatalog, wanted: LabelledRecording) -> dict[str, Any]:
    """A recording with its labels, segments, lineage, exports, marks, holds and times.

    Raises:
        LabelError: the recording is not in the catalog.
    """
    with catalog.session() as session:
        found = session.execute(
            select(Recording, Archive, Stream.stream_id)
            .join(Archive, Archive.id == Recording.archive_fk)
            .join(Stream, Stream.id == Recording.stream_fk)
            .where(Archive.place == wanted.place, Recording.recording_id == wanted.recording_id)
        ).one_or_none()
        if found is None:
            raise LabelError(
                f"the catalog has no recording {wanted.recording_id} of archive {wanted.place}"
            )
        recording, archive, stream_id = found
        key = recording.id
        values = {"place": archive.place, "archive_id": archive.archive_id}
        values |= _values(recording)
        values["stream_id"] = stream_id
        tags = session.scalars(_of(Tag, key).order_by(Tag.key))
        names = select(Name.name).where(Name.recording_fk == key).order_by(Name.name)
        return {
            **values,
            "names": list(session.scalars(names)),
            "tags": {tag.key: tag.value for tag in tags},
            "segments": _rows(session, _of(Segment, key).order_by(Segment.base_position)),
            "lineage": _rows(
                session, _of(Lineage, key).order_by(Lineage.time_ms, Lineage.from_position)
            ),
            "exports": _exports(session, key),
            "marks": _rows(session, _of(Mark, key).order_by(Mark.job)),
            "holds": [
                hold.reason for hold in session.scalars(_of(Hold, key).order_by(Hold.reason))
            ],
            "times": _rows(session, _of(TimeIndexEntry, key).order_by(TimeIndexEntry.time_ns)),
        }


def _exports(session: Session, key: int) -> list[dict[str, Any]]:
    found = []
    for export in session.scalars(_of(Export, key)).all():
        files = select(ExportFile).where(ExportFile.export_fk == export.id)
        found.append({**_values(export), "files": _rows(session, files.order_by(ExportFile.path))})
    return found


def _of(table: Any, key: int) -> Select[Any]:
    return select(table).where(table.recording_fk == key)


def _rows(session: Session, statement: Select[Any]) -> list[dict[str, Any]]:
    return [_values(row) for row in session.scalars(statement)]


def _values(row: Base) -> dict[str, Any]:
    """A row's columns without the keys, which mean something in this database only."""
    names = [attribute.key for attribute in inspect(row).mapper.column_attrs]
    return {name: getattr(row, name) for name in names if name != "id" and not name.endswith("_fk")}
