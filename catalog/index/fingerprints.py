"""Fingerprints of closed segments: xxh3 over their recorded bytes, computed once.

A segment is closed when the recording has continued in the next one or has stopped. A segment is
read in blocks, so that memory does not grow with its length.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select, update

from aerolog.archive.format.segment import segment_file_name
from aerolog.archive.verification.fingerprint import file_fingerprint, fingerprint_text
from aerolog.catalog.index.models import READABLE, Recording, Segment, SegmentState
from aerolog.catalog.index.row_changes import covered_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy.orm import Session

    from aerolog.catalog.index.folder_scan import FolderScan
    from aerolog.catalog.index.recording_catalog import RecordingCatalog
    from aerolog.transport.memory.filesystem import FileSystem

#: Segments whose fingerprints are stored in one transaction; after a crash only the rest is read.
CHUNK: Final = 64
_PAGE: Final = 1000


def fingerprint(files: FileSystem, path: str, length: int) -> str | None:
    """The fingerprint of the first bytes of a file, None when the file is shorter.

    Verification keeps the same fingerprint in health files.

    Args:
        files: the file system to read through.
        path: the file's path.
        length: the number of bytes to hash, from the beginning of the file.

    Raises:
        FileNotFoundError: the file does not exist.
        MissingExtraError: xxhash is not installed.
    """
    value = file_fingerprint(files, path, length)
    return None if value is None else fingerprint_text(value)


def note_fingerprints(
    catalog: RecordingCatalog,
    archive_fk: int,
    scan: FolderScan,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Compute the missing fingerprints of an archive's closed segments; return their number.

    Args:
        catalog: the catalog that stores the fingerprints.
        archive_fk: the key of the archive's row.
        scan: the scan of the archive's folder, to which problems are added.
        progress: called with the number of fingerprints computed so far.
    """
    done = 0
    wanted = lacking(catalog, archive_fk)
    while chunk := list(islice(wanted, CHUNK)):
        rows = computed(scan, chunk)
        with catalog.session(writes=True) as session:
            store(session, rows)
        done += len(rows)
        if progress is not None:
            progress(done)
    return done


def lacking(catalog: RecordingCatalog, archive_fk: int) -> Iterator[tuple[int, int, int, int]]:
    """Closed segments without a fingerprint: recording's key and id, base position, length."""
    last = (-1, -1)
    while True:
        with catalog.session() as session:
            page = _page(session, archive_fk, last)
        if not page:
            return
        for row in page:
            last = (row.id, row.base_position)
            values = {
                "start_position": row.start_position,
                "size_bytes": row.recorded,
                "segment_length": row.segment_length,
                "state": row.state,
            }
            until = covered_until(values, row.base_position)
            if until is not None:
                yield row.id, row.recording_id, row.base_position, until - row.base_position


def _page(session: Session, archive_fk: int, last: tuple[int, int]) -> Sequence[Any]:
    key, base = last
    return session.execute(
        select(
            Recording.id,
            Recording.recording_id,
            Recording.start_position,
            Recording.size_bytes.label("recorded"),
            Recording.segment_length,
            Recording.state,
            Segment.base_position,
        )
        .join(Segment, Segment.recording_fk == Recording.id)
        .where(
            Recording.archive_fk == archive_fk,
            Recording.state.in_(READABLE),
            Segment.fingerprint.is_(None),
            Segment.state == SegmentState.PRESENT,
            (Recording.id > key) | ((Recording.id == key) & (Segment.base_position > base)),
        )
        .order_by(Recording.id, Segment.base_position)
        .limit(_PAGE)
    ).all()


def computed(
    scan: FolderScan, chunk: Sequence[tuple[int, int, int, int]]
) -> list[tuple[int, int, str]]:
    """Compute the fingerprints of some segments: recording's key, base position, fingerprint."""
    rows = []
    for key, recording_id, base, length in chunk:
        path = f"{scan.path}/{segment_file_name(recording_id, base)}"
        try:
            value = fingerprint(scan.files, path, length)
        except FileNotFoundError:
            continue  # The segment was purged meanwhile; the next scan of the folder reports it.
        if value is None:
            scan.problems.setdefault(
                f"segment of recording {recording_id} ends before byte {length}, up to which it is "
                f"recorded: {path}"
            )
            continue
        rows.append((key, base, value))
    return rows


def store(session: Session, rows: Sequence[tuple[int, int, str]]) -> None:
    """Store fingerprints; rows that were deleted meanwhile are not added again."""
    for key, base, value in rows:
        session.execute(
            update(Segment)
            .where(Segment.recording_fk == key, Segment.base_position == base)
            .values(fingerprint=value)
        )
