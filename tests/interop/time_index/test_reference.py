"""The reference beside the time index: it passes the files by and does not know the queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import peer
import pytest

from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.transport.errors import ArchiveError, TimeIndexUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from peer import Server

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

T0 = 1_700_000_000_000_000_000


def test_the_reference_has_no_answer_and_our_client_says_so(
    java_archive: Server, our_archive_client: Callable[..., Any]
) -> None:
    archive = our_archive_client(java_archive.aeron_dir)
    for ask in (
        lambda: archive.find_position(0, T0),
        lambda: archive.find_end_position(0, T0),
        lambda: archive.find_time(0, 0),
        lambda: archive.time_index(0),
        lambda: archive.find_position(10**6, T0),
    ):
        with pytest.raises(TimeIndexUnavailableError, match="none of aerolog"):
            ask()
    assert archive.recording_readers() is None
    assert archive.archive_folder() is None
    assert archive.find_last_matching_recording(0, "no such channel", 1, 1) is None
    with pytest.raises(ArchiveError):
        archive.find_position(-5, T0)
    archive.find_last_matching_recording(0, "still there", 1, 1)


def test_the_tool_and_the_archive_pass_the_index_by(
    reference: peer.Toolchain,
    tmp_path: Path,
    start_server: Callable[..., Server],
    our_archive_client: Callable[..., Any],
) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    builder = RecordingBuilder(segment_length=128 * 1024)
    for _ in range(50):
        builder.add(bytes(1000))
    builder.write(folder)
    index = Path(write_time_index(folder, 0, [(T0 + 1000 * n, 1056 * n) for n in range(50)]))
    before = index.read_bytes()
    said = peer.archive_tool(folder, "verify", "-a")
    assert said.startswith("(recordingId=0) OK")
    assert "ERR" not in said
    server = start_server("reference", "archiving-driver", archive_dir=folder)
    archive = our_archive_client(server.aeron_dir)
    assert archive.stop_position(0) == builder.position
    archive.purge_recording(0)
    assert index.read_bytes() == before
