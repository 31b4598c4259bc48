"""``aerolog pipeline``: load recordings into tables with Spark, exactly once."""

from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aerolog.tools.catalog.options import CatalogOptions, open_catalog
from aerolog.tools.command_line.help import HouseGroup, command
from aerolog.tools.command_line.options import CountOption, DryRunOption, JsonOption, grouped

if TYPE_CHECKING:
    from aerolog.catalog.export.pipeline.job import Job
    from aerolog.catalog.export.pipeline.load_plan import Plan
    from aerolog.catalog.export.pipeline.run_report import RunReport
    from aerolog.catalog.export.pipeline.status import JobState, RunState
    from aerolog.tools.terminal.console import Progress

app = typer.Typer(cls=HouseGroup, add_completion=False, no_args_is_help=True)

JobArgument = Annotated[
    Path, typer.Argument(metavar="JOB.toml", help="The job's file.", show_default=False)
]
_MIB = 1024 * 1024
_RUN_COLUMNS = ("started", "job", "state", "seconds", "rows", "bytes", "rejected", "error")
_RUN_RIGHT = ("seconds", "rows", "bytes", "rejected")


@app.callback()
def _pipeline() -> None:
    """Load recordings into tables with Spark, exactly once."""


@command(
    app,
    examples=(
        "pipeline run orders.toml --dry-run",
        "pipeline run orders.toml",
        "pipeline run orders.toml --archive-dir aeron-archive --json",
    ),
)
@grouped
def run(
    job_file: JobArgument,
    *,
    dry_run: DryRunOption = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Load all again, into a place that is empty now.")
    ] = False,
    as_json: JsonOption = False,
    catalog: CatalogOptions,
) -> None:
    """Load what is new in the recordings that a job chooses.

    Rows become visible when all of them are written, once, however often runs are interrupted and
    repeated. What is not decoded or breaks a rule is in the rejects, with its position.
    """
    from aerolog.catalog.export.pipeline.job_run import plan_job, run_job
    from aerolog.catalog.export.spark_runner import SparkExecutor
    from aerolog.tools.terminal import console

    job = _job(job_file, catalog)
    if dry_run:
        plan, unfinished = plan_job(job, SparkExecutor(job))
        if as_json:
            console.print_json(_plan_json(job, plan, unfinished))
        else:
            _say_plan(job, plan, unfinished)
        return
    with ExitStack() as stack:
        observer = _Bar(stack)
        report = run_job(job, SparkExecutor(job), restart=restart, observer=observer)
    for line in report.remarks:
        console.remark(line)
    if as_json:
        console.print_json(report.to_dict())
    else:
        console.print_fields(_report_fields(report))


@command(
    app,
    examples=(
        "pipeline status orders.toml",
        "pipeline status --archive-dir aeron-archive",
        "pipeline status --catalog postgresql+psycopg://reader@db/fleet --json",
    ),
)
@grouped
def status(
    job_file: Annotated[
        Path | None,
        typer.Argument(metavar="[JOB.toml]", help="A job's file; all jobs without it."),
    ] = None,
    *,
    count: CountOption = None,
    as_json: JsonOption = False,
    catalog: CatalogOptions,
) -> None:
    """Show the last runs, and of a job what waits for the next one."""
    from aerolog.catalog.export.pipeline.status import RUNS, job_state, run_states
    from aerolog.tools.terminal import console

    limit = RUNS if count is None else count
    if job_file is None:
        with open_catalog(catalog) as opened:
            runs = run_states(opened, None, limit)
        if as_json:
            console.print_json([asdict(one) for one in runs])
        else:
            console.print_table(_RUN_COLUMNS, map(_run_cells, runs), right=_RUN_RIGHT)
        return
    job = _job(job_file, catalog)
    state = job_state(job, runs=limit)
    if as_json:
        console.print_json(_state_json(job, state))
        return
    console.print_table(_RUN_COLUMNS, map(_run_cells, state.runs), right=_RUN_RIGHT)
    console.say("")
    _say_plan(job, state.plan, state.unfinished)


@command(
    app,
    examples=(
        "pipeline forget orders --archive-dir aeron-archive",
        "pipeline forget orders --output /lake/old --archive-dir aeron-archive",
    ),
)
@grouped
def forget(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job's name, not its file.")],
    *,
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="TARGET", help="Only what it has loaded into this one."),
    ] = None,
    as_json: JsonOption = False,
    catalog: CatalogOptions,
) -> None:
    """Forget a job that is given up, so that retention keeps nothing for it any more.

    Its output stays as it is. A run of the job goes on where the commits in its output end, and
    retention heeds it again.
    """
    from aerolog.catalog.index.job_runs import forget as forget_job
    from aerolog.catalog.index.job_runs import list_runs
    from aerolog.tools.terminal import console
    from aerolog.transport.errors import AerologError

    with open_catalog(catalog) as opened:
        is_known = output is None and bool(list_runs(opened, job, 1))
        marks, problems = forget_job(opened, job, output)
    for problem in problems:
        console.remark(problem)
    if not marks and not is_known:
        where = "" if output is None else f" with the output {output}"
        raise AerologError(f"the catalog has no job {job!r}{where}: see aerolog pipeline status")
    if as_json:
        console.print_json({"job": job, "output": output, "recordings": marks})
    else:
        console.say(f"job {job} is forgotten; it had loaded {marks} recordings")


def _job(path: Path, options: CatalogOptions) -> "Job":
    from aerolog.catalog.export.pipeline.job import load_job

    return load_job(path, catalog=options.catalog, archive_dir=options.archive_dir)


class _Bar:
    """A bar of the bytes that are loaded, on stderr."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._bar: Progress | None = None

    def planned(self, plan: "Plan") -> None:
        """Sets the bar's length."""
        from aerolog.tools.terminal.console import progress

        if plan.units:
            text = f"loading {len(plan.units)} units"
            self._bar = self._stack.enter_context(progress(text, plan.length, bytes_=True))

    def done(self, length: int) -> None:
        """Moves on to the bytes that are staged."""
        if self._bar is not None:
            self._bar.update(length)


def _say_plan(job: "Job", plan: "Plan", unfinished: "list[str] | tuple[str, ...]") -> None:
    from aerolog.tools.terminal import console
    from aerolog.transport.secrets import without_secrets

    moved = [one for one in plan.recordings if one.length or one.remark]
    if moved:
        console.print_table(
            ("place", "recording", "stream", "status", "from", "until", "bytes"),
            (
                (
                    without_secrets(one.place),
                    one.recording_id,
                    one.stream_id,
                    one.status,
                    one.from_position,
                    one.until_position,
                    one.length,
                )
                for one in moved
            ),
            right=("recording", "stream", "from", "until", "bytes"),
        )
    for run_id in unfinished:
        console.say(f"run {run_id} committed and was interrupted: the next run finishes it")
    for line in plan.remarks():
        console.remark(line)
    counts = ", ".join(f"{count} {status}" for status, count in plan.counts().items())
    console.say(
        f"job {job.name}: {counts or 'no recordings'}; {plan.length} bytes in {len(plan.units)}"
        f" units to {without_secrets(job.output.to)}"
    )


def _plan_json(
    job: "Job", plan: "Plan", unfinished: "list[str] | tuple[str, ...]"
) -> dict[str, Any]:
    from aerolog.transport.secrets import without_secrets

    return {
        "job": job.name,
        "target": without_secrets(job.output.to),
        "bytes": plan.length,
        "units": len(plan.units),
        "unfinished_runs": list(unfinished),
        "recordings": [
            asdict(one) | {"place": without_secrets(one.place)} for one in plan.recordings
        ],
    }


def _state_json(job: "Job", state: "JobState") -> dict[str, Any]:
    runs = [asdict(one) for one in state.runs]
    return _plan_json(job, state.plan, state.unfinished) | {"runs": runs}


def _run_cells(run: "RunState") -> list[Any]:
    started = datetime.fromtimestamp(run.started_ms / 1000, UTC)
    ended = run.finished_ms
    seconds = "" if ended is None else f"{(ended - run.started_ms) / 1000:.1f}"
    return [
        started.isoformat(timespec="seconds"),
        run.job,
        run.state,
        seconds,
        run.rows,
        run.bytes,
        run.rejected,
        run.error,
    ]


def _report_fields(report: "RunReport") -> dict[str, Any]:
    counts = ", ".join(f"{count} {status}" for status, count in report.recordings.items())
    fields: dict[str, Any] = {
        "job": report.job,
        "run": report.run_id,
        "target": report.target,
        "recordings": counts or "none",
        "messages": f"{report.messages:,}",
        "rows": f"{report.rows:,} ({report.rows_per_second:,.0f}/s)",
        "stream bytes": f"{report.stream_bytes:,} ({report.bytes_per_second / _MIB:,.1f} MiB/s)",
        "files": f"{report.files} ({report.file_bytes:,} bytes)",
        "rejected": f"{report.rejected:,}",
        "seconds": f"{report.seconds:.1f} (Spark was up after {report.spark_seconds:.1f})",
    }
    for recording_id, position, reason in report.rejects:
        fields[f"  at {recording_id}:{position}"] = reason
    for name, count in report.kept.items():
        fields[f"  kept, rule {name}"] = f"{count:,}"
    if report.skipped_fragments:
        fields["skipped fragments"] = report.skipped_fragments
    if report.checksum_mismatches:
        fields["checksum mismatches"] = report.checksum_mismatches
    if report.recovered:
        fields["finished runs"] = ", ".join(report.recovered)
    return fields
