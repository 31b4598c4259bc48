"""Moving segments from one recording to another: both archives say the same."""

from __future__ import annotations

import pytest
from archive_storage.teller import FRAME, SEGMENT, TERM

from aerolog.archive import protocol as ap

pytestmark = pytest.mark.interop

DELETE = ap.RecordingSignal.DELETE
MIGRATE = ap.MigrateSegmentsRequest


def pair_of(t, stream_id: int, length: int, **options) -> tuple[int, int]:
    """Two recordings that follow each other."""
    first = t.recorded(stream_id, length, **options)
    start = options.pop("position", 0) + length
    return first, t.recorded(stream_id, SEGMENT + FRAME, position=start, **options)


def migrate(t, source: int, target: int, **options) -> None:
    t.ask(MIGRATE, src_recording_id=source, dst_recording_id=target, **options)


def test_migrate_segments_to_the_front(alike) -> None:
    def scenario(t) -> None:
        source, target = pair_of(t, 100, 2 * SEGMENT)
        migrate(t, source, target, until=DELETE)
        for recording in (source, target):
            t.describe(recording)
        t.folder()
        migrate(t, source, target, until=DELETE)
        t.folder()
        t.ask(ap.PurgeRecordingRequest, until=DELETE, recording_id=source)
        t.folder()

    lines = alike(scenario)
    assert any("relevant_id=2 code=0" in line for line in lines)
    assert sum("signal=6" in line for line in lines) == 3


def test_migrate_segments_to_the_end(alike) -> None:
    def scenario(t) -> None:
        target, source = pair_of(t, 101, 2 * SEGMENT)
        migrate(t, source, target)  # the recorder has made an empty file there
        t.ask(
            ap.TruncateRecordingRequest,
            until=DELETE,
            recording_id=target,
            position=2 * SEGMENT,
        )
        migrate(t, source, target, until=DELETE)
        for recording in (source, target):
            t.describe(recording)
        t.folder()

    lines = alike(scenario)
    assert any("preexisting dst segment file <folder>/" in line for line in lines)
    assert any("relevant_id=2 code=0" in line for line in lines)


def test_migrate_segments_that_start_inside_a_term(alike) -> None:
    def scenario(t) -> None:
        source, target = pair_of(t, 102, 2 * SEGMENT - FRAME, position=TERM + FRAME)
        migrate(t, source, target, until=DELETE)
        for recording in (source, target):
            t.describe(recording)
        t.folder()

    assert any("relevant_id=2 code=0" in line for line in alike(scenario))


def test_migrate_segments_into_a_live_recording(alike) -> None:
    def scenario(t) -> None:
        source = t.recorded(103, 2 * SEGMENT)
        live = t.start(103, position=2 * SEGMENT)
        live.publish(FRAME)
        t.tell("live")
        migrate(t, live.recording_id, source)
        migrate(t, source, live.recording_id, until=DELETE)
        live.publish(FRAME)
        live.stop()
        t.tell("stopped")
        t.describe(live.recording_id)
        t.folder()

    assert any("is still active" in line for line in alike(scenario))


def test_migrate_segments_refuses_what_does_not_fit(alike) -> None:
    def scenario(t) -> None:
        source = t.recorded(104, SEGMENT)
        others = [
            t.recorded(105, SEGMENT, position=SEGMENT),
            t.recorded(104, SEGMENT, position=2 * SEGMENT),
            t.recorded(104, SEGMENT, position=SEGMENT, initial_term_id=9),
            t.recorded(104, SEGMENT, position=SEGMENT, options="|mtu=2048"),
            t.recorded(104, 2 * TERM, position=2 * TERM, term_length=2 * TERM),
            source,
        ]
        for other in others:
            migrate(t, source, other)
            migrate(t, other, source)
        for unknown in (9999, -1, -(2**63), 2**63 - 1):
            migrate(t, source, unknown)
            migrate(t, unknown, source)
            migrate(t, unknown, unknown)
        t.folder()

    lines = alike(scenario)
    for what in ("StreamId", "InitialTermId", "MtuLength", "TermBufferLength"):
        assert any(f"invalid migrate: src{what}=" in line for line in lines)
    assert any("src and dst are not contiguous" in line for line in lines)


def test_migrate_segments_refuses_joins_inside_a_segment(alike) -> None:
    def scenario(t) -> None:
        source, target = pair_of(t, 106, SEGMENT + FRAME)
        migrate(t, source, target)
        migrate(t, target, source)
        early = t.recorded(106, TERM, position=TERM)
        late = t.recorded(106, SEGMENT, position=SEGMENT)
        migrate(t, early, late)
        migrate(t, late, early)
        t.folder()

    lines = alike(scenario)
    assert any("not on segment boundary of src" in line for line in lines)


@pytest.mark.parametrize("lower_is", ["missing", "taken"])
def test_migrate_segments_looks_at_all_files_first(alike, lower_is: str) -> None:
    def scenario(t) -> None:
        source, target = pair_of(t, 107, 3 * SEGMENT)
        missing, taken = (SEGMENT, 2 * SEGMENT) if lower_is == "missing" else (2 * SEGMENT, SEGMENT)
        hidden = t.path(f"{source}-{missing}.rec")
        in_the_way = t.path(f"{target}-{taken}.rec")
        hidden.rename(t.path("hidden"))
        in_the_way.write_bytes(b"somebody's")
        migrate(t, source, target)
        t.path("hidden").rename(hidden)
        migrate(t, source, target)
        in_the_way.unlink()
        hidden.rename(t.path("hidden"))
        migrate(t, source, target)
        t.folder()
        t.path("hidden").rename(hidden)
        t.path(f"{source}-{3 * SEGMENT}.rec").unlink()
        migrate(t, source, target, until=DELETE)
        t.folder()

    lines = alike(scenario)
    assert any("missing src segment file <folder>/" in line for line in lines)
    assert any("preexisting dst segment file <folder>/" in line for line in lines)
    assert any("relevant_id=3 code=0" in line for line in lines)


def test_migrate_segments_of_an_empty_recording_to_itself(alike) -> None:
    def scenario(t) -> None:
        recording = t.recorded(108, SEGMENT + FRAME)
        other = t.recorded(108, 2 * SEGMENT)
        for each in (recording, other):
            t.ask(ap.TruncateRecordingRequest, until=DELETE, recording_id=each, position=0)
        migrate(t, recording, recording, until=DELETE)
        migrate(t, recording, other, until=DELETE)
        t.path(f"{recording}-0.rec").write_bytes(bytes(SEGMENT))
        migrate(t, recording, recording, until=DELETE)
        t.describe(recording)
        t.describe(other)
        t.folder()

    assert alike(scenario)


def test_migrate_segments_under_a_replay(alike) -> None:
    def scenario(t) -> None:
        source, target = pair_of(t, 109, 2 * SEGMENT)
        with t.replaying(source, 0, 1109):
            migrate(t, source, target, until=DELETE)
        t.describe(source)
        t.folder()

    assert any("relevant_id=2 code=0" in line for line in alike(scenario))
