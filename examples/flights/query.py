"""Average delay and number of flights per carrier, by PySpark: from the file, and the recording."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from examples.flights.data import CarrierDelay

from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DRIVER_MEMORY = "1g"
STOP_TIMEOUT_S = 30.0
# For a job of seconds: the quick compiler alone and the simple collector take half the time.
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class QueryError(Exception):
    """Spark is not usable here."""


class LocalSpark:
    """A local Spark session that leaves nothing behind but its log; a context manager."""

    def __init__(self, log: Path) -> None:
        # Workers take another Python from the path unless they are told.
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        self._scratch = tempfile.TemporaryDirectory(prefix="aerolog-spark-")
        with _stderr_to(log), warnings.catch_warnings(action="ignore"):
            try:
                self.session: Any = self._start()
            except RuntimeError as error:
                raise QueryError(f"Spark did not start, {log} says why: {error}") from error

    def _start(self) -> Any:
        sql = require("pyspark.sql", "querying the flights")
        builder = (
            sql.SparkSession.builder.master("local[2]")
            .appName("aerolog-flights")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.memory", DRIVER_MEMORY)
            .config("spark.driver.extraJavaOptions", f"{JVM} -Djava.io.tmpdir={self._scratch.name}")
            .config("spark.local.dir", self._scratch.name)
            .config("spark.sql.warehouse.dir", self._scratch.name)
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.session.timeZone", "UTC")
        )
        return builder.getOrCreate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        from pyspark import SparkContext

        # Stopping the session leaves its JVM to the end of this process. It ends with its input.
        gateway = self.session.sparkContext._gateway  # noqa: SLF001
        self.session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(STOP_TIMEOUT_S)
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
        self._scratch.cleanup()


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Give processes that are started meanwhile a file for what they say about themselves."""
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("wb") as sink:
        os.dup2(sink.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


def exported(session: Any, parquet: Path) -> Any:
    """The messages in an exported file, or in a folder of them, as a frame."""
    return session.read.parquet(str(parquet))


def recorded(session: Any, archive_dir: Path, recording_id: int) -> Any:
    """The messages of a recording as a frame, straight from the archive's segments."""
    from aerolog.catalog.spark import register

    register(session)
    reader = session.read.format("aerolog").option("archive", str(archive_dir.absolute()))
    return reader.option("recordings", recording_id).option("payload", "binary").load()


def delays_by_carrier(frame: Any) -> list[CarrierDelay]:
    """The table, ordered by carrier.

    Args:
        frame: of Spark, with a column ``payload``.
    """
    from pyspark.sql import functions as f

    flight = f.from_json(frame.payload.cast("string"), "carrier string, dep_delay int")
    table = (
        frame.select(flight.alias("flight"))
        .select("flight.*")
        .groupBy("carrier")
        .agg(
            f.count("*").alias("flights"),
            f.count("dep_delay").alias("delays"),
            f.avg("dep_delay").alias("average_delay"),
        )
        .orderBy("carrier")
    )
    return [
        CarrierDelay(row.carrier, row.flights, row.delays, row.average_delay)
        for row in table.collect()
    ]
