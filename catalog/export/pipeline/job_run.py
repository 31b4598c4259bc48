"""A run of a job from its file to its report."""

from __future__ import annotations

import os
import time
import uuid
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, Protocol

from aerolog.catalog.arrow.arrow_recording import record_batches
from aerolog.catalog.decoders import DecoderError, make_decoder, sampled_decoder
from aerolog.catalog.export.manifest import Manifest, RunEntry
from aerolog.catalog.export.pipeline.columns import described, row_schema, table_schema
from aerolog.catalog.export.pipeline.commit import Commits, run_of
from aerolog.catalog.export.pipeline.errors import (
    DamagedInputError,
    JobFileError,
    PipelineError,
    RunInProgressError,
    TargetError,
    TooManyRejectedError,
)
from aerolog.catalog.export.pipeline.job import variables_named
from aerolog.catalog.export.pipeline.load_plan import LOST, Plan, make_plan
from aerolog.catalog.export.pipeline.output import (
    STAGING,
    claim,
    explained,
    identity,
    open_output,
    refuse_foreign,
)
from aerolog.catalog.export.pipeline.run_report import RunReport, commit_report, first_rejects
from aerolog.catalog.export.pipeline.unit_writer import WriteOptions
from aerolog.catalog.index.errors import CatalogError, SearchError
from aerolog.catalog.index.job_runs import (
    BEAT_S,
    RunTotals,
    beat,
    begin_run,
    fail_run,
    finish_run,
    forget,
    known_recordings,
    load_marks,
)
from aerolog.catalog.index.recording_catalog import RecordingCatalog, check_archive_dir
from aerolog.catalog.index.search import check_ids, search
from aerolog.catalog.index.search_text import parse_search
from aerolog.catalog.locations import local_folder, open_place
from aerolog.transport.errors import ArchiveError
from aerolog.transport.secrets import without_secrets
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from aerolog.catalog.decoders import Decoder
    from aerolog.catalog.export.pipeline.job import Job
    from aerolog.catalog.export.pipeline.units import Unit, UnitResult
    from aerolog.catalog.export.store import Store


@dataclass(frozen=True, slots=True)
class Work:
    """The work that an executor is given.

    Attributes:
        units: of the plan, which are loaded.
        decoder: of the messages; its schema is known.
        how: options for writing files.
        job: whose rules and Spark configuration apply.
    """

    units: Sequence[Unit]
    decoder: Decoder
    how: WriteOptions
    job: Job


class Executor(Protocol):
    """Stages the files of units. Spark does so, and tests do it in their own process."""

    def start(self) -> None:
        """Get ready to run units.

        Raises:
            SparkRunError: that is not possible.
        """

    def check(self, rows: pa.Schema) -> None:
        """Check the job's rules and its date expression against the columns of rows.

        Args:
            rows: the columns, see ``columns.row_schema``.

        Raises:
            RuleError: one of them is not understood; no task has run.
        """

    def run(self, work: Work, progress: Callable[[int], None]) -> list[UnitResult]:
        """Stage the files of all units.

        Args:
            work: whose units are loaded.
            progress: called with the bytes of recordings in the units that are done.

        Raises:
            SparkRunError: a task was given up.
        """

    def close(self) -> None:
        """Release all resources; a second call does nothing."""


class Observer(Protocol):
    """Receives the progress of a run."""

    def planned(self, plan: Plan) -> None:
        """Take note of what the run will do."""

    def done(self, length: int) -> None:
        """Take note of how many bytes of the plan are staged."""


class NoObserver:
    """An observer that ignores all progress."""

    def planned(self, plan: Plan) -> None:
        """See ``Observer``."""

    def done(self, length: int) -> None:
        """See ``Observer``."""


@contextmanager
def opened_catalog(job: Job) -> Iterator[RecordingCatalog]:
    """Open the job's catalog, after the folders of local archives were read into it."""
    from aerolog.catalog.index.folder_sync import sync_folder

    check_archive_dir(job.catalog, job.archive_dir)
    with RecordingCatalog.open(job.catalog, archive_dir=job.archive_dir) as catalog:
        if job.archive_dir is not None:
            sync_folder(catalog, job.archive_dir)
        if job.sync:
            for place in known_places(catalog):
                folder = local_folder(place)
                if folder is None or _same(folder, job.archive_dir):
                    continue
                if (Path(folder) / "archive.catalog").exists():
                    sync_folder(catalog, folder)
        yield catalog


@contextmanager
def _opened_for(job: Job) -> Iterator[RecordingCatalog]:
    check_decoder(job)
    with opened_catalog(job) as catalog:
        yield catalog


def known_places(catalog: RecordingCatalog) -> list[str]:
    """Return the places of all archives in a catalog."""
    from sqlalchemy import select

    from aerolog.catalog.index.models import Archive

    with catalog.session() as session:
        return list(session.scalars(select(Archive.place).order_by(Archive.place)))


def plan_job(job: Job, executor: Executor | None = None) -> tuple[Plan, list[str]]:
    """Return what a run would do now, and the ids of runs that it would finish first.

    The output is not changed. The catalog is brought up to date with local archives.

    Args:
        job: that would be run.
        executor: checks the rules and the date expression, when the job has any and there is
            something to load; it is started for that, and closed.

    Raises:
        PipelineError: the run could not begin.
        CatalogError: the catalog cannot be used.
    """
    with (
        variables_named(job.variables),
        _opened_for(job) as catalog,
        explained(job.output.to),
    ):
        store = open_output(job.output.to)
        found = identity(store, job.output.to)
        commits = Commits(catalog, store, job)
        if found is None:
            refuse_foreign(store, job.output.to)
        elif found["job"] != job.name:
            claim(store, job.output.to, job.name)  # Fails when the output belongs to another job.
        undone = commits.undone()
        planned = _planned(job, catalog, commits)
        if planned.units and executor is not None:
            _check_columns(job, planned, undone[-1] if undone else commits.latest(), executor)
        return planned, [run_of(manifest).run_id for manifest in undone]


def _check_columns(job: Job, planned: Plan, latest: Manifest | None, executor: Executor) -> None:
    """Check what a run checks before its first task: columns, rules and the date expression."""
    decoder = known_decoder(job, planned, latest)
    rows = row_schema(decoder)
    check_schema(job, decoder, rows, latest)
    if not job.rules and job.output.date is None:
        return
    try:
        executor.start()
        executor.check(rows)
    finally:
        executor.close()


def run_job(
    job: Job, executor: Executor, *, restart: bool = False, observer: Observer | None = None
) -> RunReport:
    """Load what is new.

    Args:
        job: that is run.
        executor: loads the units; it is started when there are any, and closed at the end.
        restart: True to forget the job's marks first; the target must be empty then.
        observer: receives the progress of the run.

    Raises:
        PipelineError: nothing was loaded; see the subclasses.
        CatalogError: the catalog cannot be used.
    """
    with variables_named(job.variables), ExitStack() as stack:
        stack.callback(executor.close)
        catalog = stack.enter_context(_opened_for(job))
        store = open_output(job.output.to)
        begun = time.gmtime(catalog.clock.now_epoch_ms() / 1000)
        run_id = f"{time.strftime('%Y%m%dT%H%M%SZ', begun)}-{uuid.uuid4().hex[:8]}"
        owner = begin_run(catalog, job.name, run_id)
        if owner is not None:
            raise RunInProgressError(
                f"job {job.name} is run by process {owner.pid} of {owner.host}; wait until it ends"
            )
        run = _Run(job, executor, catalog, store, run_id, observer or NoObserver())
        with run.noting_failure(), explained(job.output.to):
            return run.load(restart=restart)


def check_decoder(job: Job) -> Decoder:
    """Return the job's decoder, whose schema may have to be inferred yet.

    Raises:
        JobFileError: there is none of that name, or an option is of no use.
    """
    try:
        return make_decoder(job.decoder, job.decoder_options)
    except DecoderError as error:
        raise JobFileError(job.path, "decode", str(error)) from error


class _Run:
    def __init__(
        self,
        job: Job,
        executor: Executor,
        catalog: RecordingCatalog,
        store: Store,
        run_id: str,
        observer: Observer,
    ) -> None:
        self._job = job
        self._executor = executor
        self._catalog = catalog
        self._store = store
        self._run_id = run_id
        self._observer = observer
        self._commits = Commits(catalog, store, job)
        self._clock = catalog.clock
        self._begun_ns: int = self._clock.now_ns()
        self._spark_seconds = 0.0
        self._committing = False

    @contextmanager
    def noting_failure(self) -> Iterator[None]:
        """Notes why the run failed; once it commits, the next run finishes it."""
        try:
            with _Heartbeat(self._catalog, self._run_id):
                yield
        except CatalogError:
            raise  # The catalog itself fails, so that nothing can be noted in it.
        except BaseException as error:
            if not self._committing:
                reason = self._job.as_written(str(error)) or type(error).__name__
                fail_run(self._catalog, self._run_id, reason)
            raise

    def load(self, *, restart: bool) -> RunReport:
        """Load everything that is new, from the plan to the commit."""
        job, to = self._job, self._job.output.to
        claim(self._store, to, job.name)
        if restart:
            self._forget()
        recovered = self._commits.recover()
        latest = self._commits.latest()
        # The commits say what is loaded. Marks without any commit show that commits are missing.
        marks = load_marks(self._catalog, job.name, self._commits.output)
        if latest is None and any(marks.values()):
            raise TargetError(
                f"{without_secrets(to)} is empty, though this job has loaded recordings into it;"
                " restore it, or load all of them again with --restart"
            )
        plan = _planned(job, self._catalog, self._commits)
        self._observer.planned(plan)
        if job.output.on_purged == "fail":
            lost = [one for one in plan.recordings if one.status == LOST]
            if lost:
                raise DamagedInputError("; ".join(Plan(tuple(lost)).remarks()))
        if not plan.units:
            return self._nothing_new(plan, recovered)
        decoder = known_decoder(job, plan, latest)
        rows = row_schema(decoder)
        check_schema(job, decoder, rows, latest)
        results = self._stage(plan, decoder, rows, latest)
        manifest = self._manifest(decoder, rows, results, latest)
        report = commit_report(
            manifest,
            target=self._commits.output,
            conditions=dict(job.conditions),
            plan=plan,
            rejects=first_rejects(results),
            seconds=self._seconds_since(self._begun_ns),
            spark_seconds=self._spark_seconds,
            recovered=recovered,
        )
        self._check_rejected(report)
        self._commits.check_staged(manifest)
        if not beat(self._catalog, self._run_id):
            raise RunInProgressError(
                f"another process took job {job.name} over, since this one was silent for too long"
            )
        self._committing = True
        problems = self._commits.commit(manifest, report)
        return replace(report, remarks=(*report.remarks, *problems))

    def _seconds_since(self, begun_ns: int) -> float:
        return float(self._clock.now_ns() - begun_ns) / NS_PER_S

    def _forget(self) -> None:
        if self._commits.latest() is not None:
            raise TargetError(
                f"{without_secrets(self._job.output.to)} has commits: to load all of it again, name"
                " an empty place or empty this one"
            )
        forget(self._catalog, self._job.name, self._commits.output)

    def _nothing_new(self, plan: Plan, recovered: tuple[str, ...]) -> RunReport:
        report = RunReport(
            job=self._job.name,
            run_id=self._run_id,
            target=self._commits.output,
            recordings=plan.counts(),
            conditions=dict(self._job.conditions),
            seconds=self._seconds_since(self._begun_ns),
            recovered=recovered,
            remarks=tuple(plan.remarks()),
        )
        finish_run(self._catalog, self._run_id, RunTotals(0, 0, 0, report.to_json()))
        return report

    def _stage(
        self, plan: Plan, decoder: Decoder, rows: pa.Schema, latest: Manifest | None
    ) -> list[UnitResult]:
        output = self._job.output
        how = WriteOptions(
            to=output.to,
            run_id=self._run_id,
            sequence=1 if latest is None else run_of(latest).sequence + 1,
            rows=rows,
            date_column=output.date_column,
            compression=output.compression,
            compression_level=output.compression_level,
            kept_rules=tuple(one.name for one in self._job.rules if one.on_broken == "keep"),
        )
        begun_ns = self._clock.now_ns()
        self._executor.start()
        self._spark_seconds = self._seconds_since(begun_ns)
        count = len(plan.units)
        self._executor.check(rows)
        work = Work(plan.units, decoder, how, self._job)
        results = self._executor.run(work, self._observer.done)
        results.sort(key=lambda one: one.index)
        failures = [one.failure for one in results if one.failure is not None]
        if failures:
            self._store.remove_tree(f"{STAGING}/{self._run_id}")
            more = f" (and {len(failures) - 1} more like it)" if len(failures) > 1 else ""
            raise DamagedInputError(f"{failures[0]}{more}; nothing was loaded")
        missing = set(range(count)) - {one.index for one in results}
        if missing or len(results) != count:
            raise PipelineError(f"{len(results)} of {count} units came back; nothing was loaded")
        return results

    def _manifest(
        self,
        decoder: Decoder,
        rows: pa.Schema,
        results: list[UnitResult],
        latest: Manifest | None,
    ) -> Manifest:
        kept: dict[str, int] = {}
        for result in results:
            for name, number in result.kept:
                kept[name] = kept.get(name, 0) + number
        made = Manifest(
            {
                "decoder": {"name": decoder.name, "options": dict(decoder.options)},
                "schema": described(table_schema(rows, self._job.output.date_column)),
            },
            run=RunEntry(
                sequence=1 if latest is None else run_of(latest).sequence + 1,
                run_id=self._run_id,
                job=self._job.name,
                time_ms=self._clock.now_epoch_ms(),
                kept=kept,
            ),
        )
        for result in results:
            made.add(result.ranges, result.files)
        return made

    def _check_rejected(self, report: RunReport) -> None:
        seen = report.rows + report.rejected
        if seen and report.rejected / seen > self._job.output.rejected_max:
            self._store.remove_tree(f"{STAGING}/{self._run_id}")
            recording_id, position, reason = report.rejects[0]
            raise TooManyRejectedError(
                f"{report.rejected} of {seen} rows were rejected, output.rejected-max is"
                f" {self._job.output.rejected_max:g}; nothing was loaded. The first is at position"
                f" {position} of recording {recording_id}: {reason}"
            )


def known_decoder(job: Job, plan: Plan, latest: Manifest | None) -> Decoder:
    """The job's decoder; one that infers its schema does so once for a target."""
    decoder = check_decoder(job)
    if not decoder.needs_sample:
        return decoder
    if latest is not None and latest.layout["decoder"]["name"] == job.decoder:
        return make_decoder(job.decoder, latest.layout["decoder"]["options"])
    try:
        return sampled_decoder(decoder, _sample(plan, job.output.skip_damage))
    except DecoderError as error:
        raise JobFileError(job.path, "decode", str(error)) from error


def check_schema(job: Job, decoder: Decoder, rows: pa.Schema, latest: Manifest | None) -> None:
    """Check that a target has rows of these columns, or none.

    Raises:
        TargetError: it has rows of others.
    """
    wanted = described(table_schema(rows, job.output.date_column))
    if latest is None:
        return
    unit = decoder.options.get("time_unit")
    unit_before = latest.layout["decoder"]["options"].get("time_unit", "us")
    if unit not in {None, unit_before} and latest.layout["decoder"]["name"] == decoder.name:
        # A duration is a whole number in a table, which does not say of what.
        raise TargetError(
            f"{without_secrets(job.output.to)} has times that were decoded to {unit_before}, and"
            f" not to {unit}. Set the decoder's time_unit to the one before, or load into another"
            " place"
        )
    if latest.layout["schema"] == wanted:
        return
    before, now = dict(latest.layout["schema"]), dict(wanted)
    changes = [
        f"{name} was {before.get(name, 'not there')} and is {now.get(name, 'gone')}"
        for name in {**before, **now}
        if before.get(name) != now.get(name)
    ]
    raise TargetError(
        f"{without_secrets(job.output.to)} has rows of another schema:"
        f" {'; '.join(changes) or 'columns are in another order'}. Set the decoder's schema to"
        " the one before, or load into another place"
    )


def _planned(job: Job, catalog: RecordingCatalog, commits: Commits) -> Plan:
    try:
        wanted = parse_search(dict(job.conditions))
        check_ids(catalog, wanted, "the catalog")
        found = search(catalog, wanted)
    except (SearchError, ArchiveError) as error:
        raise JobFileError(job.path, "recordings", str(error)) from error
    return make_plan(
        found,
        commits.loaded(known_recordings(catalog)),
        unit_bytes=job.output.unit_bytes,
        time_source=job.time_source,
    )


def _sample(plan: Plan, skip_damage: bool) -> Iterator[pa.RecordBatch]:
    """Batches of the messages that a run will read, from the first one on."""
    for unit in plan.units:
        with open_place(unit.place) as folder:
            for part in unit.slices:
                yield from record_batches(
                    folder.recording(part.recording_id),
                    from_position=part.from_position,
                    until_position=part.until_position,
                    skip_damage=skip_damage,
                )


def _same(folder: str, archive_dir: str | None) -> bool:
    return archive_dir is not None and os.path.realpath(folder) == os.path.realpath(archive_dir)


class _Heartbeat:
    """Notes in the catalog every few seconds that a run is alive, on a thread of its own."""

    def __init__(self, catalog: RecordingCatalog, run_id: str) -> None:
        self._stop: Final = Event()
        self._thread = Thread(target=self._beat, args=(catalog, run_id), daemon=True)

    def _beat(self, catalog: RecordingCatalog, run_id: str) -> None:
        while not self._stop.wait(BEAT_S):
            try:
                beat(catalog, run_id)
            except BaseException:  # noqa: BLE001 - the commit tries again and raises the error
                return

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
