"""An output of an earlier version, whose second run was killed behind its commit, goes on.

``exports-1/pipeline`` is as the version with two exporters left it (commit 8b05f17): one run that
is complete, and the commit of another whose files were not moved and that no catalog knows.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING

import pytest
from golden_data import OLD_EXPORTS
from pipelines_here import lengthen, loaded_numbers, message, numbers, run_here, visible, write_job

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def out(home: Path) -> Path:
    """The output, as of the archive here."""
    out = home / "out"
    shutil.copytree(OLD_EXPORTS / "pipeline", out)
    for path in (out / "_aerolog/commits").iterdir():
        outer = json.loads(path.read_text())
        commit = outer["commit"].replace("/tmp/numbers/archive", str(home / "archive"))
        digest = hashlib.sha256(commit.encode()).hexdigest()
        path.write_text(json.dumps({**outer, "sha256": digest, "commit": commit}))
    return out


def test_what_was_committed_is_published_and_what_came_since_is_loaded(
    home: Path, out: Path
) -> None:
    builder = numbers(0, 1000)
    builder.write(home / "archive")
    for number in range(1000, 1700):
        builder.add(message(number))
    lengthen(home / "archive", 0, builder)
    before = visible(out)
    assert loaded_numbers(out) == list(range(1000))
    report = run_here(write_job(home))
    assert len(report.recovered) == 2
    assert report.rows == 200
    assert loaded_numbers(out) == list(range(1700))
    assert set(before) < set(visible(out))
    assert list((out / "_aerolog/staging").iterdir()) == []
    assert run_here(write_job(home)).rows == 0
    assert loaded_numbers(out) == list(range(1700))
