"""The reference's archive folder and what its manifest says about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import golden_data
import pytest
from golden_data import GOLDEN_ARCHIVE, copy_archive

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def golden() -> Path:
    return GOLDEN_ARCHIVE


@pytest.fixture(scope="session")
def manifest() -> dict[str, Any]:
    return golden_data.manifest()


@pytest.fixture(scope="session")
def by_id(manifest: dict[str, Any]) -> dict[int, dict[str, Any]]:
    return {entry["recordingId"]: entry for entry in manifest["recordings"]}


@pytest.fixture
def golden_copy(tmp_path: Path) -> Path:
    return copy_archive(tmp_path / "archive")
