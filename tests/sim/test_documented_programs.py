"""The programs of the simulation's page run as they stand and print what the page says."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "testing-with-simulation.md"
PROGRAM = re.compile(r"^```python\n(.*?)^```\n\nIt prints `(.*?)`", re.MULTILINE | re.DOTALL)


def test_the_programs_of_the_page_print_what_it_says():
    programs = PROGRAM.findall(PAGE.read_text())
    assert len(programs) == PAGE.read_text().count("```python") == 2
    for program, expected in programs:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.stdout, done.stderr) == (expected + "\n", "")
