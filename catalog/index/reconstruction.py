"""Rebuilds an archive's part of a catalog, with the same content, from folder and journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from aerolog.catalog.index.errors import JournalError
from aerolog.catalog.index.fingerprints import note_fingerprints
from aerolog.catalog.index.folder_scan import FolderScan
from aerolog.catalog.index.folder_sync import (
    CHUNK,
    SyncReport,
    drop_streams,
    enter_archive,
    folder_lock,
    lock_archive,
    read_journal,
    write_chunk,
)
from aerolog.catalog.index.holds_mirror import mirror_holds
from aerolog.catalog.index.journal import place_of
from aerolog.catalog.index.journal_file import JOURNAL_NAME, JournalFile
from aerolog.catalog.index.models import Archive, Recording, Segment
from aerolog.catalog.index.row_changes import drop_recordings

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.orm import Session

    from aerolog.catalog.index.folder_sync import Progress
    from aerolog.catalog.index.recording_catalog import RecordingCatalog


def rebuild(
    catalog: RecordingCatalog,
    archive_dir: Path | str,
    *,
    fingerprints: bool | None = None,
    without_journal: bool = False,
    progress: Progress | None = None,
) -> SyncReport:
    """Drop an archive's rows and scan its folder again, in one transaction.

    Other processes see the old rows until the transaction is committed; a crash before that leaves
    them in place.

    Args:
        catalog: the catalog; the rows of its other archives stay as they are.
        archive_dir: the archive's folder, which is only read.
        fingerprints: whether to compute the fingerprints of closed segments; None computes them
            when the old rows had any.
        without_journal: whether to continue when the journal is gone, and lose what it had noted.
        progress: called with the number of recordings scanned so far.

    Raises:
        JournalError: the rows name a journal, and it is gone.
        FileNotFoundError: the folder has no catalog.
        FileFormatError: the folder's catalog is of another version, or its header is damaged.
        CatalogError: the database fails. The old rows stay.
    """
    place = place_of(archive_dir)
    with folder_lock(place):
        scan = FolderScan(place)
        report = SyncReport(place)
        archive_fk = enter_archive(catalog, scan)
        # The journal is locked before the database, as everywhere, so that there is no deadlock.
        with JournalFile.locked(place) as journal, catalog.session(writes=True) as session:
            lock_archive(session, archive_fk)
            archive = session.get_one(Archive, archive_fk)
            if journal is None and archive.journal_id is not None and not without_journal:
                raise JournalError(
                    f"{place}/{JOURNAL_NAME} is gone: a rebuild would lose tags, names and the "
                    "like, which this catalog still has; put the journal back, or pass "
                    "--without-journal"
                )
            if fingerprints is None:
                fingerprints = _had_fingerprints(session, archive_fk)
            _drop(session, archive_fk)
            archive.journal_id, archive.journal_position = None, 0
            session.flush()
            for chunk in scan.chunks(CHUNK):
                write_chunk(session, archive_fk, scan, chunk, report, progress)
            scan.strays()
            read_journal(session, archive_fk, scan, report, journal)
            report.holds_changed += mirror_holds(session, archive_fk, scan)
            drop_streams(session, archive_fk)
        if fingerprints:
            report.fingerprints = note_fingerprints(catalog, archive_fk, scan)
    report.problems = list(scan.problems)
    return report


def _had_fingerprints(session: Session, archive_fk: int) -> bool:
    found = session.scalar(
        select(func.count(Segment.fingerprint))
        .join(Recording, Recording.id == Segment.recording_fk)
        .where(Recording.archive_fk == archive_fk)
    )
    return bool(found)


def _drop(session: Session, archive_fk: int) -> None:
    keys = select(Recording.id).where(Recording.archive_fk == archive_fk).order_by(Recording.id)
    last = -1
    # The keys only grow: in a damaged database rows may still be found after they were deleted.
    while chunk := session.scalars(keys.where(Recording.id > last).limit(CHUNK)).all():
        drop_recordings(session, chunk)
        last = max(chunk)
