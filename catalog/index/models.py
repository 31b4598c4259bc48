"""Tables of the SQL catalog, as SQLAlchemy models. Migrations in ``migrations/versions`` make them.

Times are UTC epoch milliseconds unless the name says otherwise, positions and sizes bytes. Keys
named ``id`` belong to one database: what names a recording everywhere is the place of its archive
and its ``recording_id`` there. What a table holds that the archive's folder cannot tell is in the
folder's journal too, see ``journal``.
"""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from aerolog.catalog.index.spans import SPAN_CLASS_SQL

#: A key that both databases count up by themselves; SQLite does so for INTEGER alone.
Key = BigInteger().with_variant(Integer, "sqlite")

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


class State(StrEnum):
    """State of a recording in the SQL catalog.

    ``ACTIVE`` has no stop position: it is being recorded, or a crash left it so. ``INVALID`` was
    put aside by a tool, ``DELETED`` was purged; the archive's catalog still has their entries.
    ``PURGED`` is one whose entry is gone as well: its row, and the journal, are all that is left.
    """

    ACTIVE = "active"
    STOPPED = "stopped"
    INVALID = "invalid"
    DELETED = "deleted"
    PURGED = "purged"


class SegmentState(StrEnum):
    """Whether a segment's file is there.

    ``DETACHED``: it is there, and the recording does not reach over it (any more).
    """

    PRESENT = "present"
    MISSING = "missing"
    DETACHED = "detached"


class Base(DeclarativeBase):
    """Root of the models."""

    metadata = MetaData(naming_convention=NAMING)


class Archive(Base):
    """An archive, which is a folder.

    Attributes:
        archive_id: of its mark file, None without one; the reference changes it at a restart.
        place: the folder's absolute path, or a URL.
        journal_id: of the folder's journal, None while there is none.
        journal_position: offset in the journal up to which it is in these tables.
    """

    __tablename__ = "archives"

    id: Mapped[int] = mapped_column(Key, primary_key=True)
    archive_id: Mapped[int | None] = mapped_column(BigInteger)
    place: Mapped[str] = mapped_column(Text, unique=True)
    journal_id: Mapped[str | None] = mapped_column(String(32))
    journal_position: Mapped[int] = mapped_column(BigInteger, default=0)


class Stream(Base):
    """What recordings of one stripped channel and stream id have in common."""

    __tablename__ = "streams"
    __table_args__ = (UniqueConstraint("archive_fk", "stream_id", "channel"),)

    id: Mapped[int] = mapped_column(Key, primary_key=True)
    archive_fk: Mapped[int] = mapped_column(ForeignKey("archives.id"))
    stream_id: Mapped[int] = mapped_column(Integer)
    channel: Mapped[str] = mapped_column(Text)


class Recording(Base):
    """A recording as its descriptor says, and how far it has come.

    Attributes:
        stop_position: None while it has none.
        stop_time_ms: None while it has none.
        size_bytes: of the stream from the start position up to where it ends, or had come to when
            the folder was last looked at.
    """

    __tablename__ = "recordings"
    __table_args__ = (
        UniqueConstraint("archive_fk", "recording_id"),
        Index(None, "stream_fk", "start_time_ms"),
        Index(None, "start_time_ms"),
        Index(None, "stop_time_ms"),
        Index(None, "size_bytes"),
        Index(None, "state", "start_time_ms"),
        Index(None, "recording_id"),
        Index("ix_recordings_span_class", text(SPAN_CLASS_SQL), "start_time_ms"),
        CheckConstraint(
            "state IN ('active', 'stopped', 'invalid', 'deleted', 'purged')", name="state"
        ),
    )

    id: Mapped[int] = mapped_column(Key, primary_key=True)
    archive_fk: Mapped[int] = mapped_column(ForeignKey("archives.id"))
    recording_id: Mapped[int] = mapped_column(BigInteger)
    stream_fk: Mapped[int] = mapped_column(ForeignKey("streams.id"))
    session_id: Mapped[int] = mapped_column(Integer)
    state: Mapped[str] = mapped_column(String(8))
    start_position: Mapped[int] = mapped_column(BigInteger)
    stop_position: Mapped[int | None] = mapped_column(BigInteger)
    start_time_ms: Mapped[int] = mapped_column(BigInteger)
    stop_time_ms: Mapped[int | None] = mapped_column(BigInteger)
    initial_term_id: Mapped[int] = mapped_column(Integer)
    segment_length: Mapped[int] = mapped_column(Integer)
    term_length: Mapped[int] = mapped_column(Integer)
    mtu_length: Mapped[int] = mapped_column(Integer)
    stripped_channel: Mapped[str] = mapped_column(Text)
    original_channel: Mapped[str] = mapped_column(Text)
    source_identity: Mapped[str] = mapped_column(Text)
    size_bytes: Mapped[int] = mapped_column(BigInteger)

    archive: Mapped[Archive] = relationship()
    stream: Mapped[Stream] = relationship()


class Segment(Base):
    """A segment file.

    Attributes:
        size_bytes: of the file, 0 when it is missing.
        fingerprint: xxh3 (64 bits, hex) of its recorded bytes once it is closed, if asked for.
        place: where it is when that is not the archive's place.
    """

    __tablename__ = "segments"
    __table_args__ = (CheckConstraint("state IN ('present', 'missing', 'detached')", name="state"),)

    recording_fk: Mapped[int] = mapped_column(ForeignKey("recordings.id"), primary_key=True)
    base_position: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    fingerprint: Mapped[str | None] = mapped_column(String(16))
    place: Mapped[str | None] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(8))


class Tag(Base):
    """A key and its value, given to a recording."""

    __tablename__ = "tags"
    __table_args__ = (Index(None, "key", "value", "recording_fk"),)

    recording_fk: Mapped[int] = mapped_column(ForeignKey("recordings.id"), primary_key=True)
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    value: Mapped[str] = mapped_column(Text)


class Name(Base):
    """A name, which one recording of an archive has at a time."""

    __tablename__ = "names"
    __table_args__ = (Index(None, "recording_fk"), Index(None, "name"))

    archive_fk: Mapped[int] = mapped_column(ForeignKey("archives.id"), primary_key=True)
    name: Mapped[str] = mapped_column(Text, primary_key=True)
    recording_fk: Mapped[int] = mapped_column(ForeignKey("recordings.id"))


class Export(Base):
    """What of a recording was written to a target.

    Attributes:
        target: folder or URL.
        state: ``running``, ``complete`` or ``failed``.
        checksum: over those of its files, None while it runs.
    """

    __tablename__ = "exports"
    __table_args__ = (UniqueConstraint("recording_fk", "target"),)

    id: Mapped[int] = mapped_column(Key, primary_key=True)
    recording_fk: Mapped[int] = mapped_column(ForeignKey("recordings.id"))
    target: Mapped[str] = mapped_column(Text)
    from_position: Mapped[int] = mapped_column(BigInteger)
    until_position: Mapped[int] = mapped_column(BigInteger)
    rows: Mapped[int] = mapped_column(BigInteger)
    bytes: Mapped[int] = mapped_column(BigInteger)
    checksum: Mapped[str | None] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(8))
    time_ms: Mapped[int] = mapped_column(BigInteger)


class ExportFile(Base):
    """A file of an export; its path is relative to the target."""

    __tablename__ = "export_files"

    export_fk: Mapped[int] = mapped_column(ForeignKey("exports.id"), primary_key=True)
    path: Mapped[str] = mapped_column(Text, primary_key=True)
    from_position: Mapped[int] = mapped_column(BigInteger)
    until_position: Mapped[int] = mapped_column(BigInteger)
    rows: Mapped[int] = mapped_column(BigInteger)
    bytes: Mapped[int] = mapped_column(BigInteger)
    checksum: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(8))


class Lineage(Base):
    """Where a recording, or its part from a position on, came from.

    Attributes:
        kind: ``replication`` or ``extension``.
        source_archive: place or control channel of the source's archive, None when unknown.
    """

    __tablename__ = "lineage"

    recording_fk: Mapped[int] = mapped_column(ForeignKey("recordings.id"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    from_position: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    source_archive: Mapped[str | None] = mapped_column(Text)
    source_channel: Mapped[str | None] = mapped_column(Text)
    source_recording_id: Mapped[int | None] = mapped_column(BigInteger)
    time_ms: Mapped[int] = mapped_column(BigInteger)


class Mark(Base):
    """How far a job has brought a recording into an output."""

    __tablename__ = "marks"
    __table_args__ = (Index(None, "recording_fk"),)

    job: Mapped[str] = mapped_column(Text, primary_key=True)
    recording_fk: Mapped[int] = mapped_column(ForeignKey("recordings.id"), primary_key=True)
    output: Mapped[str] = mapped_column(Text, primary_key=True)
    position: Mapped[int] = mapped_column(BigInteger)
    run_id: Mapped[str | None] = mapped_column(String(64))
    time_ms: Mapped[int] = mapped_column(BigInteger)


class PipelineRun(Base):
    """A run of a job; one may go over several archives.

    Attributes:
        state: ``running``, ``complete`` or ``failed``.
        report: JSON: of the process that runs it, and of the job's own once it has ended.
    """

    __tablename__ = "pipeline_runs"
    __table_args__ = (Index(None, "job", "started_ms"),)

    run_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    job: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(8))
    started_ms: Mapped[int] = mapped_column(BigInteger)
    finished_ms: Mapped[int | None] = mapped_column(BigInteger)
    rows: Mapped[int] = mapped_column(BigInteger)
    bytes: Mapped[int] = mapped_column(BigInteger)
    rejected: Mapped[int] = mapped_column(BigInteger)
    report: Mapped[str | None] = mapped_column(Text)


class TimeIndexFile(Base):
    """A recording's time index, as far as ``time_index`` has it.

    Attributes:
        source: where its times are from, ``clock`` or ``channel``.
        is_rebuilt: 1 when it was made afterwards, not while recording.
        shift: a row of ``time_index`` spans 2 to that power nanoseconds.
        first_ns: where the first row's span begins, epoch nanoseconds.
        last_ns: where the last one's does.
        steps_back: how often the clock went back.
        start_position: of the recording then.
        end_position: of the recording; None while it goes on, like all of the rest.
        size_bytes: of the file.
        modified_ns: when it was written last.
    """

    __tablename__ = "time_index_files"

    recording_fk: Mapped[int] = mapped_column(ForeignKey("recordings.id"), primary_key=True)
    source: Mapped[str] = mapped_column(String(16))
    is_rebuilt: Mapped[int] = mapped_column(Integer)
    shift: Mapped[int] = mapped_column(Integer)
    first_ns: Mapped[int] = mapped_column(BigInteger)
    last_ns: Mapped[int] = mapped_column(BigInteger)
    steps_back: Mapped[int] = mapped_column(BigInteger)
    start_position: Mapped[int] = mapped_column(BigInteger)
    end_position: Mapped[int | None] = mapped_column(BigInteger)
    size_bytes: Mapped[int | None] = mapped_column(BigInteger)
    modified_ns: Mapped[int | None] = mapped_column(BigInteger)


class TimeIndexEntry(Base):
    """A span of time in which something was recorded: what the time index says, in few rows.

    Nothing was recorded in the gaps between the rows of a recording. What was recorded in a span
    lies between its positions; where the clock was set back, so may something else.

    Attributes:
        time_ns: where the span begins, epoch nanoseconds; at the first one perhaps the beginning
            of time.
        until_ns: where it ends; None: it goes on.
        position: nothing of it lies before.
        until_position: nor from here on; None: nobody knows yet.
    """

    __tablename__ = "time_index"

    recording_fk: Mapped[int] = mapped_column(ForeignKey("recordings.id"), primary_key=True)
    time_ns: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    until_ns: Mapped[int | None] = mapped_column(BigInteger)
    position: Mapped[int] = mapped_column(BigInteger)
    until_position: Mapped[int | None] = mapped_column(BigInteger)


class Hold(Base):
    """A reason to keep a recording, whatever retention says; as the archive's folder has it.

    Attributes:
        until_ms: when it ends by itself; None: never.
        since_ms: when it began.
    """

    __tablename__ = "holds"

    recording_fk: Mapped[int] = mapped_column(ForeignKey("recordings.id"), primary_key=True)
    reason: Mapped[str] = mapped_column(Text, primary_key=True)
    until_ms: Mapped[int | None] = mapped_column(BigInteger)
    since_ms: Mapped[int] = mapped_column(BigInteger)
