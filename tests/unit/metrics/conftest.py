"""Directories to collect from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from shared_memory import memory_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder in shared memory for drivers' directories."""
    with memory_folder() as folder:
        yield folder
