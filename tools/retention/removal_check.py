"""What commands ask before they delete data of a recording, or put it out of reach.

They ask the same as retention does: holds, pipelines, exports and replications. An archive's folder
has the answers, so a command that reaches an archive by its channel looks for the folder first.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.mark_file import running_archive
from aerolog.archive.retention.archive_access import RunningArchive
from aerolog.archive.retention.clock import read_clock
from aerolog.archive.retention.errors import NeedsUnknownError
from aerolog.archive.retention.needs import PresentNeeds
from aerolog.tools.retention.needs_lookup import lookup_of
from aerolog.tools.terminal.console import remark
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from aerolog.archive.client import AeronArchive
    from aerolog.archive.retention.facts import Need
    from aerolog.archive.retention.needs import Removal
    from aerolog.tools.retention.options import RecordingRemovalOptions, RemovalOptions


_IDENTITY: Final = ("start_timestamp", "session_id", "stream_id", "initial_term_id")
_FORCE: Final = "to go on all the same, pass --force"


class NeededError(AerologError):
    """Data that was to be removed is held or needed, or may be."""


class RemovalCheck:
    """Ask who needs data, before and at the moment when it is removed.

    Args:
        find_folder: returns the folder of the archive that has a recording.
        options: further sources of needs, and whether to go on whatever they say.
        archive: returns the needs of the archive itself.
    """

    def __init__(
        self,
        find_folder: Callable[[int], str],
        options: RemovalOptions,
        archive: Callable[[], Iterable[Need]] = tuple,
    ) -> None:
        self._find_folder = find_folder
        self._options = options
        self._archive = archive

    @classmethod
    def of_archive(cls, client: AeronArchive, options: RecordingRemovalOptions) -> RemovalCheck:
        """The check of what a running archive is to take away."""
        archive = RunningArchive(client)
        return cls(
            lambda recording_id: _folder_of(client, options.archive_dir, recording_id),
            options,
            archive.needs,
        )

    def _needs(self, removal: Removal) -> PresentNeeds:
        folder = self._find_folder(removal.recording_id)
        return PresentNeeds(
            archive_dir=folder,
            files=RealFileSystem(),
            now_ms=lambda: read_clock().now_ms,
            known=lookup_of(folder, self._options),
            archive=self._archive,
        )

    def refusal(self, removal: Removal) -> str | None:
        """Why something is not taken now; None when nothing speaks against it, or with --force.

        With --force, what speaks against it is printed as a warning.
        """
        try:
            need = self._needs(removal).against(removal)
        except (AerologError, OSError) as error:
            text = _unknown(removal, error)
        else:
            if need is None:
                return None
            text = _text(need)
        if self._options.force:
            remark(f"warning: {text}")
            return None
        return f"{text}; {_FORCE}"

    @contextmanager
    def step(self, removal: Removal | None) -> Iterator[None]:
        """Look again, and let no hold be made until what is taken is gone.

        Args:
            removal: what is removed in the block, None for nothing.

        Raises:
            NeededError: somebody needs it now, or who needs it is not known.
        """
        if removal is None or self._options.force:
            yield
            return
        with ExitStack() as stack:
            try:
                need = stack.enter_context(self._needs(removal).step(removal))
            except (AerologError, OSError) as error:
                raise NeededError(f"{_unknown(removal, error)}; {_FORCE}") from error
            if need is not None:
                raise NeededError(f"{_text(need)}; {_FORCE}")
            yield


def _unknown(removal: Removal, error: Exception) -> str:
    return f"who needs recording {removal.recording_id} is not known: {error}"


def _text(need: Need) -> str:
    return f"recording {need.recording_id} is needed from position {need.position} on: {need.text}"


def _folder_of(client: AeronArchive, named: str | None, recording_id: int) -> str:
    """The folder of the archive that a client is connected with.

    Raises:
        NeedsUnknownError: it is not known, or not on this machine.
    """
    candidates = [one for one in (named, client.archive_folder()) if one is not None]
    for folder in candidates:
        if _is_of(client, folder, recording_id):
            return folder
    where = "the archive does not tell its folder"
    if candidates:
        where = f"{' and '.join(candidates)} is not the folder of this archive here"
    raise NeedsUnknownError(f"{where}: pass --archive-dir DIR, where its holds are")


def _is_of(client: AeronArchive, folder: str, recording_id: int) -> bool:
    """Whether a folder is that of a client's archive: archives of two drivers may have one id."""
    mark = running_archive(folder)
    if mark is None or mark.header.archive_id != client.archive_id:
        return False
    with CatalogReader.open(folder) as catalog:
        if recording_id not in catalog:
            return False
        here = catalog.descriptor(recording_id)
    there = client.list_recording(recording_id)
    return there is not None and all(getattr(here, f) == getattr(there, f) for f in _IDENTITY)
