"""What operations would change, worked out from descriptors."""

from dataclasses import replace

import pytest

from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.tools.recordings import change_plans

K = 1024
TERM = 64 * K
SEGMENT = 128 * K


def recording(start: int, stop: int, recording_id: int = 3) -> RecordingDescriptor:
    return RecordingDescriptor(
        recording_id=recording_id,
        start_timestamp=0,
        start_position=start,
        stop_position=stop,
        initial_term_id=7,
        segment_file_length=SEGMENT,
        term_buffer_length=TERM,
        mtu_length=1408,
        session_id=99,
        stream_id=1002,
        stripped_channel="aeron:ipc",
        original_channel="aeron:ipc",
        source_identity="aeron:ipc",
    )


ACTIVE = recording(0, -1)


@pytest.mark.parametrize(
    ("start", "stop", "position", "files"),
    [
        (0, 307200, 131072 + 1024, 1),  # spec archive-protocol 14.1
        (0, 307200, 131072, 2),
        (0, 307200, 0, 3),
        (0, 307200, 307200, 0),
        (0, 307200, 300000 // 32 * 32, 0),
        (64, 307200, 64, 3),
        (TERM + 64, TERM + 64 + SEGMENT, TERM + 128, 1),  # bases are counted from the term's
    ],
)
def test_truncation_deletes_the_segments_behind_the_position(
    start: int, stop: int, position: int, files: int
) -> None:
    plan = change_plans.truncation(recording(start, stop), position)

    assert plan.refusal is None
    assert (plan.files, plan.file_bytes) == (files, files * SEGMENT)
    assert plan.changes == (change_plans.Change(3, "stop_position", stop, position),)


@pytest.mark.parametrize(
    ("position", "why"),
    [(32, "outside the recording, which has 64 to 4096"), (4128, "outside"), (100, "multiple of")],
)
def test_truncation_elsewhere_is_refused(position: int, why: str) -> None:
    assert why in str(change_plans.truncation(recording(64, 4096), position).refusal)


def test_what_is_active_is_neither_cut_nor_removed_nor_moved() -> None:
    for plan in (
        change_plans.truncation(ACTIVE, 32),
        change_plans.purge(ACTIVE),
        change_plans.migration(ACTIVE, recording(0, 0, 4)),
    ):
        assert plan.refusal == "recording 3 is active: stop it first (aerolog recordings stop 3)"


@pytest.mark.parametrize(
    ("start", "stop", "files"), [(0, 0, 1), (0, SEGMENT - 32, 1), (64, 307200, 3)]
)
def test_purging_deletes_every_segment(start: int, stop: int, files: int) -> None:
    plan = change_plans.purge(recording(start, stop))

    assert (plan.files, plan.refusal) == (files, None)


@pytest.mark.parametrize("end", [3 * SEGMENT + 32, 3 * SEGMENT])
def test_segments_up_to_the_last_can_be_detached(end: int) -> None:
    for active in (recording(64, end), replace(recording(64, end), stop_position=-1)):
        for position, files in ((SEGMENT, 1), (3 * SEGMENT, 3)):
            plan = change_plans.detachment(active, end, position, delete=False)
            assert (plan.refusal, plan.files) == (None, files)
            assert plan.fate.startswith("left in")
    assert change_plans.detachment(recording(64, end), end, SEGMENT, delete=True).fate == "deleted"


@pytest.mark.parametrize(
    ("position", "nearest"),
    [(0, SEGMENT), (SEGMENT - 1, SEGMENT), (SEGMENT + 1, SEGMENT), (9 * SEGMENT, 3 * SEGMENT)],
)
def test_other_starts_are_refused_with_the_nearest(position: int, nearest: int) -> None:
    end = 3 * SEGMENT + 32

    refusal = change_plans.detachment(recording(0, end), end, position, delete=True).refusal

    assert refusal is not None
    assert f": {nearest} is, and so is every {SEGMENT} from {SEGMENT} to {3 * SEGMENT}" in refusal


def test_a_single_segment_is_not_detached() -> None:
    refusal = change_plans.detachment(recording(0, 4096), 4096, SEGMENT, delete=True).refusal

    assert refusal == "recording 3 has one segment, and keeps its last one"


def test_what_may_lie_before_the_start_is_counted() -> None:
    assert change_plans.deletion_of_detached(recording(0, 4096)).files == 0
    assert change_plans.deletion_of_detached(recording(2 * SEGMENT, 3 * SEGMENT)).files == 2
    assert change_plans.attachment(recording(0, 4096)).changes == ()
    plan = change_plans.attachment(recording(2 * SEGMENT, 3 * SEGMENT))
    assert plan.changes == (change_plans.Change(3, "start_position", 2 * SEGMENT, 0),)


def test_segments_move_to_the_beginning_or_the_end() -> None:
    older, newer = recording(64, 2 * SEGMENT, 1), recording(2 * SEGMENT, 3 * SEGMENT + 96, 2)

    before = change_plans.migration(older, newer)
    behind = change_plans.migration(newer, older)

    assert (before.files, behind.files) == (2, 2)
    assert before.changes == (
        change_plans.Change(1, "stop_position", 2 * SEGMENT, 64),
        change_plans.Change(2, "start_position", 2 * SEGMENT, 64),
    )
    assert behind.changes == (
        change_plans.Change(2, "stop_position", 3 * SEGMENT + 96, 2 * SEGMENT),
        change_plans.Change(1, "stop_position", 2 * SEGMENT, 3 * SEGMENT + 96),
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"mtu_length": 4096}, "the recordings differ in mtu length: 1408 and 4096"),
        ({"stream_id": 1}, "stream id"),
        ({"initial_term_id": 1}, "initial term id"),
        ({"term_buffer_length": 2 * TERM}, "term buffer length"),
        ({"segment_file_length": 2 * SEGMENT}, "segment file length"),
        ({"start_position": 3 * SEGMENT}, "do not join"),
    ],
)
def test_segments_that_do_not_fit_stay_where_they_are(change: dict[str, int], why: str) -> None:
    newer = replace(recording(2 * SEGMENT, 4 * SEGMENT, 2), **change)

    assert why in str(change_plans.migration(recording(0, 2 * SEGMENT, 1), newer).refusal)


def test_a_seam_within_a_segment_is_refused() -> None:
    plan = change_plans.migration(recording(0, 4096, 1), recording(4096, 8192, 2))

    assert plan.refusal == "they join at position 4096, where no segment begins"


def test_a_plan_as_text_and_as_json() -> None:
    plan = change_plans.truncation(recording(0, 307200), 131072)

    assert plan.lines() == [
        "truncate recording 3 (aeron:ipc stream 1002) to position 131072",
        "  recording 3: stop_position 307200 -> 131072",
        f"  up to 2 segment files, {2 * SEGMENT} bytes, deleted",
    ]
    assert plan.row() == {
        "dry_run": True,
        "refusal": None,
        "changes": [
            {"recording_id": 3, "field": "stop_position", "before": 307200, "after": 131072}
        ],
        "segment_files_at_most": 2,
        "segment_bytes_at_most": 2 * SEGMENT,
        "segment_files_are": "deleted",
    }
