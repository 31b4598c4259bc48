"""The reference's archive folder and what its manifest says about it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(os.environ.get("AEROLOG_SHARED", Path(__file__).parents[4] / "shared"))
FOLDER = SHARED / "golden" / "java-archive-1"


@pytest.fixture(scope="session")
def golden() -> Path:
    if not FOLDER.exists():
        pytest.skip(f"no golden archive folder at {FOLDER}; set AEROLOG_SHARED")
    return FOLDER


@pytest.fixture(scope="session")
def manifest(golden: Path) -> dict[str, Any]:
    return json.loads((golden / "manifest.json").read_text())


@pytest.fixture(scope="session")
def by_id(manifest: dict[str, Any]) -> dict[int, dict[str, Any]]:
    return {entry["recordingId"]: entry for entry in manifest["recordings"]}


@pytest.fixture
def golden_copy(golden: Path, tmp_path: Path) -> Path:
    target = tmp_path / "archive"
    shutil.copytree(golden, target, copy_function=shutil.copyfile)
    target.chmod(0o755)
    return target
