"""Archives to export, and an S3 server where a test asks for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from s3 import s3_endpoint, s3_url

from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["s3_endpoint", "s3_url"]


@pytest.fixture
def empty_archive(tmp_path: Path) -> Path:
    folder = tmp_path / "archive"
    folder.mkdir()
    return folder


@pytest.fixture
def builder() -> RecordingBuilder:
    return RecordingBuilder()
