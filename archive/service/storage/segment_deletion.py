"""Deletion of segment files, one per recording and duty cycle (spec archive-protocol 14).

The catalog is changed before a deletion starts. A crash therefore leaves files that no recording
needs, and never a recording without its files. Each duty cycle does a bounded amount of work, both
in the search for files and in their removal.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol import NULL_POSITION, NULL_VALUE, RecordingSignal
from aerolog.archive.service import properties as p
from aerolog.archive.service.storage.stored_segments import (
    DELETED_SUFFIX,
    FoundNames,
    Names,
    NameScan,
)
from aerolog.transport.config.values import INT64_MAX
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aerolog.archive.service.conductor.control_session import ControlSession
    from aerolog.archive.service.context import ArchiveContext

#: Bounds of a duty cycle: files removed, time before the last removal, names listed.
FILES_PER_TURN: Final = 16
TURN_NS: Final = NS_PER_MS
NAMES_PER_TURN: Final = 512


class Deletion:
    """The files of one recording that one request removes.

    Attributes:
        recording_id: id of the recording whose files are removed.
        highest: start position of the last file, -1 when no name has one.
        left: number of files still to be removed.
        is_durable: whether no removed file can come back after a loss of power.
        scan: the search for the files, None once they are known.
        choose: selects from the files found those to remove.
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
        self.is_durable = True
        self.scan: NameScan | None = None
        self.choose: Callable[[FoundNames], Names] | None = None
        self._begin(names)

    def _begin(self, names: Names) -> None:
        self.highest = names.highest
        self.left = len(names)
        self._names = iter(names)

    def look_for(self, scan: NameScan, choose: Callable[[FoundNames], Names] | None) -> None:
        """Search for the files; until they are known, any file may be among them."""
        self.scan, self.choose, self.highest = scan, choose, INT64_MAX

    def found(self) -> None:
        """Fix the files after the search and send their number."""
        assert self.scan is not None
        found = self.scan.found
        self._begin(found if self.choose is None else self.choose(found))
        self.scan = self.choose = None
        if self.control is not None:
            self.control.send_ok(self.correlation_id, self.left)

    def take(self) -> str:
        """Return the next name, of which there must be one."""
        self.left -= 1
        self.is_durable = False
        return next(self._names)


class Deletions:
    """All active deletions, at most one for a recording.

    Args:
        context: the objects that all parts of the archive use.
    """

    def __init__(self, context: ArchiveContext) -> None:
        self._context = context
        # The recordings to be served next come first.
        self._running: OrderedDict[int, Deletion] = OrderedDict()
        rate = context.config[p.DELETE_RATE]
        self._interval_ns = NS_PER_S // rate if rate else 0
        self._next_ns = 0

    @property
    def is_busy(self) -> bool:
        """Whether there are files to remove."""
        return bool(self._running)

    def next_turn_ns(self, now_ns: int) -> int:
        """Return when there is work again, a time far away when there is none."""
        if not self._running:
            return INT64_MAX
        looks = any(one.scan for one in islice(self._running.values(), FILES_PER_TURN))
        return now_ns if looks else max(now_ns, self._next_ns)

    def is_active(self, recording_id: int) -> bool:
        """Return whether files of a recording are being removed."""
        return recording_id in self._running

    def reaches(self, recording_id: int, position: int) -> bool:
        """Return whether files that start at or after a position are being removed."""
        running = self._running.get(recording_id)
        return running is not None and running.highest >= position

    def check_none(self, recording_id: int) -> None:
        """Check that no files of a recording are being removed.

        Raises:
            ArchiveError: a deletion is active.
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
        """Start the removal of files; the DELETE signal follows when the last one is gone.

        Args:
            control: the session that gets the signal, None for no session.
            correlation_id: the request's correlation id.
            recording_id: the recording whose files they are; ``check_none`` has passed.
            names: names of files in the archive's folder, which need not exist. Without any name
                the signal comes in the conductor's next duty cycle.

        Returns:
            The number of names.
        """
        known = names if isinstance(names, Names) else FoundNames(names)
        deletion = Deletion(control, correlation_id, recording_id, known)
        self._running[recording_id] = deletion
        return deletion.left

    def start_found(
        self,
        control: ControlSession,
        correlation_id: int,
        scan: NameScan,
        recording_id: int,
        choose: Callable[[FoundNames], Names] | None = None,
    ) -> None:
        """Search for files, answer with their number and then remove them.

        Args:
            control: the session that gets answer and signal.
            correlation_id: the request's correlation id.
            scan: the search for the files.
            recording_id: the recording whose files they are; ``check_none`` has passed.
            choose: selects from the files found those to remove, all by default.
        """
        deletion = Deletion(control, correlation_id, recording_id, FoundNames())
        deletion.look_for(scan, choose)
        self._running[recording_id] = deletion
        self._look(deletion)
        self.finish(recording_id)

    def do_work(self) -> int:
        """Remove one file of each recording, within the bounds, and signal completed deletions."""
        if not self._running:
            return 0
        work, looks = 0, 1
        begin_ns = now_ns = self._context.now_ns()
        self._next_ns = max(self._next_ns, now_ns - FILES_PER_TURN * self._interval_ns)
        for _ in range(min(len(self._running), FILES_PER_TURN)):
            recording_id, deletion = next(iter(self._running.items()))
            if deletion.scan is not None:
                if looks:
                    looks -= 1
                    work += self._look(deletion)
            elif deletion.left and now_ns >= self._next_ns:
                self._next_ns += self._interval_ns
                self._remove(deletion, deletion.take())
                work += 1
            if deletion.scan is None and not deletion.left:
                self._finish(deletion)
                work += 1
            else:
                self._running.move_to_end(recording_id)
            now_ns = self._context.now_ns()
            if now_ns - begin_ns > TURN_NS:
                break
        return work

    def _look(self, deletion: Deletion) -> int:
        """Continue a search; returns the number of names listed."""
        assert deletion.scan is not None
        try:
            looked_at = deletion.scan.go_on(NAMES_PER_TURN)
        except OSError as error:
            # The files found so far are removed; the archive's next start removes the rest.
            self._context.reporter.error(error)
            deletion.found()
            return 1
        if deletion.scan.is_done:
            deletion.found()
        return max(looked_at, 1)

    def finish(self, recording_id: int) -> None:
        """Complete a deletion that has no files at once."""
        deletion = self._running.get(recording_id)
        if deletion is not None and deletion.scan is None and not deletion.left:
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
        """Sync the folder: a file that came back would be taken for the recording's end."""
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
        """Remove the remaining files without further signals."""
        for deletion in self._running.values():
            deletion.control = None
            while deletion.scan is not None:
                self._look(deletion)
            while deletion.left:
                self._remove(deletion, deletion.take())
            self._sync(deletion)
        self._running.clear()
