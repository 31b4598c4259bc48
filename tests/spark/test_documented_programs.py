"""The programs in docs/reference/catalog.md, run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from aerolog.testing.recordings import RecordingBuilder

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "catalog.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
SAID = ["", "3 192", "0 192 b'third'", "recording-0.parquet 3", "third"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with an archive in it; later programs use what earlier ones made."""
    home = tmp_path_factory.mktemp("docs")
    (home / "archive").mkdir()
    builder = RecordingBuilder()
    for message in (b"first", b"second", b"third"):
        builder.add(message)
    builder.write(home / "archive")
    return home


def test_the_page_has_the_programs_that_are_run_here() -> None:
    assert len(PROGRAMS) == len(SAID)


def test_every_program_runs(folder: Path) -> None:
    for program, said in zip(PROGRAMS, SAID, strict=True):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
            env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        )
        assert done.returncode == 0, program + done.stderr
        assert said in done.stdout, program + done.stdout
