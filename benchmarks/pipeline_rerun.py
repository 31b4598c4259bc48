"""A pipeline over a recording, and again over the same one: what it costs that nothing is new."""

from __future__ import annotations

import os
import statistics
from pathlib import Path

from aerolog.catalog.export.pipeline.job import load_job
from aerolog.catalog.export.pipeline.job_run import run_job
from aerolog.catalog.export.spark_runner import SparkExecutor
from benchmarks.durations import seconds
from benchmarks.folders import chosen_folder, temporary_folder
from benchmarks.result import BenchmarkFailedError, Result
from benchmarks.scan import make_recording

DATA_BYTES = int(os.environ.get("AEROLOG_BENCH_PIPELINE_BYTES") or 2 * 1024**3)
PAYLOAD_LENGTH = 1024
ROUNDS = 5
LIMIT_S = 5.0
JOB = """
name = "benchmark"
archive-dir = "archive"
[output]
to = "out"
"""


def rerun() -> list[Result]:
    """Seconds of a run over unchanged input, once Spark is up; and the rate of the run before.

    Raises:
        BenchmarkFailedError: rows are missing, or were loaded twice.
    """
    with temporary_folder(chosen_folder()) as folder:
        (Path(folder) / "archive").mkdir()
        made = make_recording(Path(folder) / "archive", PAYLOAD_LENGTH, DATA_BYTES)
        path = Path(folder) / "job.toml"
        path.write_text(JOB)
        job = load_job(path)
        executor = SparkExecutor(job)
        executor.start()
        session = executor.session
        try:
            report = run_job(job, SparkExecutor(job, session))
            _check(report.rows, made.frames)
            times = [
                seconds(lambda: _check(run_job(job, SparkExecutor(job, session)).rows, 0))
                for _ in range(ROUNDS)
            ]
        finally:
            executor.close()
    rate = report.bytes_per_second / 1e6
    return [
        Result("pipeline-load", "MB/s", rate, None, "no peer"),
        Result(
            "pipeline-rerun",
            "s",
            statistics.median(times),
            LIMIT_S,
            "the limit that is set",
            smaller_is_better=True,
        ),
    ]


def _check(rows: int, expected: int) -> None:
    if rows != expected:
        raise BenchmarkFailedError(f"{rows} rows were loaded and not {expected}")
