"""The programs of the pages about Arrow, run as they stand there, one after the other."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from aerolog.testing.recordings import RecordingBuilder, write_time_index

DOCS = Path(__file__).parents[3] / "docs"
SAID = {
    "catalog/arrow.md": [
        "3 [b'first'",
        "[128, 192]",
        "3 0",
        "3\n",
        "16",
        "[(0, 2)]",
        "{'messages': 3}",
        "3 []",
    ],
    "reference/catalog.md": ["b'third'", "0 192 b'third'"],
}


@pytest.mark.parametrize("page", SAID)
def test_every_program_of_a_page_runs_and_says_what_it_should(page: str, tmp_path: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    assert len(programs) == len(SAID[page])
    (tmp_path / "archive").mkdir()
    builder = RecordingBuilder()
    for message in (b"first", b"second", b"third"):
        builder.add(message)
    builder.write(tmp_path / "archive")
    start_ns = 1_700_000_000 * 10**9
    write_time_index(tmp_path / "archive", 0, [(start_ns, 0), (start_ns + 10**9, builder.position)])
    # One process runs them all: importing takes longer than they do.
    marked = "\n".join(f"{program}\nprint('-----')" for program in programs)
    done = subprocess.run(
        [sys.executable, "-c", marked],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    parts = done.stdout.split("-----\n")[:-1]
    for program, part, said in zip(programs, parts, SAID[page], strict=True):
        assert said in part, program + part
