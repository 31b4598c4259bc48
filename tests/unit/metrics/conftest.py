"""Directories to collect from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from live_archive import aeron_home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder in shared memory for drivers' directories."""
    with aeron_home() as folder:
        yield folder
