"""Which blocks of a recording are noted, and what of it comes to the file."""

from __future__ import annotations

import errno
from array import array
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.service.recorder.time_notes import NotesAgent
from aerolog.archive.time_index import TimeIndex
from aerolog.archive.time_index.channel_times import channel_time_offset
from aerolog.archive.time_index.index_file import begin_notes, resume_notes
from aerolog.archive.time_index.notes import TIME_OF_RESERVED, TimeNotes, time_in_frame
from aerolog.testing import FakeFileSystem
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.concurrent.clock import ManualClock

if TYPE_CHECKING:
    from aerolog.archive.format.descriptor import RecordingDescriptor

FOLDER = "/archive"
MS = 1_000_000
START_MS = 1_700_000_000_000
RING = 1024


class Noting:
    """A recorder's notes, with a clock and a disk of their own."""

    def __init__(self, *, offset: int | None = None) -> None:
        self.clock = ManualClock(START_MS, 1)
        self.disk = FakeFileSystem()
        self.descriptor = RecordingBuilder().descriptor(stopped=False)
        self.options = {} if offset is None else {"time_offset": offset}
        self.notes: TimeNotes = begin_notes(FOLDER, self.descriptor, self.disk, **self.options)
        self.position = 0

    def block(self, after_ns: int, length: int, frames: bytes | None = None) -> int:
        """A block that comes some time after the one before; its epoch time."""
        self.clock.advance_ns(after_ns)
        begin, now = self.clock.now_ns(), self.clock.now_epoch_ns()
        self.clock.advance_ns(1000)
        self.notes.note(self.clock, begin, self.clock.now_ns(), self.position, frames)
        self.position += length
        return now

    def stopped(self) -> RecordingDescriptor:
        """The descriptor as it is when the recording has ended."""
        return self.descriptor.with_changes(
            stop_position=self.position, stop_timestamp=self.clock.now_epoch_ms()
        )

    def entries(
        self, descriptor: RecordingDescriptor | None = None, *, unknown_until: int = 0
    ) -> list[tuple[int, int]]:
        """What the file holds; times before a position are not known."""
        self.notes.write_out()
        descriptor = descriptor or self.descriptor
        index = TimeIndex.beside(FOLDER, descriptor, 0, self.position, self.disk)
        with index:
            known = [index.knows(at) for at in (0, unknown_until)]
            assert known == ([not unknown_until, True] if index.entries else [False, False])
            assert len(index.check()) == bool(unknown_until)
            return [
                pair
                for times, positions in index.entry_blocks()
                for pair in zip(times, positions, strict=True)
                if pair[1] >= unknown_until
            ]


def test_a_note_is_due_after_a_millisecond_and_4_kib_or_after_10_milliseconds() -> None:
    noting = Noting()
    first = noting.block(0, 4096)
    noting.block(MS - 2000, 4096)  # 1 us of each block is its write: not a millisecond yet
    second = noting.block(MS, 64)
    noting.block(2 * MS, 64)  # not 4 KiB
    noting.block(2 * MS, 64)
    noting.block(2 * MS, 64)
    third = noting.block(4 * MS, 64)
    assert noting.entries() == [(first, 0), (second, 8192), (third, 8192 + 4 * 64)]


def test_both_ends_of_a_pause_are_noted() -> None:
    noting = Noting()
    first = noting.block(0, 320)
    last = noting.block(MS // 2, 320)
    again = noting.block(3_600_000 * MS, 320)
    assert noting.entries() == [(first, 0), (last + 1000, 640), (again, 640)]


def test_a_clock_that_steps_back_ends_what_was_recorded_before_by_its_old_time() -> None:
    noting = Noting()
    first = noting.block(0, 8192)
    noting.clock.step_epoch_ms(-3_600_000)
    again = noting.block(2 * MS, 8192)
    before = first + 1000
    assert again < first
    assert noting.entries() == [(first, 0), (before, 8192), (again, 8192)]


def test_the_end_of_a_recording_is_its_last_entry() -> None:
    noting = Noting()
    first = noting.block(0, 64)
    last = noting.block(MS // 4, 96)
    noting.notes.finish(noting.position)
    noting.notes.finish(noting.position)
    assert noting.notes.closed
    assert noting.entries() == [(first, 0), (last + 1000, 160)]


def test_a_recording_of_nothing_has_no_entries() -> None:
    noting = Noting()
    noting.notes.finish(0)
    assert noting.entries() == []


def test_notes_without_room_are_lost_and_counted_and_nothing_waits() -> None:
    noting = Noting()
    times = [noting.block(2 * MS, 4096) for _ in range(RING + 50)]
    assert noting.notes.in_ring == RING
    assert noting.notes.dropped == 50
    found = noting.entries()
    assert found == [(time_ns, 4096 * index) for index, time_ns in enumerate(times[:RING])]
    last = noting.block(2 * MS, 4096)
    assert noting.entries()[-1] == (last, 4096 * (RING + 50))


def test_the_size_is_bounded_by_bytes_and_by_hours() -> None:
    # docs/archive/time-index.md: 4.1 MiB a GiB, 11.2 MiB an hour and a block for each segment.
    dense, sparse = Noting(), Noting()
    for _ in range(5000):
        dense.block(MS, 4096)
        dense.notes.write_out()
    for _ in range(3000):
        sparse.block(10 * MS, 32)
        sparse.notes.write_out()
    for noting, hours, gib in (
        (dense, 5 / 3600, 5000 * 4096 / 2**30),
        (sparse, 30 / 3600, 3000 * 32 / 2**30),
    ):
        noting.notes.finish(noting.position)
        with TimeIndex.beside(FOLDER, noting.stopped(), 0, noting.position, noting.disk) as index:
            segments = noting.position // noting.descriptor.segment_file_length + 1
            allowed = 4.1 * 2**20 * gib + 11.2 * 2**20 * hours + 4096 * (1 + segments)
            assert 16 * index.entries <= index.size_bytes <= allowed
            assert index.entries >= 3000


def test_a_recording_that_goes_on_keeps_what_was_before() -> None:
    noting = Noting()
    for _ in range(600):
        noting.block(2 * MS, 4096)
    noting.notes.finish(noting.position)
    before = noting.stopped()
    kept = noting.entries(before)
    after = before.with_changes(control_session_id=9, correlation_id=10, stop_position=-1)
    noting.notes = resume_notes(FOLDER, before, after, noting.disk, position=noting.position)
    time_ns = noting.block(1000 * MS, 4096)
    assert noting.entries(after) == [*kept, (time_ns, 600 * 4096)]


@pytest.mark.parametrize("keep", [0, 1, 251, 252, 253, 504, 599])
def test_what_was_truncated_is_cut_off_when_the_recording_goes_on(keep) -> None:
    noting = Noting()
    for _ in range(600):
        noting.block(2 * MS, 4096)
    noting.notes.finish(noting.position)
    kept = noting.entries(noting.stopped())[: keep + 1]
    noting.position = keep * 4096
    before = noting.stopped()
    after = before.with_changes(control_session_id=9, correlation_id=10, stop_position=-1)
    noting.notes = resume_notes(FOLDER, before, after, noting.disk, position=noting.position)
    assert noting.entries(after) == kept
    time_ns = noting.block(1000 * MS, 4096)
    assert noting.entries(after) == [*kept, (time_ns, keep * 4096)]


@pytest.mark.parametrize("content", [b"", b"nonsense" * 1000])
def test_an_index_that_is_no_use_begins_anew(content) -> None:
    noting = Noting()
    noting.block(0, 64)
    noting.notes.finish(64)
    noting.disk.write_bytes(f"{FOLDER}/aerolog/times/0.time", content)
    after = noting.stopped().with_changes(correlation_id=10, stop_position=-1)
    noting.notes = resume_notes(FOLDER, noting.stopped(), after, noting.disk, position=64)
    time_ns = noting.block(1000 * MS, 4096)
    assert noting.entries(after, unknown_until=64) == [(time_ns, 64)]


def test_a_full_disk_ends_the_index_and_says_so() -> None:
    noting = Noting()
    noting.disk.fill_up()
    for _ in range(300):
        noting.block(2 * MS, 4096)
    assert noting.notes.write_out() == -1
    assert noting.notes.failed_errno == errno.ENOSPC
    assert noting.notes.write_out() == -1
    noting.notes.finish(noting.position)
    assert noting.notes.closed


def test_times_in_messages_are_noted_in_place_of_the_clock() -> None:
    builder = RecordingBuilder()
    builder.add((555).to_bytes(8, "little") + b"payload", reserved_value=777)
    frame = bytes(builder.data)
    assert time_in_frame(frame, 0) == 555
    assert time_in_frame(frame, TIME_OF_RESERVED) == 777
    assert time_in_frame(frame, 7) != 0
    assert time_in_frame(frame, 8) == 0  # would end behind the payload
    assert time_in_frame(frame[:31], 0) == 0
    assert time_in_frame(frame[:40], 0) == 0
    builder.pad()
    assert time_in_frame(bytes(builder.data)[len(frame) :], TIME_OF_RESERVED) == 0
    noting = Noting(offset=TIME_OF_RESERVED)
    noting.block(0, 64, frame)
    noting.block(20 * MS, 64, bytes(64))  # no time in it: the next one is noted
    noting.block(1 * MS, 64, frame)
    assert [position for _, position in noting.entries()][-1] == 128
    index = TimeIndex.beside(FOLDER, noting.stopped(), 0, noting.position, noting.disk)
    with index:
        assert (index.source, index.first_time_ns) == ("channel", 777)


@pytest.mark.parametrize(
    ("channel", "offset"),
    [
        ("aeron:udp?endpoint=h:1|channel-rcv-ts-offset=reserved", TIME_OF_RESERVED),
        ("aeron:udp?endpoint=h:1|channel-rcv-ts-offset=-8", TIME_OF_RESERVED),
        ("aeron:udp?endpoint=h:1|channel-snd-ts-offset=16", 16),
        ("aeron:udp?endpoint=h:1|channel-snd-ts-offset=16|media-rcv-ts-offset=8", 8),
        ("aeron:udp?endpoint=h:1|channel-rcv-ts-offset=x", None),
        ("aeron:ipc", None),
        ("nonsense", None),
    ],
)
def test_where_a_channel_puts_times(channel, offset) -> None:
    assert channel_time_offset(channel) == offset


def test_the_agent_writes_when_it_is_time_or_a_ring_fills_and_lets_go_of_what_ended() -> None:
    noting = Noting()
    agent = NotesAgent(4)
    assert agent.add(noting.notes)
    noting.block(0, 64)
    assert agent.turn(10 * MS) == 1
    noting.block(20 * MS, 64)
    assert agent.turn(11 * MS) == 0
    assert agent.turn(31 * MS) == 2  # both ends of the pause
    for _ in range(RING // 2 + 1):
        noting.block(2 * MS, 4096)
    assert agent.turn(32 * MS) >= RING // 2
    assert agent.take_ended() == []
    noting.notes.finish(noting.position)
    assert agent.take_ended() == [noting.notes]
    assert agent.table.sessions() == []


def test_no_more_recordings_than_there_is_room_for() -> None:
    agent = NotesAgent(1)
    assert agent.add(Noting().notes)
    assert not agent.add(Noting().notes)
    assert len(agent.table.sessions()) == 1


def test_positions_of_an_array_are_looked_up_at_once() -> None:
    noting = Noting()
    times = [noting.block(2 * MS, 4096) for _ in range(10)]
    noting.notes.finish(noting.position)
    found = array("q", bytes(80))
    with TimeIndex.beside(FOLDER, noting.stopped(), 0, noting.position, noting.disk) as index:
        index.fill_times(array("q", range(0, 40_960, 4096)), found)
    assert list(found) == times
