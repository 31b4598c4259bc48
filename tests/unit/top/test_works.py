"""Recordings and replays as counters and catalog tell of them."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from top_driver import MadeUpCounter, MadeUpDriver

from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.tools.top.running_sessions import (
    ReplayFinder,
    begin_of,
    recordings_of,
    stopped_recordings,
)
from aerolog.tools.views.stream_views import streams

ARCHIVE_CLIENT = 5
ARCHIVE_ID = 9
TERM = 65_536


def recording(recording_id: int, **more: int) -> RecordingDescriptor:
    given = {"start_position": 0, "stop_position": 1_000_000, "initial_term_id": 40 + recording_id}
    return RecordingDescriptor(
        recording_id=recording_id,
        start_timestamp=1,
        segment_file_length=1 << 20,
        term_buffer_length=TERM,
        mtu_length=1_408,
        session_id=11,
        stream_id=1001,
        stripped_channel="aeron:ipc?alias=feed",
        original_channel="aeron:ipc?alias=feed",
        source_identity="aeron:ipc",
        **(given | more),
    )


def archiving_driver() -> MadeUpDriver:
    driver = MadeUpDriver()
    label, key = f"Archive Errors - archiveId={ARCHIVE_ID}", struct.pack("<q", ARCHIVE_ID)
    driver.add(MadeUpCounter(101, label, key, owner_id=ARCHIVE_CLIENT))
    return driver


def add_recording(driver: MadeUpDriver, recording_id: int, position: int, archive: int) -> int:
    key = struct.pack("<qii9sq", recording_id, 11, 9, b"aeron:ipc", archive)
    label = f"rec-pos: {recording_id} 11 1001 aeron:ipc?alias=x - archiveId={archive}"
    return driver.add(MadeUpCounter(100, label, key, position, owner_id=ARCHIVE_CLIENT))


def add_replay(driver: MadeUpDriver, registration: int, channel: str, client: int) -> int:
    return driver.add_of_stream(
        12, "pub-pos (exclusive)", registration, (12, 5001, channel), owner_id=client
    )


def replay_channel(position: int, initial_term_id: int) -> str:
    term_id, offset = initial_term_id + position // TERM, position % TERM
    return (
        f"aeron:ipc?init-term-id={initial_term_id}|linger=0|mtu=1408|term-id={term_id}"
        f"|term-length=65536|term-offset={offset}"
    )


def replays(driver: MadeUpDriver, *catalog: RecordingDescriptor, **written: int):
    snapshot = driver.snapshot()
    positions = {int(name[1:]): position for name, position in written.items()}
    return ReplayFinder().replays(snapshot, streams(snapshot), catalog, positions)


def test_a_recording_has_its_start_from_the_catalog_of_its_archive() -> None:
    driver = archiving_driver()
    ours = add_recording(driver, 3, 5_000, ARCHIVE_ID)
    theirs = add_recording(driver, 3, 7_000, 77)
    catalog = {3: recording(3, start_position=1_024, stop_position=-1)}
    found = recordings_of(driver.snapshot(), catalog, ARCHIVE_ID)
    assert [(one.counter_id, one.start_position, one.position) for one in found] == [
        (ours, 1_024, 5_000),
        (theirs, None, 7_000),
    ]
    assert [one.channel for one in found] == ["aeron:ipc?alias=feed", "aeron:ipc?alias=x"]


def test_a_replay_is_found_by_the_terms_of_its_recording() -> None:
    driver = archiving_driver()
    counter = add_replay(driver, 90, replay_channel(131_136, 43), ARCHIVE_CLIENT)
    driver.set(counter, 200_000)
    (found,) = replays(driver, recording(2), recording(3), recording(4))
    assert (found.recording_id, found.start_position, found.position) == (3, 131_136, 200_000)
    assert (found.limit, found.live) == (1_000_000, False)


def test_the_replay_of_a_recording_that_goes_on_has_a_moving_limit() -> None:
    driver = archiving_driver()
    add_replay(driver, 90, replay_channel(0, 43), ARCHIVE_CLIENT)
    (found,) = replays(driver, recording(3, stop_position=-1), _3=123_456)
    assert (found.limit, found.live) == (123_456, True)


def test_recordings_with_the_same_terms_are_not_told_apart() -> None:
    driver = archiving_driver()
    add_replay(driver, 90, replay_channel(0, 43), ARCHIVE_CLIENT)
    (found,) = replays(driver, recording(3), recording(5, initial_term_id=43))
    assert (found.recording_id, found.limit, found.start_position) == (None, None, 0)


def test_what_begins_before_a_recording_is_no_replay_of_it() -> None:
    driver = archiving_driver()
    add_replay(driver, 90, replay_channel(64, 43), ARCHIVE_CLIENT)
    (found,) = replays(driver, recording(3, start_position=4_096))
    assert found.recording_id is None


@pytest.mark.parametrize(
    ("channel", "client"),
    [
        (replay_channel(0, 43), 6),
        ("aeron:ipc?term-length=64k", ARCHIVE_CLIENT),
        ("aeron:ipc?init-term-id=x|term-id=1|term-length=64k|term-offset=0", ARCHIVE_CLIENT),
        (replay_channel(0, 43).replace("|term-id=43", "|term-id=42"), ARCHIVE_CLIENT),
    ],
)
def test_other_publications_are_no_replays(channel: str, client: int) -> None:
    driver = archiving_driver()
    add_replay(driver, 90, channel, client)
    assert replays(driver, recording(3)) == []


def test_without_an_archive_there_is_no_replay() -> None:
    driver = MadeUpDriver()
    add_replay(driver, 90, replay_channel(0, 43), 0)
    assert replays(driver, recording(3)) == []


@given(st.text(st.characters(max_codepoint=127), max_size=80))
def test_any_channel_text_is_borne(text: str) -> None:
    begin = begin_of(text)
    assert begin is None or begin[0] >= 0


@given(
    st.text(st.sampled_from("0123456789-kx|="), max_size=12),
    st.sampled_from(["init-term-id", "term-id", "term-offset", "term-length"]),
)
def test_any_value_of_a_term_is_borne(value: str, parameter: str) -> None:
    given = {"init-term-id": "5", "term-id": "6", "term-offset": "0", "term-length": "64k"}
    channel = "|".join(f"{key}={text}" for key, text in (given | {parameter: value}).items())
    begin = begin_of(f"aeron:ipc?{channel}")
    assert begin is None or begin[0] >= 0


def test_stopped_recordings_are_the_latest_without_those_that_run() -> None:
    catalog = {one: recording(one, stop_position=4_096) for one in range(1_200)}
    catalog[1_300] = recording(1_300, stop_position=-1)

    found = stopped_recordings(catalog, ARCHIVE_ID, {1_199}, {1_198: "sound"})

    assert [one.recording_id for one in found] == list(range(1_198, 198, -1))
    assert [(one.position, one.health) for one in found[:2]] == [(4_096, "sound"), (4_096, "")]
