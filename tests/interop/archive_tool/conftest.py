"""A copy of the golden folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("AEROLOG_SHARED", Path(__file__).parents[4] / "shared"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    golden = SHARED / "golden" / "java-archive-1"
    if not golden.exists():
        pytest.skip(f"no golden archive folder at {golden}; set AEROLOG_SHARED")
    target = tmp_path / "archive"
    shutil.copytree(golden, target, copy_function=shutil.copyfile)
    target.chmod(0o755)
    return target
