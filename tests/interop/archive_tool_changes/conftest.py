"""One JVM for the reference's tool, and copies of the golden folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from peer.tool_runner import ToolRunner

if TYPE_CHECKING:
    from collections.abc import Iterator

    import peer

SHARED = Path(os.environ.get("AEROLOG_SHARED", Path(__file__).parents[4] / "shared"))


@pytest.fixture(scope="session")
def runner(reference: peer.Toolchain) -> Iterator[ToolRunner]:
    """The reference's tool, ready to run again and again."""
    with ToolRunner() as jvm:
        yield jvm


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the golden folder, with damages to come."""
    golden = SHARED / "golden" / "java-archive-1"
    if not golden.exists():
        pytest.skip(f"no golden archive folder at {golden}; set AEROLOG_SHARED")
    target = tmp_path / "archive"
    ignored = shutil.ignore_patterns("manifest.json")
    shutil.copytree(golden, target, copy_function=shutil.copyfile, ignore=ignored)
    target.chmod(0o755)
    return target
