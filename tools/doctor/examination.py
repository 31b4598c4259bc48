"""Looks at a driver, an archive and a cluster's node as an operator names them."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from aerolog.tools.doctor.archive_snapshot import archive_snapshot, damaged_snapshot
from aerolog.tools.doctor.cluster_snapshot import cluster_snapshot
from aerolog.tools.doctor.driver_snapshot import driver_snapshot
from aerolog.tools.doctor.segment_contents import Contents, look_inside
from aerolog.tools.doctor.system_snapshot import LATE_MS, SystemSnapshot
from aerolog.tools.views import machine
from aerolog.tools.views.archive_view import ArchiveView
from aerolog.tools.views.driver_view import DriverView
from aerolog.tools.views.errors import Trouble, ViewError
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.mark_file import TERMINATED

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.tools.doctor.system_snapshot import ArchiveSnapshot, ClusterSnapshot
    from aerolog.tools.views.counters_snapshot import CountersSnapshot

#: A process that is gone may live in another container: its sign of life tells within this time.
_SETTLE_S: Final = 4.0
_SETTLE_STEP_S: Final = 0.1


class Examination:
    """What is looked at, and what stays known from look to look; at first nothing is.

    Args:
        deep: look at every frame of the archive.
        clock: tells the time; the machine's by default.

    Attributes:
        aeron_dir: the driver's directory; None for that of the archive's driver or the cluster's,
            or the default without both.
        archive_dir: the archive's folder; None for no archive.
        cluster_dir: the folder of a cluster's node; None for no cluster.
        on_bytes: told how many bytes of segments have been read.
        contents: what was found inside the segments, None before they were read.
    """

    def __init__(
        self,
        aeron_dir: str | None = None,
        archive_dir: str | None = None,
        cluster_dir: str | None = None,
        *,
        deep: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self.aeron_dir = aeron_dir
        self.archive_dir = archive_dir
        self.cluster_dir = cluster_dir
        self.on_bytes: Callable[[int], None] | None = None
        self.contents: Contents | None = None
        self._deep = deep
        self._clock = clock or SystemClock()

    def look(self, *, inside: bool = True, needed: bool = True) -> SystemSnapshot:
        """Takes a snapshot of the driver, the archive and the cluster's node.

        Args:
            inside: look into segments too, if that has not been done yet.
            needed: whether it is an error if there is nothing; else that is a finding.

        Raises:
            ViewError: nothing at all can be looked at.
        """
        with ExitStack() as stack:
            archive, archive_error = self._open_archive(stack)
            cluster, cluster_error = self._look_at_cluster()
            driver, driver_error = self._open_driver(stack, archive, cluster)
            salvaged = None if archive_error is None else self._salvage()
            seen = any(one is not None for one in (archive, driver, salvaged, cluster))
            for error in (archive_error, cluster_error, driver_error):
                if needed and error is not None and not seen:
                    raise error
            before = () if driver is None else (driver.counters(),)
            if archive is not None and inside and self.contents is None:
                self.contents = self._look_inside(archive)
            snapshot = salvaged
            if archive is not None:
                snapshot = self._archive_snapshot(archive, before, driver)
            return SystemSnapshot(
                now_ms=self._clock.now_epoch_ms(),
                monotonic_ns=self._clock.now_ns(),
                driver=None if driver is None else driver_snapshot(driver),
                driver_fault="" if driver_error is None else str(driver_error),
                archive=snapshot,
                archive_fault="" if archive_error is None else str(archive_error),
                archive_is_damaged=archive_error is not None
                and archive_error.trouble is Trouble.DAMAGED,
                cluster=cluster,
                cluster_fault="" if cluster_error is None else str(cluster_error),
                host=machine.host(),
            )

    def settle(self, look: SystemSnapshot) -> SystemSnapshot:
        """Looks again for as long as it is open whether a process that is not here lives.

        One in another container has a process id that does not exist here; one that was just
        killed has left a fresh sign of life. The next sign of life tells, or its absence.
        """
        deadline = Deadline(_SETTLE_S, self._clock)
        beats = _open_beats(look)
        while beats & _open_beats(look) and not deadline.is_over:
            time.sleep(_SETTLE_STEP_S)
            look = self.look(needed=False)
        return look

    def _open_archive(self, stack: ExitStack) -> tuple[ArchiveView | None, ViewError | None]:
        if self.archive_dir is None:
            return None, None
        try:
            return stack.enter_context(ArchiveView.open(self.archive_dir)), None
        except ViewError as error:
            return None, error

    def _open_driver(
        self, stack: ExitStack, archive: ArchiveView | None, cluster: ClusterSnapshot | None
    ) -> tuple[DriverView | None, ViewError | None]:
        folder = self.aeron_dir
        is_alive = False
        if folder is None and (self.archive_dir is not None or self.cluster_dir is not None):
            folder, is_alive = self._driver_of(archive, cluster)
            if not folder:
                return None, None  # an archive or a module that has ended has no driver
        try:
            return stack.enter_context(DriverView.open(folder)), None
        except ViewError as error:
            explicit = self.archive_dir is None and self.cluster_dir is None
            needed = self.aeron_dir is not None or explicit or is_alive
            return None, error if needed else None

    def _driver_of(
        self, archive: ArchiveView | None, cluster: ClusterSnapshot | None
    ) -> tuple[str | None, bool]:
        """The directory of the archive's driver or the cluster's, and whether its user lives."""
        now_ms = self._clock.now_epoch_ms()
        if archive is not None and archive.aeron_dir and archive.activity_ms() != TERMINATED:
            return archive.aeron_dir, archive.is_alive(now_ms)
        for mark in () if cluster is None else cluster.marks:
            if mark.activity_ms != TERMINATED:
                return mark.aeron_dir, mark.is_alive(now_ms)
        return None, False

    def _look_at_cluster(self) -> tuple[ClusterSnapshot | None, ViewError | None]:
        if self.cluster_dir is None:
            return None, None
        try:
            return cluster_snapshot(self.cluster_dir), None
        except ViewError as error:
            return None, error

    def _look_inside(self, archive: ArchiveView) -> Contents:
        try:
            return look_inside(archive.archive_dir, deep=self._deep, on_bytes=self.on_bytes)
        except (FileFormatError, OSError):
            return Contents(self._deep)  # the folder changes just now: its own look says so

    def _archive_snapshot(
        self,
        archive: ArchiveView,
        before: tuple[CountersSnapshot, ...],
        driver: DriverView | None,
    ) -> ArchiveSnapshot:
        recordings = archive.recordings()
        after = () if driver is None else (driver.counters(),)
        return archive_snapshot(
            archive, recordings, self._clock.now_epoch_ms(), (*before, *after), self.contents
        )

    def _salvage(self) -> ArchiveSnapshot | None:
        """What can be said of a folder whose catalog is damaged."""
        assert self.archive_dir is not None
        try:
            return damaged_snapshot(self.archive_dir)
        except (FileFormatError, OSError):
            return None


def _open_beats(look: SystemSnapshot) -> set[tuple[str, int]]:
    """Fresh signs of life of processes that do not exist here."""
    beats = []
    if look.driver is not None:
        beats.append(("driver", look.driver.process, look.driver.heartbeat_ms))
    if look.archive is not None and look.archive.mark is not None:
        beats.append(("archive", look.archive.mark.process, look.archive.mark.activity_ms))
    if look.cluster is not None:
        beats += [(mark.who, mark.process, mark.activity_ms) for mark in look.cluster.marks]
    return {
        (who, beat_ms)
        for who, process, beat_ms in beats
        if process.exists is False and 0 <= look.now_ms - beat_ms <= LATE_MS
    }
