"""A run: lock, completion of an interrupted run, facts, plan and the plan's application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.archive.format.mark_file import running_archive
from aerolog.archive.retention.clock import clock_problem
from aerolog.archive.retention.folder_facts import archive_age, look, newest_ms
from aerolog.archive.retention.journal import Journal
from aerolog.archive.retention.needs import Lookup, nothing_known
from aerolog.archive.retention.planner import plan
from aerolog.archive.retention.retention_folder import reserve_room, run_lock
from aerolog.archive.retention.steps import Applied, PlanRun, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from aerolog.archive.retention.archive_access import ArchiveAccess
    from aerolog.archive.retention.clock import ClockReading
    from aerolog.archive.retention.facts import Need
    from aerolog.archive.retention.plan import Plan
    from aerolog.archive.retention.policies import Policies
    from aerolog.transport.memory.filesystem import FileSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Retention of one archive's folder.

    Attributes:
        archive_dir: the archive's folder.
        policies: policies that ``checked`` accepted.
        files: the file system to use.
        read_clock: reads the machine's clocks.
        known: looks up what is known outside the folder, for each plan and before each request.
        accept_clock: whether to accept the clock whatever contradicts it.
    """

    archive_dir: str | Path
    policies: Policies
    files: FileSystem
    read_clock: Callable[[], ClockReading]
    known: Lookup = nothing_known
    accept_clock: bool = False

    def plan(self, needs: Iterable[Need] = ()) -> Plan:
        """Return what would be deleted now; nothing is created or changed.

        Args:
            needs: further needs, such as those of a running archive.

        Raises:
            HoldsDamagedError: the holds cannot be read.
            FileNotFoundError: the folder has no catalog.
            FileFormatError: the catalog is damaged.
        """
        return self._plan(Journal.open(self.archive_dir, self.files), needs)

    def reserve(self) -> None:
        """Reserve room for the files of runs, as the policies are set; see ``reserve_room``.

        A disk that has no room now may have it at the next run.
        """
        reserve_room(self.archive_dir, self.files)

    def run(
        self, archive: ArchiveAccess, agree: Callable[[Plan], bool] = lambda _plan: True
    ) -> tuple[Plan, Applied | None]:
        """Plan and apply, as the only run of the folder.

        Args:
            archive: access to the archive.
            agree: is shown the plan and returns whether to apply it.

        Returns:
            The plan and its results; the results are None when the plan was not agreed to.

        Raises:
            RetentionLockedError: another run is active.
            RetentionError: journal or holds are damaged.
            AerologError: the archive fails; the next run completes the steps that were begun.
        """
        now_ms = self.read_clock().now_ms
        with run_lock(self.archive_dir, self.files, now_ms, what="aerolog retention apply"):
            journal = Journal.open(self.archive_dir, self.files)
            planned = self._plan(journal, archive.needs())
            if not agree(planned):
                return planned, None
            settled = settle(
                self.archive_dir, journal, lambda: self.read_clock().now_ms, self.files
            )
            applying = PlanRun(
                self.archive_dir,
                archive,
                journal,
                self.files,
                self.read_clock,
                known=self.known,
            )
            return planned, applying.apply(planned, settled)

    def _plan(self, journal: Journal, needs: Iterable[Need]) -> Plan:
        clock = self.read_clock()
        known = self.known(None)
        facts = look(
            self.archive_dir,
            clock.now_ms,
            self.files,
            labels=known.labels,
            needs=(*needs, *known.needs),
            problems=journal.state.problems,
            total_bytes=known.total_bytes,
        )
        problem = None
        if not self.accept_clock:
            mark = running_archive(self.archive_dir, self.files)
            age = archive_age(mark, clock.uptime_ns)
            problem = clock_problem(clock, journal.state, newest_ms=newest_ms(facts), archive=age)
        return plan(facts, self.policies, clock.now_ms, held_back=problem)
