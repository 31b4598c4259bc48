"""The state of a job: its last runs, and what the next run would load."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerolog.catalog.export.pipeline.job_run import plan_job
from aerolog.catalog.index.job_runs import list_runs, run_error
from aerolog.catalog.index.models import FAILED, RUNNING
from aerolog.catalog.index.recording_catalog import RecordingCatalog

if TYPE_CHECKING:
    from aerolog.catalog.export.pipeline.job import Job
    from aerolog.catalog.export.pipeline.load_plan import Plan
    from aerolog.catalog.index.models import PipelineRun

RUNS = 10


@dataclass(frozen=True, slots=True)
class RunState:
    """A run as the catalog has it.

    Attributes:
        run_id: names the run.
        job: name of the job.
        state: ``running``, ``complete`` or ``failed``; ``failed`` also where its process is gone.
        started_ms: UTC epoch milliseconds.
        finished_ms: None while it runs.
        rows: number of rows that were loaded.
        bytes: length of its files.
        rejected: number of messages and rows that were rejected.
        error: why it failed, None when it did not.
        report: of the run, as `RunReport` gives it; empty where there is none.
    """

    run_id: str
    job: str
    state: str
    started_ms: int
    finished_ms: int | None
    rows: int
    bytes: int
    rejected: int
    error: str | None
    report: dict[str, Any]


@dataclass(frozen=True, slots=True)
class JobState:
    """The state of a job.

    Attributes:
        runs: the latest first.
        plan: what a run would do now.
        unfinished: ids of runs that were interrupted behind their commits; the next run finishes
            them.
    """

    runs: tuple[RunState, ...]
    plan: Plan
    unfinished: tuple[str, ...]


def job_state(job: Job, *, runs: int = RUNS) -> JobState:
    """The state of a job; raises what ``plan_job`` raises."""
    plan, unfinished = plan_job(job)
    with RecordingCatalog.open(job.catalog, archive_dir=job.archive_dir) as catalog:
        return JobState(run_states(catalog, job.name, runs), plan, tuple(unfinished))


def run_states(
    catalog: RecordingCatalog, job: str | None = None, limit: int = RUNS
) -> tuple[RunState, ...]:
    """Runs of a job or of all, the latest first."""
    now_ms = catalog.clock.now_epoch_ms()
    return tuple(_run_state(run, now_ms) for run in list_runs(catalog, job, limit))


def _run_state(run: PipelineRun, now_ms: int) -> RunState:
    error = run_error(run, now_ms)
    ended = run.state not in {RUNNING, FAILED} and run.report
    return RunState(
        run_id=run.run_id,
        job=run.job,
        state=FAILED if error is not None else run.state,
        started_ms=run.started_ms,
        finished_ms=run.finished_ms,
        rows=run.rows,
        bytes=run.bytes,
        rejected=run.rejected,
        error=error,
        report=json.loads(run.report) if ended and run.report else {},
    )
