"""Recordings as a data source of Spark, in batch and as a stream, without a jar.

Call ``register(spark)`` once, then ``spark.read.format("aerolog").option("archive",
FOLDER).load()``. ``docs/catalog/spark.md`` lists short names and options. The package needs
``aerolog[spark]``.
"""

from __future__ import annotations

import warnings
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

# PySpark says this at each start and each toPandas() with a pandas that works, and is tested, with
# what this package gives.
warnings.filterwarnings(
    "ignore", message="PySpark does not yet fully support pandas", category=FutureWarning
)


def register(spark: Any) -> None:
    """Register the data sources' short names with a session.

    Workers must be able to import ``aerolog``: the wheel has to be installed where they run.

    Args:
        spark: a ``SparkSession``; its parallelism determines how recordings are cut.

    Raises:
        MissingExtraError: PySpark or Arrow is not installed.
    """
    require("pyarrow", "reading recordings in Spark")
    require("pyspark", "reading recordings in Spark")
    from aerolog.catalog.spark.source import SOURCES

    context = getattr(spark, "sparkContext", None)  # a session of Spark Connect lacks it
    parallelism = None if context is None else context.defaultParallelism
    for source in SOURCES:
        # A new class carries the value to the workers; the class that it inherits from is imported
        # there.
        made = type(source.__name__, (source,), {"parallelism": parallelism})
        spark.dataSource.register(made)
