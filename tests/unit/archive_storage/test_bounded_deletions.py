"""However many files and recordings go, a turn of the conductor does a bounded part of it."""

from __future__ import annotations

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.archive.service.storage import segment_deletion

SEGMENT = 64 * 1024
PER_SEGMENT = 64


def add_recordings(rig, count: int, segments: int) -> list[int]:
    """Recordings that nobody recorded: entries of the catalog, and empty files."""
    ids = []
    for _ in range(count):
        descriptor = RecordingDescriptor(
            recording_id=0,
            start_timestamp=1,
            stop_timestamp=2,
            start_position=0,
            stop_position=segments * SEGMENT - 1024,
            initial_term_id=0,
            segment_file_length=SEGMENT,
            term_buffer_length=SEGMENT,
            mtu_length=1408,
            session_id=1,
            stream_id=1,
            stripped_channel="aeron:ipc",
            original_channel="aeron:ipc",
            source_identity="aeron:ipc",
        )
        recording_id = rig.archive._context.catalog.add_recording(descriptor)
        for segment in range(segments):
            rig.disk.write_bytes(f"/archive/{recording_id}-{segment * SEGMENT}.rec", b"x")
        ids.append(recording_id)
    return ids


def start_all(rig, ids: list[int]) -> None:
    """All deletions at once, as if one turn had taken all requests."""
    running = rig.archive._conductor.deletions
    for recording_id in ids:
        names = [n for n in rig.disk.segments() if n.startswith(f"{recording_id}-")]
        running.start(None, -1, recording_id, names)


def test_a_turn_removes_so_many_files_of_many_recordings_and_forgets_none(rig) -> None:
    ids = add_recordings(rig, 40, 2)
    start_all(rig, ids)
    left = len(rig.disk.segments())
    assert left == 80
    seen = []
    while left:
        rig.turn()
        now = len(rig.disk.segments())
        seen.append(left - now)
        left = now
    assert max(seen) == segment_deletion.FILES_PER_TURN
    # Each recording has its turn before one has two.
    assert len(seen) == 80 // segment_deletion.FILES_PER_TURN


def test_recordings_lose_files_by_turns(rig) -> None:
    ids = add_recordings(rig, 40, 2)
    start_all(rig, ids)
    for _ in range(5):
        rig.turn()
        left = [sum(n.startswith(f"{one}-") for n in rig.disk.segments()) for one in ids]
        assert max(left) - min(left) <= 1


@pytest.mark.parametrize("per_second", [1, 10, 100])
def test_files_go_at_the_rate_that_is_asked_for(make_rig, per_second) -> None:
    rig = make_rig(delete_rate=per_second)
    (recording_id,) = add_recordings(rig, 1, 12)
    rig.pass_time(1000)
    start_all(rig, [recording_id])
    clock, before = rig.clock.now_ns(), len(rig.disk.segments())
    rig.turn(1000)
    seconds = (rig.clock.now_ns() - clock) / 1e9
    gone = before - len(rig.disk.segments())
    allowed = per_second * seconds + segment_deletion.FILES_PER_TURN
    assert min(per_second * seconds, before) - 1 <= gone <= min(allowed, before)


def test_a_rate_counts_for_all_recordings_together(make_rig) -> None:
    rig = make_rig(delete_rate=20)
    ids = add_recordings(rig, 30, 4)
    start_all(rig, ids)
    rig.turn(1000)
    assert 120 - 20 - segment_deletion.FILES_PER_TURN <= len(rig.disk.segments()) <= 120 - 20 + 1


def test_a_crowded_folder_is_looked_through_in_parts(rig, monkeypatch) -> None:
    rig.recorded(3 * PER_SEGMENT)
    monkeypatch.setattr(segment_deletion, "NAMES_PER_TURN", 10)
    for number in range(95):
        rig.disk.write_bytes(f"/archive/{number:03}.txt", b"")
    request = rig.post(ap.PurgeRecordingRequest, recording_id=0)
    running = rig.archive._conductor.deletions
    rig.wait(lambda: running.is_active(0), "the search to begin")
    before, turns = len(rig.disk.segments()), 0
    assert before == 4
    while len(rig.disk.segments()) == before:
        rig.turn()
        turns += 1
    assert turns >= 9
    rig.deleted(0)
    assert rig.answer_to(request).relevant_id == 4
    assert rig.disk.segments() == []


@pytest.mark.parametrize(
    ("request_class", "fields"),
    [
        (ap.PurgeRecordingRequest, {}),
        (ap.TruncateRecordingRequest, {"position": 0}),
        (ap.DeleteDetachedSegmentsRequest, {}),
    ],
)
def test_a_search_keeps_others_out_and_ends_with_the_archive(
    rig, monkeypatch, request_class, fields
) -> None:
    rig.recorded(4 * PER_SEGMENT)
    rig.ask(ap.DetachSegmentsRequest, recording_id=0, new_start_position=2 * SEGMENT)
    if "position" in fields:
        fields = {"position": 2 * SEGMENT}
    monkeypatch.setattr(segment_deletion, "NAMES_PER_TURN", 1)
    request = rig.post(request_class, recording_id=0, **fields)
    running = rig.archive._conductor.deletions
    rig.wait(lambda: running.is_active(0), "the search to begin")
    assert running.reaches(0, 2**62)
    assert rig.answers(request) == []
    rig.archive.close()
    left = rig.disk.segments()
    kept = request_class is ap.DeleteDetachedSegmentsRequest
    assert left == ([f"0-{at * SEGMENT}.rec" for at in (2, 3, 4)] if kept else [])


def test_a_folder_that_cannot_be_listed_changes_nothing(rig, monkeypatch) -> None:
    rig.recorded(PER_SEGMENT)

    def fail(_path: str) -> list[str]:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(rig.disk, "scan_dir", fail)
    code, text = rig.refused(ap.PurgeRecordingRequest, recording_id=0)
    assert code == 0
    assert "Input/output error" in text
    assert rig.start_position(0) == 0
    assert len(rig.disk.segments()) == 2
