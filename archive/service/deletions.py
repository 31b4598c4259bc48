"""Segment files on their way out: one file a cycle and recording (spec archive-protocol 14).

The catalog has been changed before a deletion starts, so that a crash leaves files that no
recording needs, and never a recording without its files.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.protocol import NULL_POSITION, NULL_VALUE, RecordingSignal
from aerolog.archive.service import properties as p
from aerolog.archive.service.stored_segments import DELETED_SUFFIX, FoundNames, Names
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.control_session import ControlSession


class Deletion:
    """The files of one recording that one request removes.

    Attributes:
        recording_id: whose files they are.
        highest: position that the last of them starts at, -1 when none has one in its name.
        left: how many there still are.
        is_durable: whether no file is gone that a loss of power may bring back.
    """

    def __init__(
        self,
        control: ControlSession | None,
        correlation_id: int,
        recording_id: int,
        names: Names,
    ) -> None:
        self.control = control
        self.correlation_id = correlation_id
        self.recording_id = recording_id
        self.highest = names.highest
        self.left = len(names)
        self.is_durable = True
        self._names = iter(names)

    def take(self) -> str:
        """The next name; there is one."""
        self.left -= 1
        self.is_durable = False
        return next(self._names)


class Deletions:
    """All deletions under way, at most one for a recording.

    Args:
        context: the archive's surroundings.
    """

    def __init__(self, context: ArchiveContext) -> None:
        self._context = context
        self._running: dict[int, Deletion] = {}

    @property
    def is_busy(self) -> bool:
        """Whether there are files to remove."""
        return bool(self._running)

    def is_active(self, recording_id: int) -> bool:
        """Whether files of a recording are being removed."""
        return recording_id in self._running

    def reaches(self, recording_id: int, position: int) -> bool:
        """Whether files of a recording are being removed that start at or behind a position."""
        running = self._running.get(recording_id)
        return running is not None and running.highest >= position

    def check_none(self, recording_id: int) -> None:
        """Refuse to go on while files of a recording are being removed.

        Raises:
            ArchiveError: they are.
        """
        if recording_id in self._running:
            raise ArchiveError(
                ArchiveErrorCode.GENERIC,
                f"another delete operation in progress for recording id: {recording_id}",
            )

    def start(
        self,
        control: ControlSession | None,
        correlation_id: int,
        recording_id: int,
        names: Names | Iterable[str],
    ) -> int:
        """Have files removed; the DELETE signal follows when the last one is gone.

        Args:
            control: who is told, None for nobody.
            correlation_id: of the request.
            recording_id: whose files they are; ``check_none`` has passed.
            names: of files in the archive's folder, those that are missing included. Without any
                the signal comes in the conductor's next turn.

        Returns:
            The number of names.
        """
        known = names if isinstance(names, Names) else FoundNames(names)
        deletion = Deletion(control, correlation_id, recording_id, known)
        self._running[recording_id] = deletion
        return deletion.left

    def do_work(self) -> int:
        """Remove one file of each recording; tell of those that are done."""
        work = 0
        for deletion in reversed(list(self._running.values())):
            if deletion.left:
                self._remove(deletion, deletion.take())
            if not deletion.left:
                self._finish(deletion)
            work += 1
        return work

    def finish(self, recording_id: int) -> None:
        """End a deletion that has no files, at once."""
        deletion = self._running.get(recording_id)
        if deletion is not None and not deletion.left:
            self._finish(deletion)

    def _finish(self, deletion: Deletion) -> None:
        self._sync(deletion)
        del self._running[deletion.recording_id]
        if deletion.control is not None:
            deletion.control.send_signal(
                deletion.correlation_id,
                deletion.recording_id,
                NULL_VALUE,
                NULL_POSITION,
                RecordingSignal.DELETE,
            )

    def _sync(self, deletion: Deletion) -> None:
        """A file that came back after a loss of power would be taken for the recording's end."""
        config = self._context.config
        if config[p.FILE_SYNC_LEVEL] > 0 and not deletion.is_durable:
            sync = partial(self._context.files.sync_dir, str(config.archive_dir))
            self._context.reporter.run(sync)

    def _remove(self, deletion: Deletion, name: str) -> None:
        path = str(Path(self._context.config.archive_dir) / name)
        try:
            if not self._remove_if_there(path):
                self._remove_if_there(path + DELETED_SUFFIX)
        except OSError as error:
            text = f"unable to delete segment file: {path}"
            self._context.reporter.error(error)
            self._context.reporter.event(text)
            if deletion.control is not None:
                deletion.control.send_error(deletion.correlation_id, ArchiveErrorCode.GENERIC, text)

    def _remove_if_there(self, path: str) -> bool:
        try:
            self._context.files.remove(path)
        except FileNotFoundError:
            return False
        return True

    def close(self) -> None:
        """Remove what is left; nobody is told any more."""
        for deletion in self._running.values():
            deletion.control = None
            while deletion.left:
                self._remove(deletion, deletion.take())
            self._sync(deletion)
        self._running.clear()
