"""The programs of the page on joining replay and live run as they stand."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "archive" / "replay-merge.md"
PROGRAM = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROGRAMS = PROGRAM.findall(PAGE.read_text())


def test_every_program_says_what_it_prints():
    assert len(PROGRAMS) == PAGE.read_text().count("```python") == 3


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_program_prints_what_the_page_says(number):
    program, expected = PROGRAMS[number]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    told = f"{program}\n{done.stdout}\n{done.stderr}"
    assert done.stderr == "", told
    assert doctest.OutputChecker().check_output(expected, done.stdout, doctest.ELLIPSIS), told
