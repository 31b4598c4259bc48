"""The programs on pages about the archive run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).resolve().parents[3] / "docs" / "archive"
BLOCKS = re.compile(r"^```python\n(.*?)^```\n\n^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["replication", "storage"])
def test_the_program_of_a_page_prints_what_the_page_says(page: str) -> None:
    ((program, output),) = BLOCKS.findall((PAGES / f"{page}.md").read_text())
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == output
