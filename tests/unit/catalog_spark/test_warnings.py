"""What PySpark says of a pandas that is newer than it knows is not shown to our users."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import aerolog.catalog.spark
import pyspark.sql.pandas.utils as utils
utils.require_minimum_pandas_version()
"""


def test_pandas_of_today_is_no_warning() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stderr) == (0, "")
