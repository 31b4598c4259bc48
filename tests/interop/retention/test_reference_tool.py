"""The reference's tool finds nothing to complain of in a folder that retention has been in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from archive_tool_runs import reference_says

from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.retention.archive_access import StoppedArchive
from aerolog.archive.retention.clock import read_clock
from aerolog.archive.retention.holds import Holds
from aerolog.archive.retention.policy_file import parse_policies
from aerolog.archive.retention.run import Retention
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

SEGMENT = 64 * 1024
LONG_AGO_NS = 1_700_000_000_500_000_000
POLICIES = """
[[policy]]
name = "cut"
stream = "10-11"
max_size = "128k"
[[policy]]
name = "old"
stream = 12
max_age = "1d"
"""


def test_a_folder_of_which_segments_and_recordings_went_is_verified(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    for stream_id in (10, 11, 12):
        builder = RecordingBuilder(stream_id=stream_id, checksum=checksum_for("CRC-32C"))
        while builder.position < 4 * SEGMENT + 5000:
            builder.add(bytes(1000))
        times = [(LONG_AGO_NS, 0), (LONG_AGO_NS + 1, builder.position - 1)]
        write_time_index(folder, builder.write(folder), times)
    Holds.open(folder).add(1, "audit")
    files = RealFileSystem()
    retention = Retention(
        archive_dir=folder,
        policies=parse_policies(POLICIES),
        files=files,
        read_clock=read_clock,
        accept_clock=True,  # the recordings were made long ago
    )
    with StoppedArchive.borrow(folder, files) as door:
        _, applied = retention.run(door)
    assert applied is not None
    assert [step.recording_id for step in applied.done] == [0, 2]
    crc32c = "io.aeron.archive.checksum.Crc32c"
    said = reference_says(folder, "verify", "-a", "-checksum", crc32c)
    assert "ERR" not in said.out + said.err
    assert said.out.count(") OK") == 2, said
    assert not list(folder.glob("2-*.rec"))
    assert min(one.name for one in folder.glob("0-*.rec")) == f"0-{3 * SEGMENT}.rec"
