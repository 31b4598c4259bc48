"""The tables of the SQL catalog as SQLAlchemy models. ``migrations/versions`` creates them.

Times are UTC epoch milliseconds unless the column's name says otherwise; positions and sizes are
bytes. Keys named ``id`` are valid in one database only: everywhere else a recording is identified
by the place of its archive and its ``recording_id`` there. What a table holds that the archive's
files do not tell is in the folder's journal too, see ``journal``.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Select,
    String,
    Text,
    UniqueConstraint,
    select,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from aerolog.catalog.index.spans import SPAN_CLASS_SQL

#: A key that both databases increment by themselves; SQLite does so only for INTEGER.
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

    ``ACTIVE`` recordings have no stop position: they are being recorded, or a crash left them so. A
    tool marked ``INVALID`` ones so and ``DELETED`` ones were purged; the archive's catalog still
    has the entries of both. The entry of a ``PURGED`` recording is gone as well: only its row and
    the journal tell of it.
    """

    ACTIVE = "active"
    STOPPED = "stopped"
    INVALID = "invalid"
    DELETED = "deleted"
    PURGED = "purged"


#: The states of recordings that can be read, and may have segment files.
READABLE: Final = (State.ACTIVE, State.STOPPED)

#: States of exports and of runs of jobs.
RUNNING: Final = "running"
COMPLETE: Final = "complete"
FAILED: Final = "failed"

#: Characters that a database cannot store: PostgreSQL has no zero character, and halves of
#: surrogate pairs cannot be encoded.
NOT_STORED: Final = re.compile("[\0\ud800-\udfff]")


class SegmentState(StrEnum):
    """Whether a segment's file exists.

    A ``DETACHED`` segment's file exists, but the recording does not, or no longer, include it.
    """

    PRESENT = "present"
    MISSING = "missing"
    DETACHED = "detached"


class Base(DeclarativeBase):
    """The base class of the models."""

    metadata = MetaData(naming_convention=NAMING)


class Archive(Base):
    """An archive, which is a folder.

    Attributes:
        archive_id: the id in its mark file, None without one. The reference changes it at a
            restart.
        place: the folder's absolute path, or a URL.
        journal_id: the id of the folder's journal, None while there is none.
        journal_position: the offset up to which the tables have read the journal.
    """

    __tablename__ = "archives"

    id: Mapped[int] = mapped_column(Key, primary_key=True)
    archive_id: Mapped[int | None] = mapped_column(BigInteger)
    place: Mapped[str] = mapped_column(Text, unique=True)
    journal_id: Mapped[str | None] = mapped_column(String(32))
    journal_position: Mapped[int] = mapped_column(BigInteger, default=0)


class Stream(Base):
    """The stripped channel and stream id that recordings of an archive share."""

    __tablename__ = "streams"
    __table_args__ = (UniqueConstraint("archive_fk", "stream_id", "channel"),)

    id: Mapped[int] = mapped_column(Key, primary_key=True)
    archive_fk: Mapped[int] = mapped_column(ForeignKey("archives.id"))
    stream_id: Mapped[int] = mapped_column(Integer)
    channel: Mapped[str] = mapped_column(Text)


class Recording(Base):
    """A recording's descriptor and its size.

    Attributes:
        stop_position: None while the recording is active.
        stop_time_ms: None while the recording has no stop time.
        size_bytes: the bytes of stream from the start position to the stop position, or to the
            recorded position when the folder was last read.
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
        size_bytes: the length of the file, 0 when it is missing.
        fingerprint: xxh3 (64 bits, hex) of the recorded bytes of a closed segment; None when it was
            not computed.
        place: the segment's place when it is not the archive's place.
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
    """A name, which belongs to one recording of an archive at a time."""

    __tablename__ = "names"
    __table_args__ = (Index(None, "recording_fk"), Index(None, "name"))

    archive_fk: Mapped[int] = mapped_column(ForeignKey("archives.id"), primary_key=True)
    name: Mapped[str] = mapped_column(Text, primary_key=True)
    recording_fk: Mapped[int] = mapped_column(ForeignKey("recordings.id"))


class Export(Base):
    """The part of a recording that was written to a target.

    Attributes:
        target: the folder or URL.
        state: ``running``, ``complete`` or ``failed``.
        checksum: a checksum over those of the export's files, None while it is running.
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
    """The source of a recording, or of its part from a position on.

    Attributes:
        kind: ``replication`` or ``extension``.
        source_archive: the place or control channel of the source's archive, None when it is
            unknown.
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
    """The position up to which a job has loaded a recording into an output."""

    __tablename__ = "marks"
    __table_args__ = (Index(None, "recording_fk"),)

    job: Mapped[str] = mapped_column(Text, primary_key=True)
    recording_fk: Mapped[int] = mapped_column(ForeignKey("recordings.id"), primary_key=True)
    output: Mapped[str] = mapped_column(Text, primary_key=True)
    position: Mapped[int] = mapped_column(BigInteger)
    run_id: Mapped[str | None] = mapped_column(String(64))
    time_ms: Mapped[int] = mapped_column(BigInteger)


class PipelineRun(Base):
    """A run of a job, which may load recordings of several archives.

    Attributes:
        state: ``running``, ``complete`` or ``failed``.
        report: JSON: the process of a run that is active, or the job's own report once it has
            ended.
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
    """The state of a recording's time index that ``time_index`` holds.

    Attributes:
        source: where the times come from, ``clock`` or ``channel``.
        is_rebuilt: 1 when the index was built after the recording, 0 when it was written during it.
        shift: a row of ``time_index`` spans 2 to the power of this many nanoseconds.
        first_ns: the beginning of the first row's span, epoch nanoseconds.
        last_ns: the beginning of the last row's span, epoch nanoseconds.
        steps_back: the number of times that the clock was set back.
        start_position: the recording's start position when the index was read.
        end_position: the recording's end position then; None, as in the columns below, while it is
            active.
        size_bytes: the length of the index file.
        modified_ns: the modification time of the index file, epoch nanoseconds.
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
    """A span of time in which something was recorded; a few spans summarize a time index.

    Nothing was recorded in the gaps between the spans of a recording. Everything recorded in a span
    lies between its positions; where the clock was set back, data of other times may lie there too.

    Attributes:
        time_ns: the beginning of the span, epoch nanoseconds; in the first one it may be the least
            int64.
        until_ns: the end of the span; None when it has no end yet.
        position: the position before which nothing of the span lies.
        until_position: the position from which on nothing of the span lies; None when it is not
            known yet.
    """

    __tablename__ = "time_index"

    recording_fk: Mapped[int] = mapped_column(ForeignKey("recordings.id"), primary_key=True)
    time_ns: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    until_ns: Mapped[int | None] = mapped_column(BigInteger)
    position: Mapped[int] = mapped_column(BigInteger)
    until_position: Mapped[int | None] = mapped_column(BigInteger)


class Hold(Base):
    """A hold on a recording, which exempts it from retention, as in the archive's folder.

    Attributes:
        until_ms: when the hold expires, None when it never does.
        since_ms: when the hold began.
    """

    __tablename__ = "holds"

    recording_fk: Mapped[int] = mapped_column(ForeignKey("recordings.id"), primary_key=True)
    reason: Mapped[str] = mapped_column(Text, primary_key=True)
    until_ms: Mapped[int | None] = mapped_column(BigInteger)
    since_ms: Mapped[int] = mapped_column(BigInteger)


def recording_key(place: str, recording_id: int) -> Select[int]:
    """A query for the key of a recording's row.

    Args:
        place: the place of the recording's archive.
        recording_id: the recording's id in that archive.
    """
    return (
        select(Recording.id)
        .join(Archive, Archive.id == Recording.archive_fk)
        .where(Archive.place == place, Recording.recording_id == recording_id)
    )
