"""Programs in the documentation run as they stand, on our archive and on the reference's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.interop
CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = CHECKOUT / "docs" / "reference" / "archive-client.md"
PROGRAM = re.compile(r"^```python\n((?:import|from) .*?)^```", re.MULTILINE | re.DOTALL)


def test_the_archive_client_s_page_runs(any_archive):
    programs = PROGRAM.findall(PAGE.read_text())
    assert len(programs) == 2
    outputs = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            env={**os.environ, "AERON_DIR": any_archive.aeron_dir},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        for program in programs
    ]
    assert [done.stderr for done in outputs] == ["", ""]
    assert outputs[0].stdout == "64 b'hello'\n"
    assert "aeron:ipc" in outputs[1].stdout
