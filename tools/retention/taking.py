"""What commands ask before they delete data of a recording, or put it out of reach.

They ask the same as retention does: holds, pipelines, exports and replications. An archive's folder
has the answers, so a command that reaches an archive by its channel looks for the folder first.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.mark_file import running_archive
from aerolog.archive.retention.archive_access import RunningArchive
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
    from aerolog.archive.retention.needs import Taking
    from aerolog.tools.retention.options import RecordingTakingOptions, TakingOptions


_FORCE: Final = "to go on all the same, pass --force"


class NeededError(AerologError):
    """Data that was to be taken away is held or needed."""


class TakingCheck:
    """Asks who needs data, before and at the moment when it is taken.

    Args:
        find_folder: returns the archive's folder.
        options: further sources of needs, and whether to go on whatever they say.
        archive: returns the needs of the archive itself.
    """

    def __init__(
        self,
        find_folder: Callable[[], str],
        options: TakingOptions,
        archive: Callable[[], Iterable[Need]] = tuple,
    ) -> None:
        self._find_folder = find_folder
        self._options = options
        self._archive = archive

    @classmethod
    def of_archive(cls, client: AeronArchive, options: RecordingTakingOptions) -> TakingCheck:
        """The check of what a running archive is to take away."""
        return cls(
            lambda: _folder_of(client, options.archive_dir), options, RunningArchive(client).needs
        )

    def _needs(self) -> PresentNeeds:
        folder = self._find_folder()
        return PresentNeeds(
            archive_dir=folder,
            files=RealFileSystem(),
            known=lookup_of(folder, self._options),
            archive=self._archive,
        )

    def refusal(self, taking: Taking) -> str | None:
        """Why something is not taken now; None when nothing speaks against it, or with --force.

        With --force, what speaks against it is printed as a warning.
        """
        try:
            need = self._needs().against(taking)
        except (AerologError, OSError) as error:
            text = f"who needs recording {taking.recording_id} is not known: {error}"
        else:
            if need is None:
                return None
            text = _text(need)
        if self._options.force:
            remark(f"warning: {text}")
            return None
        return f"{text}; {_FORCE}"

    @contextmanager
    def step(self, taking: Taking | None) -> Iterator[None]:
        """Look again, and let no hold be made until what is taken is gone.

        Args:
            taking: what is taken in the block, None for nothing.

        Raises:
            NeededError: somebody needs it now.
            AerologError: who needs it is not known.
            OSError: the archive's folder cannot be written.
        """
        if taking is None or self._options.force:
            yield
            return
        with self._needs().step(taking) as need:
            if need is not None:
                raise NeededError(f"{_text(need)}; {_FORCE}")
            yield


def _text(need: Need) -> str:
    return f"recording {need.recording_id} is needed from position {need.position} on: {need.text}"


def _folder_of(client: AeronArchive, named: str | None) -> str:
    """The folder of the archive that a client is connected with.

    Raises:
        NeedsUnknownError: it is not known, or not on this machine.
    """
    told = client.archive_folder()
    for folder in (named, told):
        if folder is None:
            continue
        mark = running_archive(folder)
        if mark is not None and mark.header.archive_id == client.archive_id:
            return folder
    tried = " and ".join(one for one in (named, told) if one is not None)
    where = (
        f"{tried} is not the folder of this archive here"
        if tried
        else ("the archive does not tell its folder")
    )
    raise NeedsUnknownError(f"{where}: pass --archive-dir DIR, where its holds are")
