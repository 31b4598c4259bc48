"""A folder with a recording whose times are known."""

from pathlib import Path

import pytest
from timed_recordings import Made, make


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """With a time index."""
    return make(tmp_path)
