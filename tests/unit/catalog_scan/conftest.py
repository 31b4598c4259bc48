"""Folders with recordings of more than one session, stream and segment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

MESSAGES = 1600


def write_recording(folder: Path, *, stream_id: int, messages: int = MESSAGES) -> RecordingBuilder:
    """A recording over several segments whose session changes in the middle of a segment."""
    builder = RecordingBuilder(session_id=1, stream_id=stream_id, segment_length=128 * 1024)
    for index in range(messages):
        builder.session_id = 1 + (index >= messages // 3) + (index >= 2 * messages // 3)
        builder.add(b"%d-" % index * (index % 97), reserved_value=index)
    builder.write(folder)
    return builder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three recordings of streams 10, 11 and 10."""
    archive = tmp_path / "archive"
    archive.mkdir()
    for stream_id in (10, 11, 10):
        write_recording(archive, stream_id=stream_id)
    return archive
