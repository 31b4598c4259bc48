"""Truncating recordings: both archives say the same and leave the same files."""

from __future__ import annotations

import pytest
from archive_storage.teller import FRAME, SEGMENT, TERM

from aerolog.archive import protocol as ap

pytestmark = pytest.mark.interop

DELETE = ap.RecordingSignal.DELETE
TRUNCATE = ap.TruncateRecordingRequest
LENGTH = 5 * SEGMENT + 2 * FRAME


def test_truncate_recording_at_every_kind_of_position(alike) -> None:
    def scenario(t) -> None:
        recording = t.recorded(100, LENGTH)
        t.folder()
        for position in (
            3 * SEGMENT + FRAME,  # inside a segment
            3 * SEGMENT + FRAME,  # where it stops already
            3 * SEGMENT,  # at the start of a segment
            3 * SEGMENT,  # the same, the file being gone
            2 * SEGMENT + TERM,  # between the terms of a segment
            0,  # all of it
            0,  # nothing left
        ):
            t.ask(TRUNCATE, until=DELETE, recording_id=recording, position=position)
            t.describe(recording)
            t.folder()

    lines = alike(scenario)
    assert sum("signal=6" in line for line in lines) == 7
    assert sum("relevant_id=4" in line for line in lines) == 0


def test_truncate_recording_that_starts_inside_a_term(alike) -> None:
    def scenario(t) -> None:
        recording = t.recorded(101, 3 * SEGMENT, position=TERM + FRAME)
        t.folder()
        for position in (TERM, TERM + FRAME + SEGMENT, TERM + 2 * FRAME, TERM + FRAME):
            t.ask(TRUNCATE, until=DELETE, recording_id=recording, position=position)
            t.describe(recording)
            t.folder()

    assert any("invalid position 65536: start=66560" in line for line in alike(scenario))


def test_truncate_recording_refuses_positions(alike) -> None:
    def scenario(t) -> None:
        recording = t.recorded(102, LENGTH)
        for position in (-32, -1, 16, LENGTH + 32, LENGTH + 1, -(2**63), 2**63 - 1):
            t.ask(TRUNCATE, recording_id=recording, position=position)
        for unknown in (recording + 1000, -1, -(2**63), 2**63 - 1):
            t.ask(TRUNCATE, recording_id=unknown, position=0)
        t.describe(recording)
        t.folder()

    lines = alike(scenario)
    assert sum("relevant_id=16 code=1" in line for line in lines) == 7
    assert sum("relevant_id=5 code=1" in line for line in lines) == 4


def test_truncate_recording_refuses_what_is_in_use(alike) -> None:
    def scenario(t) -> None:
        live = t.start(103)
        live.publish(SEGMENT + FRAME)
        t.tell("live")
        recording = live.recording_id
        t.ask(TRUNCATE, recording_id=recording, position=0)
        t.ask(TRUNCATE, recording_id=recording, position=-1)
        with t.replaying(recording, 0, 1103):
            t.ask(TRUNCATE, recording_id=recording, position=-1)
            live.stop()
            t.tell("stopped")
            t.ask(TRUNCATE, recording_id=recording, position=-1)
        t.ask(TRUNCATE, until=DELETE, recording_id=recording, position=FRAME)
        t.folder()

    lines = alike(scenario)
    assert sum("cannot truncate active recording" in line for line in lines) == 2
    assert sum("cannot truncate recording with active replay" in line for line in lines) == 2


@pytest.mark.parametrize("implementation", ["reference", "ours"])
def test_truncate_recording_inside_a_frame_is_refused(told_of, implementation) -> None:
    stops: list[int] = []

    def scenario(t) -> None:
        recording = t.recorded(104, 2 * SEGMENT)
        t.ask(TRUNCATE, recording_id=recording, position=SEGMENT + 32)
        stops.append(t.quietly(ap.StopPositionRequest, recording_id=recording).relevant_id)
        t.folder()

    lines = told_of(implementation, scenario)
    assert any(f"{SEGMENT + 32} position not aligned to a data header" in line for line in lines)
    # The reference has lowered the stop position by then; ours has not touched anything.
    assert stops == [SEGMENT + 32 if implementation == "reference" else 2 * SEGMENT]
    assert sum(f" {SEGMENT} used={SEGMENT}" in line for line in lines) == 2


def test_extend_recording_after_truncate_recording(alike) -> None:
    def scenario(t) -> None:
        recording = t.recorded(105, 2 * SEGMENT + 3 * FRAME)
        t.ask(TRUNCATE, until=DELETE, recording_id=recording, position=SEGMENT + 5 * FRAME)
        live = t.start(105, position=SEGMENT + 5 * FRAME, extends=recording)
        live.publish(SEGMENT)
        live.stop()
        t.tell("extended")
        t.describe(recording)
        t.folder()

    assert any("stop_position=267264" in line for line in alike(scenario))
