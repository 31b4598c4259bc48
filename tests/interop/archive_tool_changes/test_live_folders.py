"""Folders put right by ours under the reference's archive, and folders of archives that run."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import damaged_segments as ds
import pytest
from archive_tool_beside import run_ours, run_theirs
from waits import wait_until

from aerolog.archive.client import AeronArchive
from aerolog.tools.main import main
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from pathlib import Path

    from peer.tool_runner import ToolRunner

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

CHANNEL = "aeron:ipc?term-length=64k"


def test_what_ours_puts_right_the_references_archive_starts_on(
    start_server: Any, folder: Path
) -> None:
    ds.zeros_from("14-0.rec", 8192)(folder)  # with this the reference refuses to start
    in_folder = ["--archive-dir", str(folder), "--yes"]
    assert main(["verify", "--repair", *in_folder]) == 0
    assert main(["recordings", "mark-valid", "10", *in_folder]) == 0
    for command in ("compact", "delete-orphaned"):
        assert main(["recordings", command, *in_folder]) == 0
    server = start_server("reference", "archiving-driver", archive_dir=folder)
    with Aeron(server.aeron_dir) as aeron, AeronArchive(aeron) as archive:
        stops = {one.recording_id: one.stop_position for one in archive.recordings()}
    # 6 was deleted; 10 was marked invalid and is sound; 14 ends before its last frame.
    assert sorted(stops) == [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14]
    assert (stops[13], stops[14]) == (72480, 7776)


@pytest.mark.parametrize("implementation", ["ours", "reference"])
def test_verify_on_a_running_archive(
    implementation: str, start_server: Any, stream_id: int, runner: ToolRunner
) -> None:
    server = start_server(implementation, "archiving-driver")
    with Aeron(server.aeron_dir) as aeron, AeronArchive(aeron) as archive:
        archive.start_recording(CHANNEL, stream_id)
        with aeron.add_exclusive_publication(CHANNEL, stream_id) as publication:
            publication.wait_connected(30, writable=True)
            (entry,) = wait_until(
                lambda: list(archive.recordings(stream_id=stream_id)), "the recording"
            )
            for _ in range(20):
                publication.send(b"x" * 1000, timeout=30)
            end = publication.position
            wait_until(
                lambda: archive.recording_position(entry.recording_id) == end, "all to be recorded"
            )
            catalog = server.archive_dir / "archive.catalog"
            before = catalog.read_bytes()
            repair = ["verify", "--repair", "--yes", "--archive-dir", str(server.archive_dir)]
            assert main(repair) == 0
            assert catalog.read_bytes() == before
            # The reference's tool, and so ours, writes a stop position.
            ours = run_ours(server.archive_dir, "verify", "-a")
            assert (ours.code, ours.out) == (0, f"(recordingId={entry.recording_id}) OK\n")
            (listed,) = archive.recordings(stream_id=stream_id)
            assert listed.stop_position == end
            theirs = run_theirs(runner, server.archive_dir, "verify", "-a")
            assert (theirs.code, theirs.out) == (ours.code, ours.out)
            # It is what everybody sees until the recording goes on and stops.
            publication.send(b"y" * 1000, timeout=30)
            after = publication.position
            wait_until(lambda: archive.recording_position(entry.recording_id) == after, "the rest")
        wait_until(lambda: next(iter(archive.recordings())).stop_position == after, "its stop")


def test_json_of_a_verification_has_what_the_lines_say(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ds.length("3-0.rec", 8, 4711)(folder)
    copy = shutil.copytree(folder, folder.with_name("copy"))
    assert main(["archive-tool", str(copy), "verify", "-a", "--json"]) == 255
    told = json.loads(capsys.readouterr().out)
    said = run_ours(folder, "verify", "-a")
    problems = {row["recording_id"]: row["problem"] for row in told}
    assert f"ERR: {problems[3]}\n" in said.out
    assert [i for i, problem in problems.items() if problem] == [3]
