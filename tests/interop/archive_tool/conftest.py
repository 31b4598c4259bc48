"""A copy of the golden folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden_data import copy_archive

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copy_archive(tmp_path / "archive")
