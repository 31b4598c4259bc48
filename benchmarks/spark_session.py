"""The session that ``spark_scan`` measures: ``WORKERS ARCHIVE PARQUET ROWS``; prints JSON."""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

from pyspark.sql import SparkSession

from aerolog.catalog.spark import register
from benchmarks.spark_bare import BareSource

WARM_UP_ROUNDS = 3
ROUNDS = 5
BARE = BareSource.name()
QUERY = ("count(*)", "sum(position)", "sum(term_offset)")
# Java's Arrow checks every access to memory that it has already checked as a whole.
JVM = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"


def main(workers: str, archive: str, exported: str, rows: str) -> None:
    session = (
        SparkSession.builder.master(f"local[{workers}]")
        .appName("spark-scan")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", JVM)
        .config("spark.sql.shuffle.partitions", workers)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    register(session)
    session.dataSource.register(BareSource)
    source = session.read.format("aerolog").options(archive=archive, payload="none")
    frames = {
        "all": source.load(),
        "columns": source.option("columns", "position,term_offset").load(),
        "parquet": session.read.parquet(exported),
        BARE: session.read.format(BARE).option("rows", rows).load(),
    }
    times: dict[str, list[float]] = {name: [] for name in frames}
    answers: list[list[int]] = []
    counted: list[int] = []
    for round_number in range(WARM_UP_ROUNDS + ROUNDS):
        for name, frame in frames.items():
            taken, answer = _timed(frame)
            if name == BARE:
                counted.append(answer[0])
            else:
                answers.append(answer)
            if round_number >= WARM_UP_ROUNDS:
                times[name].append(taken)
    found: dict[str, Any] = {name: statistics.median(taken) for name, taken in times.items()}
    print(json.dumps(found | {"answers": answers, "bare_rows": counted}))
    session.stop()


def _timed(frame: Any) -> tuple[float, list[int]]:
    begin = time.perf_counter()
    row = frame.selectExpr(*QUERY).first()
    return time.perf_counter() - begin, list(row)


if __name__ == "__main__":
    main(*sys.argv[1:5])
