"""Programs in the documentation run as they stand, on our archive and on the reference's."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.interop
CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = CHECKOUT / "docs" / "reference" / "archive-client.md"
PROGRAM = re.compile(
    r"^```python\n((?:import|from) .*?)^```\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL
)


def test_the_archive_client_s_page_runs(start_server):
    programs = PROGRAM.findall(PAGE.read_text())
    assert len(programs) == len(re.findall(r"^```text", PAGE.read_text(), re.MULTILINE))
    assert len(programs) > 5
    checker = doctest.OutputChecker()
    for implementation in ("ours", "reference"):
        server = start_server(implementation, "archiving-driver")
        for program, expected in programs:
            done = subprocess.run(
                [sys.executable, "-W", "error", "-c", program],
                env={**os.environ, "AERON_DIR": server.aeron_dir},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            told = f"{implementation}:\n{program}\n{done.stdout}\n{done.stderr}"
            assert done.stderr == "", told
            assert checker.check_output(expected, done.stdout, doctest.ELLIPSIS), told
