"""Detaching, attaching, deleting and purging segments: both archives say the same."""

from __future__ import annotations

import pytest
from archive_storage.teller import FRAME, SEGMENT, TERM

from aerolog.archive import protocol as ap

pytestmark = pytest.mark.interop

DELETE = ap.RecordingSignal.DELETE
DETACH = ap.DetachSegmentsRequest
ATTACH = ap.AttachSegmentsRequest
DELETE_DETACHED = ap.DeleteDetachedSegmentsRequest
PURGE_SEGMENTS = ap.PurgeSegmentsRequest
UNKNOWN = (9999, -1, -(2**63), 2**63 - 1)


@pytest.mark.parametrize("request_class", [DETACH, PURGE_SEGMENTS])
def test_detach_segments_and_purge_segments_refuse_positions(alike, request_class) -> None:
    def scenario(t) -> None:
        recording = t.recorded(100, 5 * SEGMENT + 2 * FRAME)
        within = t.recorded(100, 3 * SEGMENT, position=TERM + FRAME)
        positions = [-1, -SEGMENT, 0, 32, SEGMENT + 32, 6 * SEGMENT, 5 * SEGMENT + 2 * FRAME]
        positions += [-(2**63), 2**63 - 1, 2**62, TERM, SEGMENT - 32]
        for position in positions:
            t.ask(request_class, recording_id=recording, new_start_position=position)
        for position in (
            0,
            TERM,
            SEGMENT,
            TERM + FRAME,
            TERM + FRAME + SEGMENT,
            TERM + 4 * SEGMENT,
        ):
            t.ask(request_class, recording_id=within, new_start_position=position)
        for unknown in UNKNOWN:
            t.ask(request_class, recording_id=unknown, new_start_position=0)
        t.describe(recording)
        t.describe(within)
        t.folder()

    lines = alike(scenario)
    assert not any("code=0" in line for line in lines)
    assert any("lowerBound=131072" in line for line in lines)
    assert any("in use, newStartPosition=786432 upperBound=655360" in line for line in lines)


def test_detach_segments_and_attach_segments_are_opposites(alike) -> None:
    def scenario(t) -> None:
        recording = t.recorded(101, 5 * SEGMENT + FRAME)
        t.ask(DETACH, recording_id=recording, new_start_position=2 * SEGMENT)
        t.describe(recording)
        t.ask(DETACH, recording_id=recording, new_start_position=2 * SEGMENT)
        t.ask(DETACH, recording_id=recording, new_start_position=5 * SEGMENT)
        t.folder()
        t.ask(ATTACH, recording_id=recording)
        t.ask(ATTACH, recording_id=recording)
        t.describe(recording)
        for unknown in UNKNOWN:
            t.ask(ATTACH, recording_id=unknown)

    assert any("relevant_id=5 code=0" in line for line in alike(scenario))


def test_attach_segments_finds_a_start_inside_a_term(alike) -> None:
    def scenario(t) -> None:
        recording = t.recorded(102, 3 * SEGMENT, position=SEGMENT + TERM + 2 * FRAME)
        t.ask(DETACH, recording_id=recording, new_start_position=SEGMENT + TERM + 2 * SEGMENT)
        t.ask(ATTACH, recording_id=recording)
        t.describe(recording)
        t.ask(ATTACH, recording_id=recording)

    assert any(f"start_position={SEGMENT + TERM + 2 * FRAME}" in line for line in alike(scenario))


def test_delete_detached_segments(alike) -> None:
    def scenario(t) -> None:
        recording = t.recorded(103, 5 * SEGMENT + FRAME)
        t.ask(DELETE_DETACHED, until=DELETE, recording_id=recording)
        t.ask(DETACH, recording_id=recording, new_start_position=3 * SEGMENT)
        t.ask(DELETE_DETACHED, until=DELETE, recording_id=recording)
        t.folder()
        t.ask(DELETE_DETACHED, until=DELETE, recording_id=recording)
        t.ask(ATTACH, recording_id=recording)
        for unknown in UNKNOWN:
            t.ask(DELETE_DETACHED, recording_id=unknown)

    lines = alike(scenario)
    assert any("relevant_id=3 code=0" in line for line in lines)
    assert sum("signal=6" in line for line in lines) == 3


def test_delete_detached_segments_with_holes_and_old_names(alike) -> None:
    def scenario(t) -> None:
        recording = t.recorded(104, 6 * SEGMENT)
        t.ask(DETACH, recording_id=recording, new_start_position=5 * SEGMENT)
        t.path(f"{recording}-{SEGMENT}.rec").unlink()
        old = t.path(f"{recording}-{2 * SEGMENT}.rec")
        old.rename(f"{old}.del")
        t.path(f"{recording}-notes.txt").write_bytes(b"somebody's")
        t.ask(ATTACH, recording_id=recording)
        t.ask(DETACH, recording_id=recording, new_start_position=5 * SEGMENT)
        t.folder()
        t.ask(DELETE_DETACHED, until=DELETE, recording_id=recording)
        t.folder()

    lines = alike(scenario)
    assert any("relevant_id=5 code=0" in line for line in lines)
    assert any("-notes.txt" in line for line in lines)


def test_purge_segments(alike) -> None:
    def scenario(t) -> None:
        recording = t.recorded(105, 5 * SEGMENT, position=TERM + FRAME)
        t.ask(
            PURGE_SEGMENTS,
            until=DELETE,
            recording_id=recording,
            new_start_position=TERM + 2 * SEGMENT,
        )
        t.describe(recording)
        t.folder()
        t.ask(ATTACH, recording_id=recording)
        t.ask(
            PURGE_SEGMENTS,
            until=DELETE,
            recording_id=recording,
            new_start_position=TERM + 5 * SEGMENT,
        )
        t.folder()

    assert sum("signal=6" in line for line in alike(scenario)) == 2


def test_segments_of_a_live_recording(alike) -> None:
    def scenario(t) -> None:
        live = t.start(106)
        live.publish(3 * SEGMENT + FRAME)
        t.tell("live")
        recording = live.recording_id
        t.ask(DETACH, recording_id=recording, new_start_position=4 * SEGMENT)
        t.ask(DETACH, recording_id=recording, new_start_position=SEGMENT)
        t.ask(ATTACH, recording_id=recording)
        t.ask(DETACH, recording_id=recording, new_start_position=SEGMENT)
        t.ask(DELETE_DETACHED, until=DELETE, recording_id=recording)
        t.ask(PURGE_SEGMENTS, until=DELETE, recording_id=recording, new_start_position=2 * SEGMENT)
        live.publish(FRAME)
        live.stop()
        t.tell("stopped")
        t.describe(recording)
        t.folder()

    assert any("upperBound=393216" in line for line in alike(scenario))


@pytest.mark.parametrize("request_class", [DETACH, PURGE_SEGMENTS])
def test_detach_segments_under_a_replay_is_refused(alike, request_class) -> None:
    def scenario(t) -> None:
        live = t.start(107)
        live.publish(3 * SEGMENT + FRAME)
        t.tell("live")
        recording = live.recording_id
        with t.replaying(recording, SEGMENT, 1107, options="|session-id=77"):
            t.ask(request_class, recording_id=recording, new_start_position=2 * SEGMENT)
            done = DELETE if request_class is PURGE_SEGMENTS else None
            t.ask(request_class, until=done, recording_id=recording, new_start_position=SEGMENT)
        live.stop()
        t.tell("stopped")

    (refusal,) = [line for line in alike(scenario) if "replay in progress" in line]
    assert f"state=REPLAY newStartPosition={2 * SEGMENT} upperBound={SEGMENT}" in refusal
    assert "sessionId=77 streamId=1107" in refusal


FILES = {
    "short": lambda data: data[:1000],
    "long": lambda data: data + bytes(32),
    "empty": lambda _: b"",
    "zeros": lambda data: bytes(len(data)),
    "wrong term": lambda data: data[:20] + b"\x09\0\0\0" + data[24:],
    "wrong stream": lambda data: data[:16] + b"\x09\0\0\0" + data[20:],
    "begins late": lambda data: bytes(2 * FRAME) + data[2 * FRAME :],
    "begins in the second term": lambda data: bytes(TERM + FRAME) + data[TERM + FRAME :],
    "negative length": lambda data: b"\xff\xff\xff\xff" + data[4:],
    "wrong type": lambda data: data[:6] + b"\x05\0" + data[8:],
    "wrong offset": lambda data: data[:8] + b"\x20\0\0\0" + data[12:],
    "huge length": lambda data: b"\xff\xff\xff\x7f" + data[4:],
    "text": lambda data: (b"not a segment at all " * (len(data) // 21 + 1))[: len(data)],
}


@pytest.mark.parametrize("change", FILES)
def test_attach_segments_looks_at_what_it_attaches(alike, change: str) -> None:
    def scenario(t) -> None:
        recording = t.recorded(108, 4 * SEGMENT + FRAME)
        t.ask(DETACH, recording_id=recording, new_start_position=3 * SEGMENT)
        file = t.path(f"{recording}-{SEGMENT}.rec")
        file.write_bytes(FILES[change](file.read_bytes()))
        t.ask(ATTACH, recording_id=recording)
        t.describe(recording)

    assert alike(scenario)
