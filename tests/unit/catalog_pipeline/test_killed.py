"""A run that is killed at any change it makes: the next one ends where none was killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pipelines_here import numbers, write_job

SUPPORT = Path(__file__).parents[2] / "support"


@pytest.mark.timeout(300)
def test_killed_anywhere_the_next_run_gives_the_same_files(home: Path) -> None:
    numbers(0, 1000).write(home / "archive")
    numbers(2000, 2100, stream_id=11).write(home / "archive")
    done = subprocess.run(
        [sys.executable, SUPPORT / "pipelines_here.py", write_job(home)],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stderr
    whole, *kills = (json.loads(line) for line in done.stdout.splitlines())
    expected = whole["then"]
    assert not whole["died"]
    assert len(expected) == 2
    for kill in kills:
        assert kill["seen"].items() <= expected.items(), kill
        assert kill["again"] == 0, (kill, done.stderr)
        assert kill["then"] == expected, kill
        assert kill["left"] == [], kill
    assert [kill["died"] for kill in kills].count(False) == 2
    for torn in (False, True):
        seen = [len(kill["seen"]) for kill in kills if kill["torn"] is torn]
        assert len(seen) >= 9  # the claim, staged files, manifest, moves, catalog, journal
        assert seen == sorted(seen)
        assert set(seen) == {0, 1, 2}
