"""Folders with health files, and repaired ones, in the hands of the reference's tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peer.tools import archive_tool

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import peer


def test_the_reference_finds_nothing_wrong_with_what_was_repaired(
    reference: peer.Toolchain, tmp_path: Path
) -> None:
    for _ in range(3):
        builder = RecordingBuilder()
        for number in range(200):
            builder.add(bytes([number + 1]) * 1000)
        builder.write(tmp_path)
    for name in ("1-196608.rec", "2-0.rec"):
        with (tmp_path / name).open("r+b") as file:
            file.seek(3 * 1056 + 8)
            file.write(b"\x40")
    assert main(["verify", "--note", "--archive-dir", str(tmp_path)]) == 1
    assert main(["verify", "--repair", "--yes", "--archive-dir", str(tmp_path)]) == 0
    assert (tmp_path / "aerolog" / "health" / "0.health").exists()
    said = archive_tool(tmp_path, "verify", "-a")
    assert said.splitlines() == [f"(recordingId={number}) OK" for number in range(3)]
    with ArchiveFolder(tmp_path) as folder:
        ends = [(one.start_position, one.end_position) for one in folder.recordings()]
    assert ends == [(0, 211392), (0, 199776), (0, 211392)]
