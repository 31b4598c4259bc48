"""The progress of jobs: their runs, one at a time, and marks by recording and output.

The commits in an output are the authority on what the output has. The tables repeat each commit in
one transaction, so that it can be searched. A commit that the tables lack, after a crash or with
another database, is applied by the next run.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import delete, func, select, text, update

from aerolog.catalog.index.errors import JournalError
from aerolog.catalog.index.facts import forget_job
from aerolog.catalog.index.models import (
    COMPLETE,
    FAILED,
    RUNNING,
    Archive,
    Export,
    ExportFile,
    Mark,
    PipelineRun,
    Recording,
    recording_key,
)
from aerolog.transport.memory.processes import process_status
from aerolog.transport.secrets import repr_without_secrets, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy.orm import Session

    from aerolog.catalog.index.recording_catalog import RecordingCatalog

_RUN_FIELDS: Final = (
    *("run_id", "job", "state", "started_ms", "finished_ms"),
    *("rows", "bytes", "rejected", "report"),
)
_FILE_FIELDS: Final = ("from_position", "until_position", "rows", "bytes", "checksum", "state")
_EXPORT_FIELDS: Final = (*_FILE_FIELDS, "time_ms")

#: A run on another machine that has sent no heartbeat for this long is taken to be dead.
LEASE_MS: Final = 60_000
BEAT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that executes a run.

    Attributes:
        host: the name of its machine.
        pid: its process id on that machine.
        started: its start time in the kernel's ticks, which reveals a process id that is used
            again.
        beat_ms: the time of its last heartbeat, epoch milliseconds.
    """

    host: str
    pid: int
    started: int
    beat_ms: int

    @classmethod
    def this_process(cls, now_ms: int) -> Owner:
        """The owner that stands for this process."""
        pid = os.getpid()
        return cls(socket.gethostname(), pid, _started(pid) or 0, now_ms)

    def is_dead(self, now: int) -> bool:
        """Whether the process has ended or has sent no heartbeat for too long."""
        if self.host == socket.gethostname():
            return _started(self.pid) != self.started
        return now - self.beat_ms > LEASE_MS

    def to_json(self) -> str:
        """The JSON text that the table of runs holds while the run is active."""
        return json.dumps(asdict(self))


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class AppliedRange:
    """The part of a commit that belongs to one recording.

    Attributes:
        place: the archive's place.
        recording_id: the recording's id in that archive.
        from_position: the position where the part begins.
        until_position: the position where the part ends, which is the new mark.
        rows: the number of rows loaded.
        files: path -> rows, bytes and checksum of the files that hold the rows.
    """

    place: str
    recording_id: int
    from_position: int
    until_position: int
    rows: int
    files: Mapping[str, tuple[int, int, str]]


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class KnownRecording:
    """A recording of a catalog: its archive's place, its id there, and when it began."""

    place: str
    recording_id: int
    start_time_ms: int


@dataclass(frozen=True, slots=True)
class RunTotals:
    """The totals of a run that has ended."""

    rows: int
    bytes: int
    rejected: int
    report: str


def begin_run(catalog: RecordingCatalog, job: str, run_id: str) -> Owner | None:
    """Note that a run begins, unless another run of its job is active.

    Runs whose process is dead are noted as failed.

    Returns:
        The process that executes another run of the job; None when this run has begun.
    """
    with catalog.session(writes=True) as session:
        if session.get_bind().dialect.name == "postgresql":
            session.execute(text("LOCK TABLE pipeline_runs IN SHARE ROW EXCLUSIVE MODE"))
        now = catalog.clock.now_epoch_ms()
        going_on = select(PipelineRun).where(PipelineRun.job == job, PipelineRun.state == RUNNING)
        for run in session.scalars(going_on):
            owner = _owner(run.report)
            if owner is not None and not owner.is_dead(now):
                return owner
            run.state, run.finished_ms = FAILED, now
            run.report = json.dumps({"error": "its process ended without a word"})
        session.add(
            PipelineRun(
                run_id=run_id,
                job=job,
                state=RUNNING,
                started_ms=now,
                finished_ms=None,
                rows=0,
                bytes=0,
                rejected=0,
                report=Owner.this_process(now).to_json(),
            )
        )
    return None


def beat(catalog: RecordingCatalog, run_id: str) -> bool:
    """Send a run's heartbeat; False when another process has taken over its job."""
    with catalog.session(writes=True) as session:
        changed = session.execute(
            update(PipelineRun)
            .where(PipelineRun.run_id == run_id, PipelineRun.state == RUNNING)
            .values(report=Owner.this_process(catalog.clock.now_epoch_ms()).to_json())
        )
        return bool(changed.rowcount)  # type: ignore[attr-defined]


def fail_run(catalog: RecordingCatalog, run_id: str, reason: str) -> None:
    """Note that a run ended without a commit."""
    with catalog.session(writes=True) as session:
        session.execute(
            update(PipelineRun)
            .where(PipelineRun.run_id == run_id, PipelineRun.state == RUNNING)
            .values(
                state=FAILED,
                finished_ms=catalog.clock.now_epoch_ms(),
                report=json.dumps({"error": without_secrets(reason)}),
            )
        )


def finish_run(catalog: RecordingCatalog, run_id: str, totals: RunTotals) -> None:
    """Note that a run without a commit is complete because it found nothing to load."""
    with catalog.session(writes=True) as session:
        session.execute(
            update(PipelineRun)
            .where(PipelineRun.run_id == run_id)
            .values(state=COMPLETE, finished_ms=catalog.clock.now_epoch_ms(), report=totals.report)
        )


def load_marks(catalog: RecordingCatalog, job: str, output: str) -> dict[tuple[str, int], int]:
    """The positions up to which a job has loaded recordings, by place and recording id."""
    with catalog.session() as session:
        rows = session.execute(
            select(Archive.place, Recording.recording_id, Mark.position)
            .join(Recording, Mark.recording_fk == Recording.id)
            .join(Archive, Recording.archive_fk == Archive.id)
            .where(Mark.job == job, Mark.output == output)
        )
        return {(place, recording_id): position for place, recording_id, position in rows}


def known_recordings(catalog: RecordingCatalog) -> list[KnownRecording]:
    """All recordings of a catalog."""
    with catalog.session() as session:
        rows = session.execute(
            select(Archive.place, Recording.recording_id, Recording.start_time_ms).join(
                Recording, Recording.archive_fk == Archive.id
            )
        )
        return [KnownRecording(*row) for row in rows]


def forget(catalog: RecordingCatalog, job: str, output: str | None = None) -> tuple[int, list[str]]:
    """Forget a job's marks, and its ended runs unless an output is named.

    Retention keeps nothing for a job that is forgotten, and a run of it begins with what the
    commits in its output say.

    Args:
        catalog: the catalog that has the job.
        job: the job's name.
        output: the output whose marks are forgotten, None for all of them.

    Returns:
        The number of marks that there were, and the archives in whose journals this could not be
        noted, with the reasons: a rebuild of the catalog brings their marks back.
    """
    from aerolog.catalog.index.journal import record

    with catalog.session() as session:
        marked = (
            select(Archive.place)
            .join(Recording, Recording.archive_fk == Archive.id)
            .join(Mark, Mark.recording_fk == Recording.id)
            .where(Mark.job == job)
        )
        places = sorted(set(session.scalars(marked)))
        count = select(func.count()).select_from(Mark).where(Mark.job == job)
        if output is not None:
            count = count.where(Mark.output == output)
        marks = session.scalar(count) or 0
    problems = []
    for place in places:
        if "://" not in place:
            try:
                record(catalog, place, "job-gone", job=job, output=output)
            except JournalError as error:
                problems.append(str(error))
    with catalog.session(writes=True) as session:
        forget_job(session, job, output)
    return marks, problems


def applied_runs(catalog: RecordingCatalog, job: str, output: str) -> set[str]:
    """The ids of the runs whose commits are in the tables."""
    with catalog.session() as session:
        return set(
            session.scalars(
                select(Mark.run_id)
                .where(Mark.job == job, Mark.output == output)
                .union(
                    select(PipelineRun.run_id).where(
                        PipelineRun.job == job, PipelineRun.state == COMPLETE
                    )
                )
            )
        )


def apply_commit(
    catalog: RecordingCatalog,
    *,
    job: str,
    output: str,
    run_id: str,
    time_ms: int,
    ranges: Iterable[AppliedRange],
    totals: RunTotals,
) -> bool:
    """Note a commit in one transaction: marks, exports with their files, and the run.

    Args:
        catalog: the catalog that gets the commit.
        job: the name of the job.
        output: the target that the job writes to.
        run_id: the id of the run.
        time_ms: the time of the commit, epoch milliseconds.
        ranges: the ranges that were loaded, those of one recording in the order of positions.
        totals: the totals of the run.

    Returns:
        False when the commit had been noted before; nothing was changed then.
    """
    with catalog.session(writes=True) as session:
        run = session.get(PipelineRun, run_id, with_for_update=True)
        if run is not None and run.state == COMPLETE:
            return False
        if run is None:
            run = PipelineRun(run_id=run_id, job=job, started_ms=time_ms)
            session.add(run)
        run.state, run.finished_ms = COMPLETE, max(time_ms, run.started_ms)
        run.rows, run.bytes, run.rejected = totals.rows, totals.bytes, totals.rejected
        run.report = totals.report
        session.flush()
        _apply_all(session, ranges, (job, output, run_id, time_ms))
    return True


def apply_ranges(
    catalog: RecordingCatalog,
    *,
    job: str,
    output: str,
    run_id: str,
    time_ms: int,
    ranges: Iterable[AppliedRange],
) -> None:
    """Note ranges of a commit that has been noted before; see `apply_commit`."""
    with catalog.session(writes=True) as session:
        _apply_all(session, ranges, (job, output, run_id, time_ms))


def drop_progress(
    catalog: RecordingCatalog, job: str, output: str, recordings: Iterable[tuple[str, int]]
) -> None:
    """Delete what the tables have of a job's output for recordings, by place and recording id."""
    with catalog.session(writes=True) as session:
        for place, recording_id in recordings:
            key = session.scalar(recording_key(place, recording_id))
            if key is None:
                continue
            mark = session.get(Mark, (job, key, output))
            if mark is not None:
                session.delete(mark)
            export = _export(session, key, output)
            if export is not None:
                session.execute(delete(ExportFile).where(ExportFile.export_fk == export.id))
                session.execute(delete(Export).where(Export.id == export.id))


def journal_commit(
    catalog: RecordingCatalog, *, job: str, output: str, run_id: str, ranges: Iterable[AppliedRange]
) -> list[str]:
    """Note an applied commit in the journals of its archives too, for a catalog that is rebuilt.

    Returns:
        What could not be noted, and why: an archive is not on this machine, or its folder is
        read-only. Nothing is lost by that, as the output has the commit.
    """
    from aerolog.catalog.index.journal import Fact, record_all

    with catalog.session() as session:
        run = session.get(PipelineRun, run_id)
        facts: dict[str, list[Fact]] = {}
        files: dict[tuple[str, int], set[str]] = {}
        for part in ranges:
            if "://" not in part.place:
                files.setdefault((part.place, part.recording_id), set()).update(part.files)
        for (place, recording_id), paths in files.items():
            key = session.scalar(recording_key(place, recording_id))
            if key is not None:
                found = _facts(session, key, recording_id, sorted(paths), (job, output))
                facts.setdefault(place, []).extend(Fact(place, *one) for one in found)
        if run is not None and facts:
            values = {name: getattr(run, name) for name in _RUN_FIELDS}
            place = min(facts)
            facts[place].append(Fact(place, "run", values))
    problems = []
    for place in sorted(facts):
        try:
            record_all(catalog, facts[place])
        except JournalError as error:
            problems.append(str(error))
    return problems


def list_runs(
    catalog: RecordingCatalog, job: str | None = None, limit: int = 20
) -> list[PipelineRun]:
    """Runs, the latest first."""
    found = select(PipelineRun).order_by(PipelineRun.started_ms.desc(), PipelineRun.run_id)
    if job is not None:
        found = found.where(PipelineRun.job == job)
    with catalog.session() as session:
        runs = list(session.scalars(found.limit(limit)))
        session.expunge_all()
        return runs


def run_error(run: PipelineRun, now_ms: int) -> str | None:
    """The reason why a run failed; None when it did not.

    Args:
        run: the run's row.
        now_ms: the time, epoch milliseconds, at which a silent process is judged to be dead.
    """
    if run.state == RUNNING:
        owner = _owner(run.report)
        dead = owner is None or owner.is_dead(now_ms)
        return "its process ended without a word" if dead else None
    if run.state == FAILED:
        return str(_json(run.report).get("error", ""))
    return None


def _apply_all(
    session: Session, ranges: Iterable[AppliedRange], commit: tuple[str, str, str, int]
) -> None:
    for part in ranges:
        key = session.scalar(recording_key(part.place, part.recording_id))
        if key is not None:  # None: the catalog does not have the recording
            _apply(session, key, part, commit)


def _apply(
    session: Session, key: int, part: AppliedRange, commit: tuple[str, str, str, int]
) -> None:
    job, output, run_id, time_ms = commit
    mark = session.get(Mark, (job, key, output))
    if mark is None:
        mark = Mark(job=job, recording_fk=key, output=output, position=part.until_position)
        session.add(mark)
    mark.position = max(mark.position, part.until_position)
    mark.run_id, mark.time_ms = run_id, time_ms
    export = _export(session, key, output)
    if export is None:
        export = Export(
            recording_fk=key,
            target=output,
            from_position=part.from_position,
            until_position=part.until_position,
            rows=0,
            bytes=0,
            checksum=None,
        )
        session.add(export)
    export.from_position = min(export.from_position, part.from_position)
    export.until_position = max(export.until_position, part.until_position)
    export.rows += part.rows
    export.bytes += sum(size for _, size, _ in part.files.values())
    export.state, export.time_ms = COMPLETE, time_ms
    session.flush()
    for path, (rows, size, checksum) in part.files.items():
        file = session.get(ExportFile, (export.id, path))
        if file is None:
            file = ExportFile(export_fk=export.id, path=path)
            file.from_position, file.until_position = part.from_position, part.until_position
            session.add(file)
        file.from_position = min(file.from_position, part.from_position)
        file.until_position = max(file.until_position, part.until_position)
        file.rows, file.bytes, file.checksum, file.state = rows, size, checksum, COMPLETE
    session.flush()


def _facts(
    session: Session, key: int, recording_id: int, paths: list[str], where: tuple[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The current rows of a recording in an output, as facts of the journal."""
    job, output = where
    named = {"recording_id": recording_id}
    mark = session.get(Mark, (job, key, output))
    if mark is not None:
        values = {name: getattr(mark, name) for name in ("position", "run_id", "time_ms")}
        yield "mark", named | {"job": job, "output": output} | values
    export = _export(session, key, output)
    if export is None:
        return
    values = {name: getattr(export, name) for name in _EXPORT_FIELDS}
    yield "export", named | {"target": output} | values
    for path in paths:
        file = session.get(ExportFile, (export.id, path))
        if file is not None:
            values = {name: getattr(file, name) for name in _FILE_FIELDS}
            yield "export-file", named | {"target": output, "path": path} | values


def _export(session: Session, key: int, output: str) -> Export | None:
    return session.scalar(select(Export).where(Export.recording_fk == key, Export.target == output))


def _owner(report: str | None) -> Owner | None:
    values = _json(report)
    try:
        return Owner(values["host"], values["pid"], values["started"], values["beat_ms"])
    except KeyError:
        return None


def _json(report: str | None) -> dict[str, Any]:
    try:
        values = json.loads(report or "{}")
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _started(pid: int) -> int | None:
    """The start time of a process of this machine in ticks; None when no process has the id."""
    status = process_status(pid)
    return None if status is None or status.state == "Z" else status.start_ticks
