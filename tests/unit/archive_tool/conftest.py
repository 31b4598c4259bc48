"""Archive folders without an archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mark_headers import archive_header

from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sixteen recordings, the last one without a stop position, and an archive that has ended."""
    archive = tmp_path / "archive"
    archive.mkdir()
    for index in range(16):
        builder = RecordingBuilder(stream_id=100 + index, session_id=-index)
        for size in (0, 16, 3000)[: index % 4]:
            builder.add(bytes(range(256)) * (size // 256) + b"x" * (size % 256))
        builder.write(archive, stopped=index < 15)
    header = archive_header(
        start_timestamp=1_700_000_000_000,
        pid=4242,
        archive_id=9,
        aeron_directory=str(tmp_path / "aeron"),
    )
    mark = ArchiveMarkFile.claim(archive, header)
    mark.ready()
    mark.terminated()
    return archive
