"""Executors of a standalone cluster that have the wheel and what ``aerolog[spark]`` brings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from spark_cluster import Cluster, wait_for
from wheel_env import wheel_python

from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

MESSAGES = 40_000
PROGRAM = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
import aerolog
from aerolog.catalog.spark import register
assert "site-packages" in aerolog.__file__, aerolog.__file__
url, archive, gate = sys.argv[1:4]
spark = (
    SparkSession.builder.master(url).appName("cluster-test")
    .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.memory", "512m").config("spark.executor.memory", "512m")
    .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
    .config("spark.cores.max", "2").config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
)
register(spark)
frame = (
    spark.read.format("aerolog").option("archive", archive).option("payload", "none")
    .option("partitionBytes", "256k").load()
)

def gated(rows):
    import time
    from pyspark import TaskContext
    task = TaskContext.get()
    (Path(gate) / f"{task.partitionId()}-{task.attemptNumber()}").touch()
    deadline = time.monotonic() + 300
    while task.attemptNumber() == 0 and not (Path(gate) / "go").exists():
        assert time.monotonic() < deadline, "nobody opened the gate"
        time.sleep(0.02)
    yield from rows

if gate != "-":
    # Not mapInArrow: that wants pandas, which is not there.
    frame = spark.createDataFrame(frame.rdd.mapPartitions(gated), frame.schema)
row = frame.selectExpr(
    "count(*) as messages", "count(distinct position) as places",
    "sum(reserved_value) as total", "sum(position) as positions",
).first()
import json
print(json.dumps(row.asDict()))
spark.stop()
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    python = wheel_python(folder, ("pyarrow", "numpy", "pyspark", "py4j"))
    with Cluster(python, folder) as running:
        yield running


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """A folder, and what a query of it gives."""
    folder = tmp_path_factory.mktemp("archive")
    builder = RecordingBuilder(segment_length=256 * 1024)
    positions = [builder.add(b"%024d" % index, reserved_value=index) for index in range(MESSAGES)]
    builder.write(folder)
    return folder, {
        "messages": MESSAGES,
        "places": MESSAGES,
        "total": sum(range(MESSAGES)),
        "positions": sum(positions),
    }


def answer(driver: subprocess.Popen[str]) -> dict[str, int]:
    try:
        output, errors = driver.communicate(timeout=600)
    finally:
        driver.kill()
    assert driver.returncode == 0, errors[-6000:]
    found: dict[str, int] = json.loads(output.splitlines()[-1])
    return found


def test_executors_read_with_the_wheel_alone(
    cluster: Cluster, archive: tuple[Path, dict[str, int]]
) -> None:
    folder, expected = archive
    assert answer(cluster.submit(PROGRAM, str(folder), "-")) == expected


def test_a_worker_killed_in_the_middle_counts_nothing_twice(
    cluster: Cluster, archive: tuple[Path, dict[str, int]], tmp_path: Path
) -> None:
    folder, expected = archive
    driver = cluster.submit(PROGRAM, str(folder), str(tmp_path))
    try:
        wait_for(
            lambda: driver.poll() is not None or len(list(tmp_path.glob("*-0"))) >= 2,
            "a task on each of two executors",
        )
        assert driver.poll() is None, driver.communicate()[1][-6000:]
        cluster.kill_worker(0)
        (tmp_path / "go").touch()
        assert answer(driver) == expected
    finally:
        driver.kill()
        driver.wait()
    assert list(tmp_path.glob("*-1")), "no task was lost with the worker"
