"""Application of a plan, step by step, with a line in the journal before and after each.

Before each step everything that may have changed since the plan is checked again: holds, needs and
the recording itself. The archive independently refuses to delete what a replay or the recorder
needs.

``settle`` completes the steps in the journal that a crash interrupted. The catalog is changed
before files are removed, so it shows how far a step had come. Before the catalog's change nothing
has happened, and the next plan decides again; after it the remaining files belong to no recording
and are removed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.protocol.enums import RecordingState
from aerolog.archive.retention.archive_access import RefusedError, base_of, names_of
from aerolog.archive.retention.errors import RetentionError
from aerolog.archive.retention.holds import step_lock
from aerolog.archive.retention.journal import (
    DONE,
    NOT_DONE,
    REFUSED,
    RUN_BEGIN,
    RUN_END,
    STEP_BEGIN,
    STEP_END,
    Journal,
)
from aerolog.archive.retention.needs import Lookup, PresentNeeds, Removal, nothing_known
from aerolog.archive.retention.plan import RECORDING, SEGMENTS, Kept, Step
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.retention.archive_access import ArchiveAccess
    from aerolog.archive.retention.clock import ClockReading
    from aerolog.archive.retention.facts import Need
    from aerolog.archive.retention.journal import Journal
    from aerolog.archive.retention.plan import Plan
    from aerolog.transport.memory.filesystem import FileSystem


def settle(
    archive_dir: str | Path,
    journal: Journal,
    now_ms: Callable[[], int],
    files: FileSystem,
) -> list[str]:
    """Complete the journal's unfinished steps; the caller is the only run.

    Args:
        archive_dir: the archive's folder.
        journal: the folder's journal.
        now_ms: returns the present time, epoch milliseconds.
        files: the file system to use.

    Returns:
        One line for each step about what was found and done.

    Raises:
        JournalDamagedError: the journal cannot be written.
        OSError: a file cannot be removed.
    """
    told = []
    for number, step in sorted(journal.state.unfinished.items()):
        with step_lock(archive_dir, files):
            limit = _limit(archive_dir, step, files)
            recording_id = int(step["recording_id"])
            if limit is None:
                removed, outcome = 0, NOT_DONE
                text = "it had not begun, and is planned anew"
            else:
                removed = _remove_below(archive_dir, recording_id, step, limit, files)
                outcome = DONE
                text = f"its change was made; {removed} files were left and are removed"
            done = outcome == DONE
            journal.append(
                STEP_END,
                now_ms(),
                step=number,
                outcome=outcome,
                files=int(step["files"]) if done else 0,
                bytes=int(step["bytes"]) if done else 0,
                text="cut off by a crash, " + text,
            )
        told.append(f"a step of recording {recording_id} was cut off by a crash: {text}")
    return told


def _limit(archive_dir: str | Path, step: dict[str, Any], files: FileSystem) -> int | None:
    """Return the position before which files belong to no recording, None for a step not begun.

    -1 stands for all files of the recording.
    """
    recording_id, new_start = int(step["recording_id"]), int(step["new_start_position"])
    whole = step["kind"] == RECORDING
    with CatalogReader.open(archive_dir, files) as catalog:
        if recording_id not in catalog:
            return -1 if whole and _is_deleted(catalog, recording_id) else None
        try:
            found = catalog.checked_entry(recording_id).descriptor
        except FileFormatError:
            return None
    same = found.start_timestamp == step["start_ms"] and found.stream_id == step["stream_id"]
    return new_start if same and not whole and found.start_position >= new_start else None


def _is_deleted(catalog: CatalogReader, recording_id: int) -> bool:
    """Return whether the catalog marks a recording as DELETED; INVALID ones are kept."""
    return any(
        entry.state == RecordingState.DELETED
        for entry in catalog.entries()
        if entry.descriptor.recording_id == recording_id
    )


def _remove_below(
    archive_dir: str | Path,
    recording_id: int,
    step: dict[str, Any],
    limit: int,
    files: FileSystem,
) -> int:
    """Remove the step's remaining files; detached ones only with the whole recording."""
    first = int(step["first_base"])
    removed = 0
    for name in names_of(files, archive_dir, recording_id):
        if limit < 0 or first <= base_of(name) < limit:
            try:
                files.remove(str(Path(archive_dir) / name))
            except FileNotFoundError:
                continue  # a running archive has removed it since
            removed += 1
    if removed:
        files.sync_dir(str(archive_dir))
    return removed


#: Most files in one request; holds and needs are checked again between two requests.
FILES_MAX: Final = 4096


@dataclass(slots=True)
class Applied:
    """The results of applying a plan.

    Attributes:
        files: number of deleted files.
        bytes: length of these files.
        done: requests that were carried out; a step that was divided counts once per request.
        kept: steps, or rests of steps, that were not carried out, and why.
        settled: steps that an earlier run had left unfinished, and their results.
    """

    files: int = 0
    bytes: int = 0
    done: list[Step] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """Return the results as JSON values."""
        return {
            "files": self.files,
            "bytes": self.bytes,
            "done": [step.row() for step in self.done],
            "kept": [one.row() for one in self.kept],
            "settled": self.settled,
        }


class PlanRun:
    """One run over a plan; the caller holds the run lock.

    Args:
        archive_dir: the archive's folder.
        archive: access to the archive.
        journal: the folder's journal.
        files: the file system to use.
        read_clock: reads the machine's clocks.
        known: looks up the present needs of exports and pipelines, before each request.
        files_max: most files in one request.
    """

    def __init__(
        self,
        archive_dir: str | Path,
        archive: ArchiveAccess,
        journal: Journal,
        files: FileSystem,
        read_clock: Callable[[], ClockReading],
        *,
        known: Lookup = nothing_known,
        files_max: int = FILES_MAX,
    ) -> None:
        self._archive_dir = archive_dir
        self._archive = archive
        self._journal = journal
        self._files = files
        self._read_clock = read_clock
        self._needs = PresentNeeds(
            archive_dir=archive_dir,
            files=files,
            known=known,
            archive=archive.needs,
            now_ms=lambda: read_clock().now_ms,
        )
        self._files_max = files_max
        self._result = Applied()

    def apply(self, plan: Plan, settled: Iterable[str] = ()) -> Applied:
        """Carry out a plan.

        Raises:
            JournalDamagedError: the journal cannot be written; nothing more is deleted.
            HoldsDamagedError: the holds have become unreadable.
            AerologError: the archive fails; the next run completes the step.
        """
        self._result.settled += settled
        clock = self._read_clock()
        with step_lock(self._archive_dir, self._files):
            self._journal.shorten(clock.now_ms)
            run = self._journal.state.runs + 1
            self._journal.append(
                RUN_BEGIN,
                clock.now_ms,
                run=run,
                boot=clock.boot,
                uptime_ns=clock.uptime_ns,
                steps=len(plan.steps),
                files=plan.files,
                bytes=plan.bytes,
            )
        try:
            for step in plan.steps:
                self._do(step)
        except BaseException as failure:
            # The step's own error matters more than the failure to record it in the journal.
            with suppress(RetentionError):
                self._end_run(run, f"{type(failure).__name__}: {failure}"[:500])
            raise
        self._end_run(run)
        return self._result

    def _end_run(self, run: int, error: str | None = None) -> None:
        with step_lock(self._archive_dir, self._files):
            self._journal.append(RUN_END, self._read_clock().now_ms, run=run, error=error)

    def _do(self, step: Step) -> None:
        """Carry out a step, divided when it has many files; after a refusal the rest is kept."""
        for part in _parts(step, self._archive.descriptor(step.recording_id), self._files_max):
            if not self._do_part(part):
                return

    def _do_part(self, step: Step) -> bool:
        with self._needs.step(_removal(step)) as need:
            kept = self._kept(step, need)
            if kept is not None:
                self._result.kept.append(kept)
                return False
            number = self._begin(step)
            try:
                step = self._ask(step)
            except RefusedError as refusal:
                kept = Kept(step.recording_id, step.start_position, "refused", str(refusal))
                self._result.kept.append(kept)
                self._end(number, step, REFUSED, 0, 0, str(refusal))
                return False
        self._archive.wait_gone()
        with step_lock(self._archive_dir, self._files):
            self._end(number, step, DONE, step.files, step.bytes, step.reason)
        self._result.done.append(step)
        self._result.files += step.files
        self._result.bytes += step.bytes
        return True

    def _ask(self, step: Step) -> Step:
        """Let the archive carry out a step, or as much of it as it permits.

        Raises:
            RefusedError: the archive permits nothing.
        """
        if step.kind == RECORDING:
            self._archive.purge_recording(step.recording_id)
            return step
        try:
            self._archive.purge_segments(step.recording_id, step.new_start_position)
        except RefusedError as refusal:
            bound = refusal.upper_bound
            if bound is None or not step.start_position < bound < step.new_start_position:
                raise
            less = _shorter(step, bound)
            self._archive.purge_segments(step.recording_id, bound)
            text = f"a replay reads from {bound} on"
            self._result.kept.append(Kept(step.recording_id, bound, "replay", text))
            return less
        return step

    # -- checks before a step ---------------------------------------------------------------------

    def _kept(self, step: Step, need: Need | None) -> Kept | None:
        """Return why a step must not be carried out any more, None when it may be."""
        recording_id = step.recording_id
        if need is not None:
            return Kept(recording_id, step.start_position, need.kind, need.text)
        found = self._archive.descriptor(recording_id)
        changed = _change(step, found)
        if changed is not None:
            return Kept(recording_id, step.start_position, "changed", changed)
        return None

    # -- the journal ------------------------------------------------------------------------------

    def _begin(self, step: Step) -> int:
        number = self._journal.state.steps + 1
        found = self._archive.descriptor(step.recording_id)
        if found is None:  # of an archive that runs: its other clients delete as well
            raise RetentionError(
                f"recording {step.recording_id} was purged while retention looked at it: plan again"
            )
        self._journal.append(
            STEP_BEGIN,
            self._read_clock().now_ms,
            step=number,
            first_base=found.segment_base(found.start_position),
            start_ms=found.start_timestamp,
            stream_id=found.stream_id,
            **step.row(),
        )
        return number

    def _end(self, number: int, step: Step, outcome: str, files: int, size: int, text: str) -> None:
        self._journal.append(
            STEP_END,
            self._read_clock().now_ms,
            step=number,
            recording_id=step.recording_id,
            outcome=outcome,
            files=files,
            bytes=size,
            text=text[:500],
        )


def _removal(step: Step) -> Removal:
    """Return what a step takes."""
    if step.kind == RECORDING:
        return Removal(recording_id=step.recording_id, stop_position=step.new_start_position)
    return Removal(recording_id=step.recording_id, before=step.new_start_position)


def _change(step: Step, found: RecordingDescriptor | None) -> str | None:
    """Return how a recording has changed since the plan so that the step no longer applies."""
    if found is None:
        return "it is gone already"
    if found.start_position != step.start_position:
        return f"its start has moved to {found.start_position} meanwhile"
    if step.kind == RECORDING and found.stop_position != step.new_start_position:
        return "it goes on again"
    return None


def _shorter(step: Step, new_start: int) -> Step:
    """Return a step that ends earlier, with an estimate of its files."""
    length = step.bytes // step.files if step.files else 0
    gone = min(step.files, -(-(new_start - step.start_position) // length)) if length else 0
    return replace(step, new_start_position=new_start, files=gone, bytes=gone * length)


def _parts(step: Step, found: RecordingDescriptor | None, files_max: int) -> Iterator[Step]:
    """Divide a step into requests of limited size; the last one removes a whole recording."""
    if found is None or step.files <= files_max:
        yield step
        return
    length = found.segment_file_length
    first = found.segment_base(found.start_position)
    end = (
        step.new_start_position
        if step.kind == SEGMENTS
        else found.segment_base(found.stop_position)
    )
    start, left = step.start_position, step.files
    for cut in range(first + files_max * length, end, files_max * length):
        files = min(files_max, left)
        left -= files
        yield replace(
            step,
            kind=SEGMENTS,
            start_position=start,
            new_start_position=cut,
            files=files,
            bytes=files * length,
        )
        start = cut
    yield replace(step, start_position=start, files=left, bytes=left * length)
