"""Recordings as a data source of Spark, in batch and as a stream; there is no jar to build.

``register(spark)`` once, then ``spark.read.format("aerolog").option("archive", FOLDER).load()``.
See ``docs/catalog/spark.md`` for short names and options. Needs ``aerolog[spark]``.
"""

from __future__ import annotations

from typing import Any

from aerolog.catalog.extras import require

__all__ = ["SHORT_NAMES", "register"]

SHORT_NAMES = (
    "aerolog",
    "aerolog_headers",
    "aerolog_positions",
    "aerolog_payloads",
    "aerolog_rejects",
    "aerolog_recordings",
)


def register(spark: Any) -> None:
    """Make the short names known to a session.

    Workers must be able to import ``aerolog``: install the wheel where they run.

    Args:
        spark: a ``SparkSession``; its parallelism decides how recordings are cut.

    Raises:
        MissingExtraError: PySpark or Arrow is not installed.
    """
    require("pyarrow", "reading recordings in Spark")
    require("pyspark", "reading recordings in Spark")
    from aerolog.catalog.spark.source import SOURCES

    context = getattr(spark, "sparkContext", None)  # a session of Spark Connect has none
    parallelism = None if context is None else context.defaultParallelism
    for source in SOURCES:
        # A class of its own, so that it travels with its value; the one it inherits from is
        # imported where it is used.
        made = type(source.__name__, (source,), {"parallelism": parallelism})
        spark.dataSource.register(made)
