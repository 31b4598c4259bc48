"""Exports in the SQL catalog: which parts of a recording were written to which target and files.

An archive's folder does not tell these facts, so they are noted in its journal too.
"""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from aerolog.catalog.index.folder_sync import sync_folder
from aerolog.catalog.index.journal import Fact, place_of, record_all
from aerolog.catalog.index.models import (
    COMPLETE,
    RUNNING,
    Export,
    ExportFile,
    recording_key,
)
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from aerolog.catalog.index.recording_catalog import RecordingCatalog


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFile:
    """A file of an export; ``path`` is relative to the target."""

    path: str
    from_position: int
    until_position: int
    rows: int
    bytes: int
    checksum: str


@repr_without_secrets
@dataclass(frozen=True, slots=True, kw_only=True)
class ExportNote:
    """What a target has of one recording.

    Attributes:
        target: the folder or URL, without secrets.
        until_position: the position up to which the recording is exported.
        state: ``complete``, or ``failed`` where damage ended the export early.
        files: the files of rows and of rejects.
        rows: the number of rows in the files of rows.
    """

    recording_id: int
    target: str
    until_position: int
    state: str
    files: Sequence[ExportedFile]
    rows: int

    @property
    def from_position(self) -> int:
        """The position at which the first file begins."""
        return min((file.from_position for file in self.files), default=self.until_position)

    @property
    def checksum(self) -> str:
        """A checksum over the checksums of the files, in the order of their paths."""
        listed = sorted((file.path, file.checksum) for file in self.files)
        text = "\n".join(f"{path} {checksum}" for path, checksum in listed)
        return f"crc32:{zlib.crc32(text.encode()):08x}"


def note_begun(
    catalog: RecordingCatalog, archive_dir: str | Path, target: str, positions: Mapping[int, int]
) -> None:
    """Note that exports begin, so that retention keeps what they have not written yet.

    Args:
        catalog: the catalog that gets the exports.
        archive_dir: the archive's folder, on this machine.
        target: the folder or URL, without secrets.
        positions: recording id -> position up to which the target has the recording.

    Raises:
        CatalogError: the database or the journal fails. Nothing was noted.
    """
    place = place_of(archive_dir)
    if not all(_is_known(catalog, place, recording_id) for recording_id in positions):
        sync_folder(catalog, place)
    facts = []
    for recording_id, position in positions.items():
        found = _export(catalog, place, recording_id, target)
        if found is not None and (found.state, found.until_position) == (RUNNING, position):
            continue
        values = {
            "recording_id": recording_id,
            "target": target,
            "from_position": position if found is None else found.from_position,
            "until_position": position,
            "rows": 0 if found is None else found.rows,
            "bytes": 0 if found is None else found.bytes,
            "checksum": None if found is None else found.checksum,
            "state": RUNNING,
            "time_ms": catalog.clock.now_epoch_ms(),
        }
        facts.append(Fact(place, "export", values))
    if facts:
        record_all(catalog, facts)


def note_export(catalog: RecordingCatalog, archive_dir: str | Path, note: ExportNote) -> bool:
    """Note in the catalog and the folder's journal what a target has of a recording.

    A recording that the catalog does not know yet is added by a sync of the folder.

    Args:
        catalog: the catalog that gets the export.
        archive_dir: the archive's folder, on this machine.
        note: the export.

    Returns:
        False when both had all of it already.

    Raises:
        CatalogError: the database or the journal fails. Nothing was noted.
    """
    place = place_of(archive_dir)
    if not _is_known(catalog, place, note.recording_id):
        sync_folder(catalog, place)
    before, files = _noted(catalog, place, note)
    if before == (note.until_position, note.checksum, note.state):
        return False
    facts = [_export_fact(place, note, catalog.clock.now_epoch_ms())]
    facts += [
        _file_fact(place, note, file)
        for file in note.files
        if files.get(file.path) != file.checksum
    ]
    gone = files.keys() - {file.path for file in note.files}
    facts += [
        Fact(
            place,
            "export-gone",
            {"recording_id": note.recording_id, "target": note.target, "path": path},
        )
        for path in sorted(gone)
    ]
    record_all(catalog, facts)
    return True


def _is_known(catalog: RecordingCatalog, place: str, recording_id: int) -> bool:
    with catalog.session() as session:
        return session.scalar(recording_key(place, recording_id)) is not None


def _export(catalog: RecordingCatalog, place: str, recording_id: int, target: str) -> Export | None:
    with catalog.session() as session:
        found = session.scalar(
            select(Export).where(
                Export.recording_fk == recording_key(place, recording_id).scalar_subquery(),
                Export.target == target,
            )
        )
        session.expunge_all()
        return found


def _noted(
    catalog: RecordingCatalog, place: str, note: ExportNote
) -> tuple[tuple[int, str | None, str] | None, dict[str, str]]:
    """An export in the tables: its end, checksum and state, and its files' checksums by path."""
    found = _export(catalog, place, note.recording_id, note.target)
    if found is None:
        return None, {}
    with catalog.session() as session:
        listed = session.execute(
            select(ExportFile.path, ExportFile.checksum).where(ExportFile.export_fk == found.id)
        )
        files = {file.path: file.checksum for file in listed}
    return (found.until_position, found.checksum, found.state), files


def _export_fact(place: str, note: ExportNote, now_ms: int) -> Fact:
    return Fact(
        place,
        "export",
        {
            "recording_id": note.recording_id,
            "target": note.target,
            "from_position": note.from_position,
            "until_position": note.until_position,
            "rows": note.rows,
            "bytes": sum(file.bytes for file in note.files),
            "checksum": note.checksum,
            "state": note.state,
            "time_ms": now_ms,
        },
    )


def _file_fact(place: str, note: ExportNote, file: ExportedFile) -> Fact:
    return Fact(
        place,
        "export-file",
        {
            "recording_id": note.recording_id,
            "target": note.target,
            **asdict(file),
            "state": COMPLETE,
        },
    )
