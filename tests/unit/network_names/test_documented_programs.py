"""Programs in the transport's pages run as they stand and say what the pages say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).resolve().parents[3] / "docs" / "transport"
PROGRAM = re.compile(r"```python\n((?:import|from) [^`]*?)```\n\n```text\n(.*?)```", re.DOTALL)
PROGRAMS = {
    f"{page.stem}-{number}": found.groups()
    for page in sorted(PAGES.glob("*.md"))
    for number, found in enumerate(PROGRAM.finditer(page.read_text()), 1)
}


def test_there_are_programs():
    assert {"channels-1", "multicast-1", "rehearsing-1"} <= set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_what_its_page_says(name):
    program, expected = PROGRAMS[name]
    environment = {key: text for key, text in os.environ.items() if not key.startswith("AERON_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", expected)
