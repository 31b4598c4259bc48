"""Archive folders without an archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.protocol.mark_header import MarkFileHeader
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
    header = MarkFileHeader(
        start_timestamp=1_700_000_000_000,
        pid=4242,
        control_stream_id=10,
        local_control_stream_id=11,
        events_stream_id=30,
        archive_id=9,
        control_channel="aeron:udp?endpoint=localhost:8010",
        local_control_channel="aeron:ipc",
        events_channel="",
        aeron_directory=str(tmp_path / "aeron"),
    )
    mark = ArchiveMarkFile.claim(archive, header)
    mark.ready()
    mark.terminated()
    return archive
