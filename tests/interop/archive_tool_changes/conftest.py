"""One JVM for the reference's tool, and copies of the golden folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden_data import copy_archive
from peer.tool_runner import ToolRunner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import peer


@pytest.fixture(scope="session")
def runner(reference: peer.Toolchain) -> Iterator[ToolRunner]:
    """The reference's tool, ready to run again and again."""
    with ToolRunner() as jvm:
        yield jvm


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the golden folder, with damages to come."""
    target = copy_archive(tmp_path / "archive")
    (target / "manifest.json").unlink()
    return target
