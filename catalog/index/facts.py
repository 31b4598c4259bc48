"""Facts of an archive that its folder's files do not tell, and how they get into the tables.

The same functions apply a fact when it becomes known and when it is read from the journal again, so
that a catalog that is rebuilt has the same content. Applying a fact twice changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import delete, insert, select, update

from aerolog.catalog.index.errors import JournalError
from aerolog.catalog.index.models import (
    NOT_STORED,
    RUNNING,
    Export,
    ExportFile,
    Lineage,
    Mark,
    Name,
    PipelineRun,
    Recording,
    Segment,
    State,
    Stream,
    Tag,
    TimeIndexEntry,
    TimeIndexFile,
)
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy.orm import Session

    from aerolog.catalog.index.models import Base

_INT, _TEXT = (int,), (str,)
_INT_OR_NONE, _TEXT_OR_NONE = (int, type(None)), (str, type(None))
_I64: Final = range(-(2**63), 2**63)
_I32: Final = range(-(2**31), 2**31)
_SHORT_NUMBERS: Final = frozenset(
    ("stream_id", "session_id", "initial_term_id", "segment_length", "term_length", "mtu_length")
)
_LENGTHS: Final[Mapping[str, int]] = {"checksum": 64, "state": 8, "lineage": 16, "run_id": 64}

#: Kinds of facts that are not about one recording.
OF_AN_ARCHIVE: Final = frozenset(("run", "job-gone"))

#: Kind of a fact -> its fields and the types of their values. Every other fact has a
#: recording_id and, where it is known, the recording's start_time_ms: it tells the recording apart
#: from a later one that was given the same id.
FIELDS: Final[Mapping[str, Mapping[str, tuple[type, ...]]]] = {
    "tag": {"key": _TEXT, "value": _TEXT_OR_NONE},
    "name": {"name": _TEXT, "given": (bool,)},
    "export": {
        "target": _TEXT,
        "from_position": _INT,
        "until_position": _INT,
        "rows": _INT,
        "bytes": _INT,
        "checksum": _TEXT_OR_NONE,
        "state": _TEXT,
        "time_ms": _INT,
    },
    "export-file": {
        "target": _TEXT,
        "path": _TEXT,
        "from_position": _INT,
        "until_position": _INT,
        "rows": _INT,
        "bytes": _INT,
        "checksum": _TEXT,
        "state": _TEXT,
    },
    "export-gone": {"target": _TEXT, "path": _TEXT_OR_NONE},
    "lineage": {
        "lineage": _TEXT,
        "from_position": _INT,
        "source_archive": _TEXT_OR_NONE,
        "source_channel": _TEXT_OR_NONE,
        "source_recording_id": _INT_OR_NONE,
        "time_ms": _INT,
    },
    "mark": {
        "job": _TEXT,
        "output": _TEXT,
        "position": _INT,
        "run_id": _TEXT_OR_NONE,
        "time_ms": _INT,
    },
    "run": {
        "run_id": _TEXT,
        "job": _TEXT,
        "state": _TEXT,
        "started_ms": _INT,
        "finished_ms": _INT_OR_NONE,
        "rows": _INT,
        "bytes": _INT,
        "rejected": _INT,
        "report": _TEXT_OR_NONE,
    },
    "job-gone": {"job": _TEXT, "output": _TEXT_OR_NONE},
    "gone": {
        "stream_id": _INT,
        "session_id": _INT,
        "start_position": _INT,
        "stop_position": _INT_OR_NONE,
        "start_time_ms": _INT,
        "stop_time_ms": _INT_OR_NONE,
        "initial_term_id": _INT,
        "segment_length": _INT,
        "term_length": _INT,
        "mtu_length": _INT,
        "stripped_channel": _TEXT,
        "original_channel": _TEXT,
        "source_identity": _TEXT,
        "size_bytes": _INT,
    },
}
_OF_A_RECORDING: Final[Mapping[str, tuple[type, ...]]] = {"recording_id": _INT}


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about an archive or one of its recordings.

    Attributes:
        place: the archive's place, see `Archive.place`.
        kind: a key of ``FIELDS``.
        values: the fact's fields, with the ``recording_id`` for all kinds but `OF_AN_ARCHIVE`.
    """

    place: str
    kind: str
    values: dict[str, Any]


@dataclass(slots=True)
class Target:
    """The rows of one archive, to which facts are applied.

    Attributes:
        session: a session whose transaction writes.
        archive_fk: the key of the archive's row.
        in_folder: the ids of the recordings in the folder, None when the folder was not read.
    """

    session: Session
    archive_fk: int
    in_folder: set[int] | None = None
    _keys: dict[int, tuple[int, int]] = field(default_factory=dict)

    def recording(self, recording_id: int) -> tuple[int, int] | None:
        """The key and start time of a recording, None when the catalog does not have it."""
        known = self._keys.get(recording_id)
        if known is None:
            found = self.session.execute(
                select(Recording.id, Recording.start_time_ms).where(
                    Recording.archive_fk == self.archive_fk, Recording.recording_id == recording_id
                )
            ).one_or_none()
            if found is not None:
                known = self._keys[recording_id] = (found[0], found[1])
        return known


def checked(kind: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Check a fact's values; optional fields that were left out become None.

    Raises:
        JournalError: the kind is unknown, or a field is missing, unknown or of another type.
    """
    fields = FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None:
        raise JournalError(f"there is no kind of fact {kind!r}; there are {', '.join(FIELDS)}")
    wanted = fields if kind in OF_AN_ARCHIVE else {**_OF_A_RECORDING, **fields}
    optional = () if kind in OF_AN_ARCHIVE | {"gone"} else ("start_time_ms",)
    unknown = [name for name in values if name not in wanted and name not in optional]
    if unknown:
        raise JournalError(f"a fact of kind {kind!r} has no field {unknown[0]!r}")
    complete = {name: values.get(name) for name in wanted}
    for name in optional:
        if values.get(name) is not None:
            complete[name] = values[name]
            wanted = {**wanted, name: _INT}
    for name, value in complete.items():
        fits = isinstance(value, wanted[name]) and isinstance(value, bool) == (bool in wanted[name])
        if not fits or not _can_be_stored(name, value):
            raise JournalError(f"field {name!r} of a fact of kind {kind!r} cannot be {value!r}")
    return complete


def _can_be_stored(name: str, value: Any) -> bool:
    """Whether both kinds of database can store a value that has the right type."""
    if isinstance(value, int):
        return value in (_I32 if name in _SHORT_NUMBERS else _I64)
    if isinstance(value, str):
        return not NOT_STORED.search(value) and len(value) <= _LENGTHS.get(name, len(value))
    return True


def apply(target: Target, kind: str, values: Mapping[str, Any]) -> bool:
    """Apply a checked fact to the tables; False when the catalog does not have its recording."""
    rest = dict(values)
    if kind == "run":
        _put(target.session, PipelineRun, {"run_id": rest.pop("run_id")}, rest)
        return True
    if kind == "job-gone":
        forget_job(target.session, rest["job"], rest["output"], target.archive_fk)
        return True
    if kind == "gone":
        _apply_gone(target, rest)
        return True
    found = target.recording(rest.pop("recording_id"))
    if found is None:
        return False
    key, start_time_ms = found
    if rest.pop("start_time_ms", start_time_ms) == start_time_ms:
        _APPLIED[kind](target, key, rest)
    return True


def _apply_tag(target: Target, key: int, rest: dict[str, Any]) -> None:
    where = {"recording_fk": key, "key": rest["key"]}
    if rest["value"] is None:
        _drop(target.session, Tag, where)
    else:
        _put(target.session, Tag, where, {"value": rest["value"]})


def _apply_name(target: Target, key: int, rest: dict[str, Any]) -> None:
    where = {"archive_fk": target.archive_fk, "name": rest["name"]}
    if rest["given"]:
        _put(target.session, Name, where, {"recording_fk": key})
    else:
        _drop(target.session, Name, {**where, "recording_fk": key})


def _apply_export(target: Target, key: int, rest: dict[str, Any]) -> None:
    _put(target.session, Export, {"recording_fk": key, "target": rest.pop("target")}, rest)


def _apply_export_file(target: Target, key: int, rest: dict[str, Any]) -> None:
    export = _export_key(target, key, rest.pop("target"))
    if export is not None:
        _put(target.session, ExportFile, {"export_fk": export, "path": rest.pop("path")}, rest)


def _apply_export_gone(target: Target, key: int, rest: dict[str, Any]) -> None:
    export = _export_key(target, key, rest["target"])
    if export is None:
        return
    if rest["path"] is not None:
        _drop(target.session, ExportFile, {"export_fk": export, "path": rest["path"]})
        return
    _drop(target.session, ExportFile, {"export_fk": export})
    _drop(target.session, Export, {"id": export})


def _export_key(target: Target, key: int, name: str) -> int | None:
    return target.session.scalar(
        select(Export.id).where(Export.recording_fk == key, Export.target == name)
    )


def _apply_lineage(target: Target, key: int, rest: dict[str, Any]) -> None:
    where = {
        "recording_fk": key,
        "kind": rest.pop("lineage"),
        "from_position": rest.pop("from_position"),
    }
    _put(target.session, Lineage, where, rest)


def _apply_mark(target: Target, key: int, rest: dict[str, Any]) -> None:
    where = {"job": rest.pop("job"), "recording_fk": key, "output": rest.pop("output")}
    _put(target.session, Mark, where, rest)


def forget_job(
    session: Session, job: str, output: str | None, archive_fk: int | None = None
) -> int:
    """Delete a job's marks, and its ended runs unless an output is named; return how many marks.

    Args:
        session: a session whose transaction writes.
        job: the job's name.
        output: the output whose marks are deleted, None for all of them.
        archive_fk: the archive whose recordings are meant, None for all archives.
    """
    marks = delete(Mark).where(Mark.job == job)
    if output is not None:
        marks = marks.where(Mark.output == output)
    if archive_fk is not None:
        its = select(Recording.id).where(Recording.archive_fk == archive_fk)
        marks = marks.where(Mark.recording_fk.in_(its))
    gone = session.execute(marks)
    if output is None:
        ended = delete(PipelineRun).where(PipelineRun.job == job, PipelineRun.state != RUNNING)
        session.execute(ended)
    return int(gone.rowcount)  # type: ignore[attr-defined]


def _apply_gone(target: Target, rest: dict[str, Any]) -> None:
    """Store a recording whose entry is gone: the fact is all that is left of it."""
    recording_id = rest["recording_id"]
    found = target.recording(recording_id)
    if found is not None:
        if target.in_folder is not None and recording_id not in target.in_folder:
            key = found[0]
            for table in (Segment, TimeIndexEntry, TimeIndexFile):
                target.session.execute(delete(table).where(table.recording_fk == key))
            target.session.execute(
                update(Recording).where(Recording.id == key).values(state=State.PURGED)
            )
        return
    stream = stream_key(
        target.session, target.archive_fk, rest.pop("stream_id"), rest["stripped_channel"]
    )
    target.session.execute(
        insert(Recording).values(
            archive_fk=target.archive_fk, stream_fk=stream, state=State.PURGED, **rest
        )
    )


_APPLIED: Final[Mapping[str, Callable[[Target, int, dict[str, Any]], None]]] = {
    "tag": _apply_tag,
    "name": _apply_name,
    "export": _apply_export,
    "export-file": _apply_export_file,
    "export-gone": _apply_export_gone,
    "lineage": _apply_lineage,
    "mark": _apply_mark,
}


def stream_key(session: Session, archive_fk: int, stream_id: int, channel: str) -> int:
    """The key of a stream's row, which is added if it is missing."""
    where = {"archive_fk": archive_fk, "stream_id": stream_id, "channel": channel}
    found = session.scalar(select(Stream.id).where(*_conditions(Stream, where)))
    if found is None:
        found = session.scalar(insert(Stream).values(where).returning(Stream.id))
        assert found is not None
    return found


def _put(
    session: Session, table: type[Base], where: Mapping[str, Any], values: Mapping[str, Any]
) -> None:
    """Update the row that has a key, or insert it."""
    is_there = session.execute(
        select(*(getattr(table, name) for name in where)).where(*_conditions(table, where))
    ).first()
    if is_there is None:
        session.execute(insert(table).values({**where, **values}))
    else:
        session.execute(update(table).where(*_conditions(table, where)).values(dict(values)))


def _drop(session: Session, table: type[Base], where: Mapping[str, Any]) -> None:
    session.execute(delete(table).where(*_conditions(table, where)))


def _conditions(table: type[Base], where: Mapping[str, Any]) -> Sequence[Any]:
    return [getattr(table, name) == value for name, value in where.items()]
