"""Folders after storage requests: the reference's tool finds them sound, the other make goes on."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import peer
import pytest
from archive_storage.teller import FRAME, SEGMENT, TERM, Teller

from aerolog.archive import protocol as ap
from aerolog.archive.format.archive_folder import ArchiveFolder

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.interop

DELETE = ap.RecordingSignal.DELETE
OTHER = {"ours": "reference", "reference": "ours"}


def change_everything(t: Teller) -> dict[int, tuple[int, int]]:
    """Each storage request once; recordings that are left with their start and stop."""
    cut = t.recorded(100, 3 * SEGMENT)
    t.ask(ap.TruncateRecordingRequest, until=DELETE, recording_id=cut, position=SEGMENT + TERM)
    emptied = t.recorded(101, SEGMENT)
    t.ask(ap.TruncateRecordingRequest, until=DELETE, recording_id=emptied, position=0)
    gone = t.recorded(102, 2 * SEGMENT)
    t.ask(ap.PurgeRecordingRequest, until=DELETE, recording_id=gone)
    front = t.recorded(103, 3 * SEGMENT + FRAME, position=TERM + FRAME)
    t.ask(
        ap.PurgeSegmentsRequest,
        until=DELETE,
        recording_id=front,
        new_start_position=TERM + SEGMENT,
    )
    back = t.recorded(104, 3 * SEGMENT + FRAME)
    t.ask(ap.DetachSegmentsRequest, recording_id=back, new_start_position=3 * SEGMENT)
    t.ask(ap.AttachSegmentsRequest, recording_id=back)
    t.ask(ap.DetachSegmentsRequest, recording_id=back, new_start_position=2 * SEGMENT)
    t.ask(ap.DeleteDetachedSegmentsRequest, until=DELETE, recording_id=back)
    source = t.recorded(105, 2 * SEGMENT)
    target = t.recorded(105, FRAME, position=2 * SEGMENT)
    t.ask(ap.MigrateSegmentsRequest, until=DELETE, src_recording_id=source, dst_recording_id=target)
    t.ask(ap.UpdateChannelRequest, recording_id=cut, channel="aeron:ipc?alias=" + "x" * 700)
    t.ask(ap.UpdateChannelRequest, recording_id=back, channel="aeron:ipc?alias=" + "y" * 100)
    live = t.start(100, position=SEGMENT + TERM, extends=cut)
    live.publish(SEGMENT)
    live.stop()
    return {
        cut: (0, 2 * SEGMENT + TERM),
        emptied: (0, 0),
        front: (TERM + SEGMENT, TERM + 2 * FRAME + 3 * SEGMENT),
        back: (2 * SEGMENT, 3 * SEGMENT + FRAME),
        source: (0, 0),
        target: (0, 2 * SEGMENT + FRAME),
    }


@pytest.fixture(params=["ours", "reference"])
def changed(request, start_server, tmp_path: Path) -> tuple[str, Path, dict[int, tuple[int, int]]]:
    """Who has changed a folder, the folder, what it must hold."""
    server = start_server(request.param, "archiving-driver", archive_dir=tmp_path / "archive")
    teller = Teller(server)
    expected = change_everything(teller)
    teller.close()
    assert server.process.stop() == 0
    return request.param, server.archive_dir, expected


def check_content(folder: Path, expected: dict[int, tuple[int, int]]) -> None:
    """Every recording is there from start to stop, frame by frame."""
    with ArchiveFolder(folder) as archive:
        found = {
            d.recording_id: (d.start_position, d.stop_position)
            for d in archive.catalog.descriptors()
        }
        assert found == expected
        for recording_id, (start, stop) in expected.items():
            count = sum(1 for _ in archive.recording(recording_id).messages())
            assert count == (stop - start) // FRAME


def test_the_tool_finds_a_changed_folder_sound(changed) -> None:
    _, folder, expected = changed
    check_content(folder, expected)
    said = peer.archive_tool(folder, "verify", "-a")
    verdicts = {line for line in said.splitlines() if line.startswith("(recordingId=")}
    assert verdicts == {f"(recordingId={i}) OK" for i in expected} | {
        "(recordingId=2) skipping: DELETED"
    }
    check_content(folder, expected)


def test_the_other_make_goes_on_with_a_changed_folder(changed, start_server, tmp_path) -> None:
    maker, folder, expected = changed
    moved = tmp_path / "moved"
    shutil.copytree(folder, moved)
    server = start_server(OTHER[maker], "archiving-driver", archive_dir=moved)
    t = Teller(server)
    cut = min(expected)
    for recording_id, (start, stop) in expected.items():
        for kind, position in (
            (ap.StartPositionRequest, start),
            (ap.StopPositionRequest, stop),
        ):
            assert t.quietly(kind, recording_id=recording_id).relevant_id == position
    live = t.start(100, position=2 * SEGMENT + TERM, extends=cut)
    live.publish(SEGMENT)
    live.stop()
    answer = t.ask(
        ap.PurgeSegmentsRequest, until=DELETE, recording_id=cut, new_start_position=2 * SEGMENT
    )
    assert (answer.code, answer.relevant_id) == (ap.ControlResponseCode.OK, 2)
    t.close()
    assert server.process.stop() == 0
    check_content(moved, expected | {cut: (2 * SEGMENT, 3 * SEGMENT + TERM)})
