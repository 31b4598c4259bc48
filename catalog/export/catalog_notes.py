"""Notes of exports in SQL catalogs: in the one that was named, or in those of archives' folders."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aerolog.catalog.export.layout import ROWS
from aerolog.catalog.locations import local_folder
from aerolog.transport.errors import MissingExtraError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from aerolog.catalog.export.manifest import Manifest
    from aerolog.catalog.export.plan import RecordingExport
    from aerolog.catalog.export.store import Store

_DATABASE_NAME: Final = "aerolog-catalog.db"


class CatalogNotes:
    """Notes which exports begin and end. A context manager, which closes what it opened.

    Attributes:
        read_only: archives' folders whose catalog or journal takes no notes, because it is
            read-only; what is exported of them is not noted.
    """

    def __init__(self, catalog: Any, target: Store) -> None:
        self._given = catalog
        self._target = target
        self._stack = ExitStack()
        self._of_folders: dict[str, Any] = {}
        self.read_only: list[str] = []

    def __enter__(self) -> Self:
        if isinstance(self._given, str):
            from aerolog.catalog.index import RecordingCatalog

            self._given = self._stack.enter_context(RecordingCatalog.open(self._given))
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(exc_type, exc, traceback)

    def begun(self, jobs: list[RecordingExport]) -> None:
        """Note exports that are about to write something, before they do.

        Raises:
            CatalogError: the database or the journal fails; nothing was written.
        """
        positions: dict[str, dict[int, int]] = {}
        for job in jobs:
            folder = self._folder_of(job)
            if folder is not None and job.is_ahead:
                positions.setdefault(folder, {})[job.recording_id] = job.state.position
        for folder, of_folder in positions.items():
            catalog = self._catalog_of(folder)
            if catalog is not None:
                from aerolog.catalog.index.exports import note_begun

                note_begun(catalog, folder, self._target.identity, of_folder)

    def finished(self, jobs: list[RecordingExport], manifest: Manifest) -> None:
        """Note what the target has of recordings whose export is done; the list is empty then.

        The folder's journal takes part, so that only archives whose folder is here have notes.

        Args:
            jobs: that are done, with all their files listed by the manifest as it was saved.
            manifest: of the target.

        Raises:
            CatalogError: the database or the journal fails; the files are there all the same, and
                the next run of the export notes them.
        """
        while jobs:
            self._note(jobs.pop(0), manifest)

    def _note(self, job: RecordingExport, manifest: Manifest) -> None:
        folder = self._folder_of(job)
        if folder is None:
            return
        catalog = self._catalog_of(folder)
        if catalog is None:
            return
        from aerolog.catalog.index.exports import ExportedFile, ExportNote, note_export
        from aerolog.catalog.index.models import COMPLETE, FAILED

        listed = manifest.files_of(job.key)
        files = [
            ExportedFile(
                path=file.path,
                from_position=one.from_position,
                until_position=one.until_position,
                rows=file.rows,
                bytes=file.bytes,
                checksum=file.checksum,
            )
            for one, file in listed
        ]
        note = ExportNote(
            recording_id=job.recording_id,
            target=self._target.identity,
            until_position=job.state.position,
            state=COMPLETE if job.damage is None else FAILED,
            files=files,
            rows=sum(file.rows for _, file in listed if file.table == ROWS),
        )
        note_export(catalog, folder, note)

    @staticmethod
    def _folder_of(job: RecordingExport) -> str | None:
        place = job.source.place
        return None if place is None else local_folder(place)

    def _catalog_of(self, folder: str) -> Any:
        """The catalog that takes the notes of a folder's archive; None when there is none."""
        if folder not in self._of_folders:
            catalog = self._given or self._catalog_in(folder)
            if catalog is not None and self._is_read_only(folder, catalog):
                self.read_only.append(folder)
                catalog = None
            self._of_folders[folder] = catalog
        return self._of_folders[folder]

    def _is_read_only(self, folder: str, catalog: Any) -> bool:
        from aerolog.catalog.index.journal_file import is_read_only

        # A catalog that somebody named is written: if it is read-only, that is an error.
        return is_read_only(folder) or (catalog is not self._given and catalog.is_read_only)

    def _catalog_in(self, folder: str) -> Any:
        """The catalog in an archive's folder, None when there is none or nothing to open it."""
        if not (Path(folder) / _DATABASE_NAME).exists():
            return None
        try:
            from aerolog.catalog.index import RecordingCatalog
        except MissingExtraError:
            # Nobody asked for it; where it can be used, the next export notes this one.
            return None
        return self._stack.enter_context(RecordingCatalog.open(archive_dir=folder))
