"""Brings a catalog up to date with an archive's folder, whatever state a crash left either in.

The whole folder is compared with the tables in chunks of recordings. Each chunk is read and written
in one transaction, so a sync that is interrupted leaves consistent rows, and the next one writes
only the rest. A sync that finds no difference writes nothing.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import delete, exists, insert, select

from aerolog.catalog.index.errors import JournalError
from aerolog.catalog.index.facts import Target, apply
from aerolog.catalog.index.fingerprints import note_fingerprints
from aerolog.catalog.index.folder_scan import FolderScan
from aerolog.catalog.index.holds_mirror import mirror_holds
from aerolog.catalog.index.journal import catch_up, move_archive, place_of
from aerolog.catalog.index.journal_file import JournalFile
from aerolog.catalog.index.models import Archive, Recording, State, Stream
from aerolog.catalog.index.recording_catalog import DATABASE_NAME
from aerolog.catalog.index.row_changes import COLUMNS, ChunkWriter
from aerolog.catalog.index.time_mirror import TimeMirror
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy.orm import Session

    from aerolog.archive.format.descriptor import CatalogEntry
    from aerolog.catalog.index.recording_catalog import RecordingCatalog

    #: Called with the number of recordings compared so far.
    Progress = Callable[[int], None]

#: Recordings in one transaction.
CHUNK: Final = 2000
_NO_LOCKS: Final = frozenset({errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.EINVAL})


@repr_without_secrets
@dataclass(slots=True)
class SyncReport:
    """What a sync found and changed.

    Attributes:
        place: the archive's place.
        recordings: the number of entries of the folder's catalog that were compared.
        added: the number of recordings that are new in the tables.
        changed: the number of recordings whose rows changed.
        purged: the number of recordings whose entries are gone.
        segments_changed: the number of segments whose rows were added, changed or removed.
        facts: the number of facts that were read from the journal.
        fingerprints: the number of fingerprints that were computed.
        times_changed: the number of recordings whose rows of the time index changed.
        holds_changed: the number of holds that were added, removed, or given another end.
        problems: what is damaged and was skipped, with file and position.
    """

    place: str
    recordings: int = 0
    added: int = 0
    changed: int = 0
    purged: int = 0
    segments_changed: int = 0
    facts: int = 0
    fingerprints: int = 0
    times_changed: int = 0
    holds_changed: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def is_unchanged(self) -> bool:
        """Whether the tables were up to date already."""
        return not (
            self.added
            or self.changed
            or self.purged
            or self.segments_changed
            or self.facts
            or self.fingerprints
            or self.times_changed
            or self.holds_changed
        )


def sync_folder(
    catalog: RecordingCatalog,
    archive_dir: Path | str,
    *,
    fingerprints: bool = False,
    progress: Progress | None = None,
) -> SyncReport:
    """Bring a catalog up to date with a folder, whether or not its archive is running.

    The call waits for any other sync of the same folder.

    Args:
        catalog: the catalog whose rows are written.
        archive_dir: the folder of an archive, ours or the reference's; it is only read.
        fingerprints: whether to compute the fingerprints that closed segments lack.
        progress: called with the number of recordings compared so far.

    Raises:
        FileNotFoundError: the folder has no catalog.
        FileFormatError: the folder's catalog is of another version, or its header is damaged.
        CatalogError: the database fails. Chunks that were committed before stay.
    """
    place = place_of(archive_dir)
    with folder_lock(place):
        scan = FolderScan(place)
        report = SyncReport(place)
        archive_fk = enter_archive(catalog, scan)
        for chunk in scan.chunks(CHUNK):
            with catalog.session(writes=True) as session:
                lock_archive(session, archive_fk)
                write_chunk(session, archive_fk, scan, chunk, report, progress)
        scan.strays()
        finish(catalog, archive_fk, scan, report)
        if fingerprints:
            report.fingerprints = note_fingerprints(catalog, archive_fk, scan, progress)
    report.problems = list(scan.problems)
    return report


def sync_recordings(
    catalog: RecordingCatalog, archive_dir: Path | str, recording_ids: Sequence[int]
) -> SyncReport:
    """Bring some recordings up to date, for example those of an archive's events.

    Ids without a VALID entry are left to the next `sync_folder`. The errors are those of
    `sync_folder`.
    """
    place = place_of(archive_dir)
    with folder_lock(place):
        scan = FolderScan(place)
        report = SyncReport(place)
        archive_fk = enter_archive(catalog, scan)
        with catalog.session(writes=True) as session:
            lock_archive(session, archive_fk)
            write_chunk(session, archive_fk, scan, scan.chosen(list(recording_ids)), report)
    report.problems = list(scan.problems)
    return report


@contextmanager
def folder_lock(place: str) -> Iterator[None]:
    """Let one sync at a time read a folder, so that an older read never overwrites a newer one.

    Nothing is written to the folder. On a file system without locks no lock is taken: the rows stay
    consistent, and the next sync corrects those of an older read.
    """
    fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        yield
    finally:
        os.close(fd)


def enter_archive(catalog: RecordingCatalog, scan: FolderScan) -> int:
    """The key of an archive's row, which is added, or given a new place, where necessary."""
    archive_id = scan.archive_id()
    with catalog.session(writes=True) as session:
        return _enter(session, catalog, scan.path, archive_id)


def _enter(session: Session, catalog: RecordingCatalog, place: str, archive_id: int | None) -> int:
    if session.get_bind().dialect.name == "postgresql":
        session.connection().exec_driver_sql("LOCK TABLE archives IN SHARE ROW EXCLUSIVE MODE")
    archives = session.scalars(select(Archive).where(Archive.place == place)).all()
    if not archives:
        archives = _moved(session, catalog, place)
    if not archives:
        made: int | None = session.scalar(
            insert(Archive)
            .values(place=place, archive_id=archive_id, journal_position=0)
            .returning(Archive.id)
        )
        assert made is not None
        return made
    archives[0].archive_id = archive_id
    session.flush()
    return archives[0].id


def _moved(session: Session, catalog: RecordingCatalog, place: str) -> Sequence[Archive]:
    """The one archive of a database in this folder: folder and database were moved together."""
    own = Path(place, DATABASE_NAME)
    database = catalog.engine.url.database
    is_here = catalog.engine.dialect.name == "sqlite" and database is not None
    if not is_here or os.path.realpath(str(database)) != str(own):
        return []
    archives = session.scalars(select(Archive).limit(2)).all()
    if len(archives) != 1:
        return []
    move_archive(session, archives[0].id, place)
    return archives


def lock_archive(session: Session, archive_fk: int) -> None:
    """Let one transaction at a time write an archive's rows; SQLite has one writer anyway."""
    session.execute(select(Archive.id).where(Archive.id == archive_fk).with_for_update())


def write_chunk(
    session: Session,
    archive_fk: int,
    scan: FolderScan,
    chunk: list[CatalogEntry],
    report: SyncReport,
    progress: Progress | None = None,
) -> None:
    """Bring the rows of some entries and of their time indexes up to date."""
    counts = ChunkWriter(session, archive_fk).write(chunk, scan)
    report.times_changed += TimeMirror(session, archive_fk, scan).write(chunk)
    report.recordings += counts.recordings
    report.added += counts.added
    report.changed += counts.changed
    report.segments_changed += counts.segments_changed
    if progress is not None:
        progress(report.recordings)


def finish(
    catalog: RecordingCatalog, archive_fk: int, scan: FolderScan, report: SyncReport
) -> None:
    """Read the journal, and note the recordings whose entries are gone."""
    with JournalFile.locked(scan.path) as journal, catalog.session(writes=True) as session:
        gone = read_journal(session, archive_fk, scan, report, journal)
        report.holds_changed += mirror_holds(session, archive_fk, scan)
    if gone:
        note_gone(catalog, archive_fk, scan, report)
    with catalog.session(writes=True) as session:
        drop_streams(session, archive_fk)


def read_journal(
    session: Session,
    archive_fk: int,
    scan: FolderScan,
    report: SyncReport,
    journal: JournalFile | None,
) -> list[dict[str, Any]]:
    """Bring the tables up to date with the journal; return facts of recordings that are gone.

    A damaged catalog does not show which entries are gone, so the list is empty then.
    """
    lock_archive(session, archive_fk)
    archive = session.get_one(Archive, archive_fk)
    caught_up = catch_up(session, archive, journal, scan.ids)
    report.facts += caught_up.facts
    for problem in (*caught_up.problems, *caught_up.strays):
        scan.problems.setdefault(problem)
    return _gone(session, archive_fk, scan.ids) if scan.is_whole else []


def note_gone(
    catalog: RecordingCatalog, archive_fk: int, scan: FolderScan, report: SyncReport
) -> None:
    """Note recordings whose entries are gone, in the journal too: no other file tells of them."""
    with ExitStack() as stack:
        journal = None
        try:
            journal = stack.enter_context(JournalFile.locked(scan.path, create=True))
        except JournalError as error:
            # A fact that the journal cannot take is kept in this catalog at least.
            scan.problems.setdefault(str(error))
        session = stack.enter_context(catalog.session(writes=True))
        gone = read_journal(session, archive_fk, scan, report, journal)
        if not gone:
            return
        target = Target(session, archive_fk, scan.ids)
        for values in gone:
            apply(target, "gone", values)
        report.purged += len(gone)
        if journal is not None:
            archive = session.get_one(Archive, archive_fk)
            now_ms = catalog.clock.now_epoch_ms()
            facts = [{"kind": "gone", **values} for values in gone]
            archive.journal_position = journal.append(facts, now_ms)
            archive.journal_id = journal.journal_id


def _gone(session: Session, archive_fk: int, ids: set[int]) -> list[dict[str, Any]]:
    """Facts about the recordings that are not in the folder, in id order."""
    here = (Recording.archive_fk == archive_fk, Recording.state != State.PURGED)
    known = session.scalars(select(Recording.recording_id).where(*here))
    gone = sorted(recording_id for recording_id in known if recording_id not in ids)
    columns = [getattr(Recording, name) for name in COLUMNS if name != "state"]
    statement = select(Stream.stream_id, *columns).join(Stream, Stream.id == Recording.stream_fk)
    facts: list[dict[str, Any]] = []
    for at in range(0, len(gone), CHUNK):
        chunk = Recording.recording_id.in_(gone[at : at + CHUNK])
        rows = session.execute(
            statement.where(*here, chunk).order_by(Recording.recording_id)
        ).mappings()
        facts += [dict(row) for row in rows]
    return facts


def drop_streams(session: Session, archive_fk: int) -> None:
    """Delete the streams to which no recording belongs any more."""
    is_used = exists().where(Recording.stream_fk == Stream.id)
    session.execute(delete(Stream).where(Stream.archive_fk == archive_fk, ~is_used))
