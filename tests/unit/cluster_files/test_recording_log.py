"""recording.log: entries, order, snapshots, re-use, torn tails, damage (spec cluster 3)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.cluster.files import (
    EntryType,
    LogEntry,
    RecordingLog,
    read_recording_log,
    seed_recording_log,
    sort_recording_log,
)
from aerolog.transport.errors import ConfigurationError, FileFormatError

if TYPE_CHECKING:
    from pathlib import Path

LONG = st.integers(-(2**63), 2**63 - 1)
ENDPOINT = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=300)


@st.composite
def any_entry(draw: st.DrawFn) -> LogEntry:
    kind = draw(st.sampled_from(EntryType))
    return LogEntry(
        recording_id=draw(LONG),
        leadership_term_id=draw(LONG),
        term_base_log_position=draw(LONG),
        log_position=draw(LONG),
        timestamp=draw(LONG),
        service_id=draw(st.integers(-1, 9)),
        type=kind,
        is_valid=draw(st.booleans()),
        archive_endpoint=draw(ENDPOINT) if kind == EntryType.STANDBY_SNAPSHOT else "",
    )


def term(term_id: int, base: int, recording_id: int = 7) -> LogEntry:
    return LogEntry(
        recording_id=recording_id,
        leadership_term_id=term_id,
        term_base_log_position=base,
        log_position=-1,
        timestamp=1000 + term_id,
        type=EntryType.TERM,
    )


def snapshot(recording_id: int, position: int, service_id: int, term_id: int = 0) -> LogEntry:
    return LogEntry(
        recording_id=recording_id,
        leadership_term_id=term_id,
        term_base_log_position=0,
        log_position=position,
        timestamp=2000 + position,
        service_id=service_id,
        type=EntryType.SNAPSHOT,
    )


def filled(folder: Path) -> RecordingLog:
    """A term with two complete snapshots of one service, and one that lacks the service."""
    log = RecordingLog(folder, create=True)
    log.append(term(0, 0))
    for position in (320, 640):
        log.append(snapshot(position, position, 0))
        log.append(snapshot(position + 1, position, -1))
    log.append(snapshot(961, 960, -1))
    return log


def ids(entries: list[LogEntry]) -> list[int]:
    return [entry.recording_id for entry in entries]


@given(st.lists(any_entry(), max_size=8))
def test_entries_are_read_as_they_were_encoded(entries: list[LogEntry]) -> None:
    data = b"".join(entry.encode() for entry in entries)
    found, _, end = read_recording_log(data)
    assert end == len(data)
    assert [replace(entry, index=0, offset=-1) for entry in found] == entries
    assert [entry.index for entry in found] == list(range(len(entries)))


@given(st.lists(any_entry(), min_size=1, max_size=4), st.data())
def test_a_torn_tail_costs_at_most_the_last_entry(
    entries: list[LogEntry], data: st.DataObject
) -> None:
    whole = b"".join(entry.encode() for entry in entries)
    start = len(whole) - entries[-1].length
    found, _, end = read_recording_log(whole[: data.draw(st.integers(start, len(whole)))])
    assert len(found) in (len(entries) - 1, len(entries))
    assert end == (len(whole) if len(found) == len(entries) else start)


@given(st.binary(max_size=400))
def test_any_bytes_are_entries_or_a_typed_error(data: bytes) -> None:
    try:
        _, _, end = read_recording_log(data)
    except FileFormatError:
        return
    assert end <= len(data) + 63


def test_an_append_replaces_a_torn_tail_wholly(tmp_path: Path) -> None:
    standby = replace(
        snapshot(1, 320, -1), type=EntryType.STANDBY_SNAPSHOT, archive_endpoint="e" * 500
    )
    path = tmp_path / "recording.log"
    path.write_bytes(term(0, 0).encode() + standby.encode()[:300])
    with RecordingLog(tmp_path) as log:
        log.append(term(1, 640))
        assert [entry.leadership_term_id for entry in log.entries] == [0, 1]
        before = log.entries
        log.reload()
        assert log.entries == before
    assert path.stat().st_size == 128


def test_a_missing_file_is_created_only_when_asked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        RecordingLog(tmp_path)
    with RecordingLog(tmp_path, create=True) as log:
        assert log.entries == []
        assert log.last_term is None
        assert log.latest_snapshot() == []


def test_the_end_of_a_term_is_stored_in_place(tmp_path: Path) -> None:
    with RecordingLog(tmp_path, create=True) as log:
        log.append(term(0, 0))
        log.append(term(1, 640))
        log.commit_log_position(0, 640)
        assert [entry.log_position for entry in log.entries] == [640, -1]
        before = log.entries
        log.reload()
        assert log.entries == before
        assert log.last_term == log.term(1)
        with pytest.raises(ConfigurationError, match="unknown leadershipTermId=9"):
            log.commit_log_position(9, 640)


def test_a_term_of_another_recording_is_refused(tmp_path: Path) -> None:
    with RecordingLog(tmp_path, create=True) as log:
        log.append(term(0, 0))
        with pytest.raises(ConfigurationError, match="invalid recordingId=8"):
            log.append(term(1, 640, recording_id=8))
    path = tmp_path / "recording.log"
    path.write_bytes(path.read_bytes() + term(1, 640, recording_id=8).encode())
    with pytest.raises(FileFormatError, match="several recordings"):
        RecordingLog(tmp_path)


def test_the_newest_complete_snapshot_counts(tmp_path: Path) -> None:
    with filled(tmp_path) as log:
        assert ids(log.latest_snapshot(1)) == [641, 640]
        assert ids(log.latest_snapshot(0)) == [961]
        assert log.latest_snapshot(2) == []


def test_snapshots_are_invalidated_from_the_newest_on(tmp_path: Path) -> None:
    with filled(tmp_path) as log:
        left = []
        while log.invalidate_latest_snapshot():
            left.append(ids(log.latest_snapshot(1)))
        assert left == [[641, 640], [321, 320], []]
        before = log.entries
        log.reload()
        assert log.entries == before


def test_an_invalidated_entry_is_used_again_for_the_same_snapshot(tmp_path: Path) -> None:
    with filled(tmp_path) as log:
        length = (tmp_path / "recording.log").stat().st_size
        log.invalidate(log.latest_snapshot(1)[1])
        assert ids(log.latest_snapshot(1)) == [321, 320]
        taken = log.append(snapshot(77, 640, 0))
        assert (taken.index, ids(log.latest_snapshot(1))) == (3, [641, 77])
        before = log.entries
        log.reload()
        assert log.entries == before
    assert (tmp_path / "recording.log").stat().st_size == length


def test_a_sorted_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "recording.log"
    entries = [term(1, 640), snapshot(2, 320, -1), snapshot(1, 320, 0), term(0, 0)]
    path.write_bytes(b"".join(entry.encode() for entry in entries))
    assert sort_recording_log(tmp_path)
    wanted = (entries[3], entries[2], entries[1], entries[0])
    assert path.read_bytes() == b"".join(entry.encode() for entry in wanted)
    assert not sort_recording_log(tmp_path)


def test_a_seed_is_the_newest_snapshot_at_the_start(tmp_path: Path) -> None:
    with filled(tmp_path) as log:
        log.invalidate_latest_snapshot()
    path = tmp_path / "recording.log"
    old = path.read_bytes()
    assert seed_recording_log(tmp_path)
    assert (tmp_path / "recording.log.bak").read_bytes() == old
    with RecordingLog(tmp_path) as log:
        assert [(e.recording_id, e.log_position) for e in log.entries] == [(640, 0), (641, 0)]
        assert ids(log.latest_snapshot(1)) == [641, 640]
        log.invalidate_latest_snapshot()
    assert not seed_recording_log(tmp_path)


@pytest.mark.parametrize("kind", [3, 0x7FFF_FFFF, -(2**31) + 9])
def test_an_unknown_type_is_damage_at_its_offset(kind: int) -> None:
    data = bytearray(term(0, 0).encode() * 2)
    data[108:112] = kind.to_bytes(4, "little", signed=True)
    with pytest.raises(FileFormatError, match=f"at offset 108: {kind}"):
        read_recording_log(bytes(data))


def test_removed_entries_are_skipped_and_counted() -> None:
    data = bytearray(b"".join(term(number, number).encode() for number in range(3)))
    data[108:112] = b"\xff" * 4
    found, _, end = read_recording_log(bytes(data))
    assert [(entry.leadership_term_id, entry.index) for entry in found] == [(0, 0), (2, 2)]
    assert end == 192


@pytest.mark.parametrize(
    ("kind", "endpoint"),
    [
        (EntryType.STANDBY_SNAPSHOT, ""),
        (EntryType.STANDBY_SNAPSHOT, "e" * 4045),
        (EntryType.STANDBY_SNAPSHOT, "é"),
        (EntryType.SNAPSHOT, "here:1"),
    ],
)
def test_endpoints_that_do_not_fit_are_refused(kind: EntryType, endpoint: str) -> None:
    entry = replace(snapshot(1, 1, -1), type=kind, archive_endpoint=endpoint)
    with pytest.raises(ConfigurationError, match="endpoint"):
        entry.encode()


def test_a_term_behind_removed_entries_is_counted_after_them(tmp_path: Path) -> None:
    entries = [term(number, number) for number in range(3)]
    data = bytearray(b"".join(entry.encode() for entry in entries))
    data[2 * 64 + 44 : 2 * 64 + 48] = b"\xff" * 4
    (tmp_path / "recording.log").write_bytes(data)
    with RecordingLog(tmp_path) as log:
        added = log.append(term(3, 3))
        assert (added.index, added.offset) == (3, 3 * 64)
        log.reload()
        assert [entry.index for entry in log.entries] == [0, 1, 3]
