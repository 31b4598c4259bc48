"""Secrets in a job's settings of Spark reach Spark, and nobody who lists processes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import SparkContext

from aerolog.catalog.export.pipeline.job import parse_job
from aerolog.catalog.export.spark_runner import SparkExecutor

if TYPE_CHECKING:
    import pytest

SECRET = "spark.hadoop.fs.s3a.secret.key"


def test_they_are_on_no_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("WHATEVER", "a-silent-hush")
    # A JVM of another test may run in this process: this one is to be its own.
    for name in ("_gateway", "_jvm", "_active_spark_context"):
        monkeypatch.setattr(SparkContext, name, None)
    conf = {SECRET: "hush", "spark.any": "${WHATEVER}", "spark.driver.memory": "512m"}
    executor = SparkExecutor(
        parse_job(
            {
                "name": "orders",
                "archive-dir": str(tmp_path),
                "output": {"to": str(tmp_path / "out")},
                "spark": {"master": "local[1]", "conf": conf},
            },
            "job.toml",
        )
    )
    try:
        executor.start()
        context = executor.session.sparkContext
        words = Path(f"/proc/{context._gateway.proc.pid}/cmdline").read_text()
        assert "hush" not in words
        assert "-Xmx512m" in words
        assert context.getConf().get(SECRET) == "hush"
        assert context.getConf().get("spark.any") == "a-silent-hush"
        assert context.master == "local[1]"
        assert context.appName == "aerolog pipeline orders"
    finally:
        executor.close()
    assert list(tmp_path.glob("*-spark.log")) == []
