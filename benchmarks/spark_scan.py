"""A query in Spark over ``format("aerolog")``, beside the same one over the exported Parquet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from aerolog.catalog import export_recordings
from benchmarks.folders import chosen_folder, temporary_folder
from benchmarks.native_loops import CHECKOUT
from benchmarks.result import BenchmarkFailedError, Result
from benchmarks.scan import DATA_BYTES, make_recording

PAYLOAD_LENGTH = 64
PATIENCE_S = 1800
PEER_NAME = "Spark over the exported Parquet"
WORKERS = (2, 1)


def query() -> list[Result]:
    """Seconds for a count and two sums with ``payload=none``; and two workers against one.

    Raises:
        BenchmarkFailedError: the two sides differ, or Spark failed.
    """
    with temporary_folder(chosen_folder()) as folder:
        archive, exported = Path(folder) / "archive", Path(folder) / "parquet"
        archive.mkdir()
        made = make_recording(archive, PAYLOAD_LENGTH, DATA_BYTES)
        export_recordings(archive, None, exported)
        two, one = (_run(archive, exported, made.frames, workers) for workers in WORKERS)
    for found in (two, one):
        answers = {tuple(answer) for answer in found["answers"]}
        if len(answers) != 1 or next(iter(answers))[0] != made.frames:
            raise BenchmarkFailedError(f"not {made.frames} frames alike, but {found['answers']}")
        if set(found["bare_rows"]) != {made.frames}:
            raise BenchmarkFailedError(f"not {made.frames} bare rows: {found['bare_rows']}")
    return [
        Result("spark-scan", "s", two["all"], two["parquet"], PEER_NAME, smaller_is_better=True),
        Result(
            "spark-scan-columns",
            "s",
            two["columns"],
            two["parquet"],
            f"{PEER_NAME}; option columns names the two",
            smaller_is_better=True,
        ),
        Result(
            "spark-scan-bare",
            "s",
            two["bare"],
            two["parquet"],
            f"{PEER_NAME}; a Python source that reads nothing and sends as many rows of the two",
            smaller_is_better=True,
        ),
        Result(
            "spark-scan-workers",
            "s",
            two["all"],
            one["all"],
            f"one worker instead of two, on {os.cpu_count()} cores",
            smaller_is_better=True,
        ),
    ]


def _run(archive: Path, exported: Path, rows: int, workers: int) -> dict[str, Any]:
    """Times of a session of its own, so that no JVM has warmed up for another."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks.spark_session",
            str(workers),
            archive,
            exported,
            str(rows),
        ],
        cwd=CHECKOUT,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    if done.returncode != 0:
        raise BenchmarkFailedError(f"Spark ended with {done.returncode}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
