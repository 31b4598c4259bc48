"""Files go one a cycle, behind the catalog's back and whatever stands in the way."""

from __future__ import annotations

import errno

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.format.catalog_file import CatalogReader

SEGMENT = 64 * 1024
PER_SEGMENT = 64
ANOTHER = "another delete operation in progress for recording id: 0"


def test_one_file_goes_in_a_cycle(rig) -> None:
    rig.recorded(5 * PER_SEGMENT)
    assert len(rig.disk.segments()) == 6
    request = rig.post(ap.PurgeRecordingRequest, recording_id=0)
    rig.wait(lambda: len(rig.disk.segments()) < 6, "the first file to go")
    left = len(rig.disk.segments())
    for expected in range(left - 1, -1, -1):
        rig.turn()
        assert len(rig.disk.segments()) == expected
    rig.deleted(0)
    assert rig.answer_to(request).relevant_id == 6


def test_nothing_but_segments_of_the_recording_goes(rig) -> None:
    rig.recorded(PER_SEGMENT)
    others = ["0-notes.txt", "00-0.rec", "10-0.rec", "1-0.rec", "0.rec", "-0.rec"]
    for name in others:
        rig.disk.write_bytes(f"/archive/{name}", b"somebody's")
    rig.disk.write_bytes("/archive/0-7.rec.del", b"old")
    assert rig.ask(ap.PurgeRecordingRequest, recording_id=0) == 3
    rig.deleted(0)
    names = rig.disk.list_dir("/archive")
    assert set(others) <= set(names)
    assert not any(name.startswith("0-") and ".rec" in name for name in names)


def test_a_file_that_was_renamed_before_goes_too(rig) -> None:
    rig.recorded(3 * PER_SEGMENT)
    rig.disk.rename(f"/archive/0-{SEGMENT}.rec", f"/archive/0-{SEGMENT}.rec.del")
    assert rig.ask(ap.PurgeSegmentsRequest, recording_id=0, new_start_position=2 * SEGMENT) == 2
    rig.deleted(0)
    assert rig.disk.segments() == [f"0-{2 * SEGMENT}.rec", f"0-{3 * SEGMENT}.rec"]


def test_a_file_that_stays_is_told_and_the_others_go(rig) -> None:
    rig.recorded(3 * PER_SEGMENT)
    name = f"0-{SEGMENT}.rec"
    rig.disk.refused["remove", name] = OSError(errno.EACCES, "Permission denied")
    request = rig.post(ap.PurgeRecordingRequest, recording_id=0)
    rig.deleted(0)
    ok, error = rig.answers(request)
    assert (ok.code, ok.relevant_id) == (ap.ControlResponseCode.OK, 4)
    assert (error.code, error.relevant_id) == (ap.ControlResponseCode.ERROR, 0)
    assert error.error_message == f"unable to delete segment file: /archive/{name}"
    assert rig.disk.segments() == [name]
    assert any(f"unable to delete segment file: /archive/{name}" in t for t in rig.errors())


@pytest.mark.parametrize(
    ("request_class", "fields"),
    [
        (ap.TruncateRecordingRequest, {"recording_id": 0, "position": SEGMENT}),
        (ap.PurgeRecordingRequest, {"recording_id": 0}),
        (ap.PurgeSegmentsRequest, {"recording_id": 0, "new_start_position": SEGMENT}),
        (ap.DeleteDetachedSegmentsRequest, {"recording_id": 0}),
        (ap.AttachSegmentsRequest, {"recording_id": 0}),
        (ap.MigrateSegmentsRequest, {"src_recording_id": 0, "dst_recording_id": 1}),
    ],
)
def test_one_deletion_of_a_recording_at_a_time(rig, request_class, fields) -> None:
    rig.recorded(8 * PER_SEGMENT)
    rig.recorded(1, position=4 * SEGMENT)
    first = rig.post(ap.TruncateRecordingRequest, recording_id=0, position=4 * SEGMENT)
    second = rig.post(request_class, **fields)
    refusal = rig.answer_to(second)
    assert (refusal.relevant_id, refusal.error_message) == (0, ANOTHER)
    rig.deleted(0)
    assert rig.answer_to(first).relevant_id == 5
    assert rig.stop_position(0) == 4 * SEGMENT
    assert rig.start_position(0) == 0


def test_a_recording_is_not_extended_over_files_that_go(rig) -> None:
    rig.recorded(8 * PER_SEGMENT)
    rig.post(ap.TruncateRecordingRequest, recording_id=0, position=4 * SEGMENT)
    extend = rig.post(
        ap.ExtendRecordingRequest,
        recording_id=0,
        stream_id=1,
        source_location=ap.SourceLocation.LOCAL,
        channel="aeron:ipc",
    )
    assert rig.answer_to(extend).error_message == (
        "cannot extend recording 0 due to an outstanding delete operation"
    )


def test_a_recording_is_extended_while_files_before_it_go(rig) -> None:
    rig.recorded(8 * PER_SEGMENT)
    rig.post(ap.PurgeSegmentsRequest, recording_id=0, new_start_position=6 * SEGMENT)
    extend = rig.post(
        ap.ExtendRecordingRequest,
        recording_id=0,
        stream_id=1,
        source_location=ap.SourceLocation.LOCAL,
        channel="aeron:ipc",
    )
    assert rig.answer_to(extend).code == ap.ControlResponseCode.OK
    rig.deleted(0)


def test_a_deletion_outlives_the_session_that_asked_for_it(rig) -> None:
    rig.recorded(8 * PER_SEGMENT)
    rig.post(ap.PurgeRecordingRequest, recording_id=0)
    rig.send(ap.CloseSessionRequest(control_session_id=rig.session_id))
    rig.wait(lambda: not rig.disk.segments(), "all files to go")
    assert not any("Traceback" in text for text in rig.errors())


def test_an_archive_that_ends_removes_what_it_has_promised(rig) -> None:
    rig.recorded(20 * PER_SEGMENT)
    assert rig.ask(ap.PurgeRecordingRequest, recording_id=0) == 21
    assert len(rig.disk.segments()) > 5
    rig.archive.close()
    assert rig.disk.segments() == []
    with CatalogReader.open("/archive", rig.disk) as catalog:
        assert 0 not in catalog


def test_two_recordings_lose_files_side_by_side(rig) -> None:
    rig.recorded(4 * PER_SEGMENT)
    rig.recorded(4 * PER_SEGMENT)
    rig.post(ap.PurgeRecordingRequest, recording_id=0)
    rig.post(ap.PurgeRecordingRequest, recording_id=1)
    rig.wait(lambda: len(rig.disk.segments()) < 10, "the first files to go")
    before = len(rig.disk.segments())
    rig.turn()
    assert len(rig.disk.segments()) == before - 2
    rig.deleted(0)
    rig.deleted(1)
