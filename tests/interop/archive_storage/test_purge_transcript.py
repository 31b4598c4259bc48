"""Purging recordings, and files that cannot be removed: both archives say the same."""

from __future__ import annotations

import pytest
from archive_storage.teller import FRAME, SEGMENT

from aerolog.archive import protocol as ap

pytestmark = pytest.mark.interop

DELETE = ap.RecordingSignal.DELETE
PURGE = ap.PurgeRecordingRequest


def test_purge_recording_removes_every_file(alike) -> None:
    def scenario(t) -> None:
        kept = t.recorded(100, SEGMENT)
        recording = t.recorded(100, 3 * SEGMENT + FRAME)
        last = t.path(f"{recording}-{3 * SEGMENT}.rec")
        last.rename(f"{last}.del")
        t.path(f"{recording}-notes.txt").write_bytes(b"somebody's")
        t.ask(PURGE, until=DELETE, recording_id=recording)
        t.folder()
        t.describe(recording)
        t.describe(kept)
        for request in (
            PURGE,
            ap.StartPositionRequest,
            ap.StopPositionRequest,
            ap.AttachSegmentsRequest,
            ap.DeleteDetachedSegmentsRequest,
        ):
            t.ask(request, recording_id=recording)

    lines = alike(scenario)
    assert any("relevant_id=4 code=0" in line for line in lines)
    assert sum("unknown recording id" in line for line in lines) == 5


def test_purge_recording_of_nothing(alike) -> None:
    def scenario(t) -> None:
        recording = t.recorded(101, FRAME)
        t.ask(ap.TruncateRecordingRequest, until=DELETE, recording_id=recording, position=0)
        t.ask(PURGE, until=DELETE, recording_id=recording)
        for unknown in (recording, recording + 1000, -1, -(2**63), 2**63 - 1):
            t.ask(PURGE, recording_id=unknown)

    assert any("relevant_id=0 code=0" in line for line in alike(scenario))


def test_purge_recording_refuses_what_is_in_use(alike) -> None:
    def scenario(t) -> None:
        live = t.start(102)
        live.publish(SEGMENT + FRAME)
        t.tell("live")
        recording = live.recording_id
        t.ask(PURGE, recording_id=recording)
        with t.replaying(recording, 0, 1102):
            t.ask(PURGE, recording_id=recording)
            live.stop()
            t.tell("stopped")
            t.ask(PURGE, recording_id=recording)
        t.ask(PURGE, until=DELETE, recording_id=recording)
        t.folder()

    lines = alike(scenario)
    assert sum("cannot purge active recording" in line for line in lines) == 1
    assert sum("cannot purge recording with active replay" in line for line in lines) == 2


@pytest.mark.error_log("IsADirectoryError")
def test_purge_recording_with_a_file_that_cannot_be_removed(alike) -> None:
    def scenario(t) -> None:
        recording = t.recorded(103, 3 * SEGMENT)
        blocked = t.path(f"{recording}-{SEGMENT}.rec")
        blocked.unlink()
        blocked.mkdir()
        (blocked / "inside").write_bytes(b"x")
        t.ask(PURGE, until=DELETE, recording_id=recording)
        t.folder()

    lines = alike(scenario)
    assert sum("unable to delete segment file: <folder>/" in line for line in lines) == 1
    assert sum("is no file" in line for line in lines) == 1


def test_purged_ids_are_not_given_again(alike) -> None:
    def scenario(t) -> None:
        recording = t.recorded(104, FRAME)
        t.ask(PURGE, until=DELETE, recording_id=recording)
        assert t.recorded(104, FRAME) == recording + 1
        t.folder()

    alike(scenario)
