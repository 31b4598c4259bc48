"""Listings, searches and positions, with every kind of argument: both archives say the same."""

from __future__ import annotations

import itertools

import pytest
from archive_storage.teller import FRAME, SEGMENT

from aerolog.archive import protocol as ap

pytestmark = pytest.mark.interop

EXTREMES = (-(2**63), -5, -1, 2**63 - 1)


def test_list_recordings_and_list_recordings_for_uri(alike) -> None:
    def scenario(t) -> None:
        known = [t.recorded(100 + index % 2, FRAME) for index in range(6)]
        t.ask(ap.UpdateChannelRequest, recording_id=known[2], channel="aeron:ipc?alias=two")
        t.ask(ap.PurgeRecordingRequest, until=ap.RecordingSignal.DELETE, recording_id=known[3])
        starts = (0, known[0], known[2], known[3], known[-1], known[-1] + 1, 2**62, 2**63 - 1)
        for start, count in itertools.product(starts, (1, 3, 1000)):
            t.list(ap.ListRecordingsRequest, count, from_recording_id=start)
            for stream_id, channel in ((100, "ipc"), (101, ""), (100, "two"), (9, ""), (100, "?")):
                t.list(
                    ap.ListRecordingsForUriRequest,
                    count,
                    from_recording_id=start,
                    stream_id=stream_id,
                    channel=channel,
                )

    assert sum("RecordingDescriptor" in line for line in alike(scenario)) > 50


def test_a_listing_that_examines_one_recording_names_the_id_after_the_one_asked_for(alike) -> None:
    def scenario(t) -> None:
        known = [t.recorded(104, FRAME) for _ in range(3)]
        t.ask(ap.PurgeRecordingRequest, until=ap.RecordingSignal.DELETE, recording_id=known[1])
        for start in (known[1], known[2], known[2] + 1, -1):
            t.list(ap.ListRecordingsRequest, 1000, from_recording_id=start)
            for stream_id in (104, 9):
                t.list(
                    ap.ListRecordingsForUriRequest,
                    1000,
                    from_recording_id=start,
                    stream_id=stream_id,
                    channel="ipc",
                )

    assert alike(scenario)


def test_list_recordings_of_no_count_answers_nothing(alike) -> None:
    def scenario(t) -> None:
        t.recorded(102, FRAME)
        t.ask_nothing(ap.ListRecordingsRequest, from_recording_id=0, record_count=0)
        t.list(ap.ListRecordingsRequest, 1, from_recording_id=0)

    assert alike(scenario)


def test_find_last_matching_recording(alike) -> None:
    def scenario(t) -> None:
        known = [t.recorded(110 + index % 2, FRAME) for index in range(4)]
        sessions = [t.describe(recording)[0].session_id for recording in known]
        t.ask(ap.UpdateChannelRequest, recording_id=known[1], channel="aeron:ipc?alias=one")
        minimums = (0, *known, known[-1] + 1, *EXTREMES)
        for minimum, session_id, stream_id, channel in itertools.product(
            minimums, (*sessions, 0), (110, 111, -1), ("", "ipc", "alias", "x" * 300)
        ):
            t.ask(
                ap.FindLastMatchingRecordingRequest,
                min_recording_id=minimum,
                session_id=session_id,
                stream_id=stream_id,
                channel=channel,
                title=f"find {minimum} {sessions.index(session_id) if session_id else 0}"
                f" {stream_id} {channel}",
            )

    assert any("relevant_id=5 code=1" in line and "< 0" in line for line in alike(scenario))


def test_an_extension_query_that_is_not_known_finds_no_recording(alike) -> None:
    unknown = ("aerolog:", "aerolog:weather", "aerolog:weather?x=1", "aerolog:readers?x=1")
    malformed = ("aerolog:time-at", "aerolog:time-at?position=x", "aerolog:times?" + "|" * 300)

    def scenario(t) -> None:
        named = t.recorded(115, FRAME)
        t.ask(ap.UpdateChannelRequest, recording_id=named, channel=f"aeron:ipc?alias={unknown[1]}")
        for minimum, channel in itertools.product((0, named, *EXTREMES), unknown + malformed):
            t.ask(
                ap.FindLastMatchingRecordingRequest,
                min_recording_id=minimum,
                session_id=0,
                stream_id=0,
                channel=channel,
            )
        session_id = t.describe(named)[0].session_id
        for channel in ("aerolog:weather", "aerolog:readers", "aerolog:folder"):
            t.ask(
                ap.FindLastMatchingRecordingRequest,
                min_recording_id=0,
                session_id=session_id,
                stream_id=115,
                channel=channel,
                title=f"a search for {channel}",
            )

    assert any("relevant_id=-1" in line for line in alike(scenario))


def test_positions_of_every_kind_of_recording(alike) -> None:
    def scenario(t) -> None:
        stopped = t.recorded(120, SEGMENT + FRAME)
        purged = t.recorded(120, FRAME)
        t.ask(ap.PurgeRecordingRequest, until=ap.RecordingSignal.DELETE, recording_id=purged)
        live = t.start(121)
        live.publish(3 * FRAME)
        t.tell("live")
        ids = (stopped, purged, live.recording_id, live.recording_id + 1000, *EXTREMES)
        for recording_id in ids:
            for request in (
                ap.StartPositionRequest,
                ap.StopPositionRequest,
                ap.RecordingPositionRequest,
                ap.MaxRecordedPositionRequest,
            ):
                t.ask(request, recording_id=recording_id)
            t.describe(recording_id)
        live.stop()
        t.tell("stopped")

    assert sum("unknown recording id" in line for line in alike(scenario)) == 6 * 4
