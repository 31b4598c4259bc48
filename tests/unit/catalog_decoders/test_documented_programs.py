"""The programs in docs/catalog/decoders.md, run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from aerolog.testing.recordings import RecordingBuilder, write_time_index

PAGE = Path(__file__).parents[3] / "docs" / "catalog" / "decoders.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
SAID = [
    (
        "64 UA 7\n128 None -3\n192 rejected: not UTF-8: byte 0xff at 0: invalid start byte\n"
        "256 rejected: schema changed: delay is a string, expected int64\n"
        "4 messages, 2 rows, 2 rejects\n"
    ),
    "[{'length': 3}, {'length': 5}] [Reject(index=1, reason='empty')]\n",
]


def test_the_page_has_the_programs_that_are_run_here() -> None:
    assert len(PROGRAMS) == len(SAID)


@pytest.mark.parametrize("number", range(len(SAID)))
def test_every_program_runs(tmp_path: Path, number: int) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    builder = RecordingBuilder()
    for message in (b'{"carrier":"UA","delay":7}', b'{"delay":-3}', b"\xff", b'{"delay":"late"}'):
        builder.add(message)
    write_time_index(folder, builder.write(folder), [(1, 0), (2, builder.position)])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMS[number]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env=os.environ,
    )
    assert (done.stderr, done.stdout) == ("", SAID[number])
