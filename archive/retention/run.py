"""A run: the lock, what an earlier run has left, the facts, a plan, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aerolog.archive.format.mark_file import running_archive
from aerolog.archive.retention.clock import clock_problem
from aerolog.archive.retention.folder_facts import archive_age, look, newest_ms
from aerolog.archive.retention.journal import Journal
from aerolog.archive.retention.planner import plan
from aerolog.archive.retention.retention_folder import run_lock
from aerolog.archive.retention.steps import Applied, PlanRun, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from aerolog.archive.retention.archive_access import ArchiveAccess
    from aerolog.archive.retention.clock import ClockReading
    from aerolog.archive.retention.facts import Need
    from aerolog.archive.retention.plan import Plan
    from aerolog.archive.retention.policies import Policies
    from aerolog.transport.memory.filesystem import FileSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What others than the folder know: the SQL catalog, the archive, the file system.

    Attributes:
        labels: recording id -> labels.
        needs: of exports, pipelines and replications elsewhere.
        problems: what could not be found out.
        total_bytes: the file system's size, None where it is not known.
    """

    labels: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    problems: tuple[str, ...] = ()
    total_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Retention of one archive's folder.

    Attributes:
        archive_dir: the archive's folder.
        policies: checked ones.
        files: the file system door.
        read_clock: the time.
        known: what others know, asked anew for each plan and before each request.
        accept_clock: believe the clock, whatever speaks against it.
    """

    archive_dir: str | Path
    policies: Policies
    files: FileSystem
    read_clock: Callable[[], ClockReading]
    known: Callable[[], Known] = Known
    accept_clock: bool = False

    def plan(self, needs: Iterable[Need] = ()) -> Plan:
        """What would go now; nothing is made or changed to find it out.

        Args:
            needs: more of them, such as those of a running archive.

        Raises:
            HoldsDamagedError: what is held is not known.
            FileNotFoundError: there is no catalog.
            FileFormatError: the catalog is damaged.
        """
        return self._plan(Journal.open(self.archive_dir, self.files), needs)

    def run(
        self, door: ArchiveAccess, agree: Callable[[Plan], bool] = lambda _plan: True
    ) -> tuple[Plan, Applied | None]:
        """Plan and apply, as the only run of the folder.

        Args:
            door: the archive.
            agree: is shown the plan and says whether to go on.

        Returns:
            The plan, and what has become of it; None when it was not agreed to.

        Raises:
            RetentionLockedError: another run is under way.
            RetentionError: of journal or holds.
            AerologError: the archive fails; the next run goes on with what was begun.
        """
        now_ms = self.read_clock().now_ms
        with run_lock(self.archive_dir, self.files, now_ms, what="aerolog retention apply"):
            journal = Journal.open(self.archive_dir, self.files)
            planned = self._plan(journal, door.needs())
            if not agree(planned):
                return planned, None
            settled = settle(
                self.archive_dir, journal, lambda: self.read_clock().now_ms, self.files
            )
            applying = PlanRun(
                self.archive_dir,
                door,
                journal,
                self.files,
                self.read_clock,
                needs=lambda: self.known().needs,
            )
            return planned, applying.apply(planned, settled)

    def _plan(self, journal: Journal, needs: Iterable[Need]) -> Plan:
        clock = self.read_clock()
        known = self.known()
        facts = look(
            self.archive_dir,
            clock.now_ms,
            self.files,
            labels=known.labels,
            needs=(*needs, *known.needs),
            problems=(*journal.state.problems, *known.problems),
            total_bytes=known.total_bytes,
        )
        problem = None
        if not self.accept_clock:
            mark = running_archive(self.archive_dir, self.files)
            problem = clock_problem(
                clock, journal.state, newest_ms=newest_ms(facts), archive=archive_age(mark)
            )
        return plan(facts, self.policies, clock.now_ms, held_back=problem)
