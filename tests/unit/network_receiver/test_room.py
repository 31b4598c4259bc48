"""A full disk holds the sender back and is never written to (decision 0005)."""

import errno

import pytest

from aerolog.testing import FakeFileSystem
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.logs.term_allocation import PIECE_LENGTH, ImageAllocation
from aerolog.transport.logbuffer.descriptor import LogBuffers, log_file_length
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType

MS = 1_000_000
S = 1_000 * MS
TERM = 65536


@pytest.fixture
def files():
    files = FakeFileSystem()
    files.make_dirs("/dev/shm")
    return files


@pytest.fixture
def sparse(station, files):
    """Images of the station have sparse logs on a disk of its own, whose first pages are there."""
    length = log_file_length(TERM)
    mapped = files.create_mapped("/dev/shm/log", length, preallocate=False, check_space=False)
    for offset in (0, TERM, 2 * TERM, 3 * TERM):
        mapped.allocate_range(offset, 4096)
    station.image_options = {"file": mapped, "sparse": True}
    return mapped


def windows(source):
    return [(frame.term_offset, frame.window) for frame in source.heard()]


def test_terms_take_their_room_before_the_window_enters_them(station, source, files, sparse):
    station.listen()
    source.setup()
    used = files.used_bytes
    station.cycle()
    assert files.used_bytes - used == TERM - 4096
    position = 0
    while position < 32768:
        source.data(position, 1024)
        station.cycle(MS)
        station.consume(station.image)
        position += 1024
    station.cycle(MS)
    assert files.used_bytes - used == TERM - 4096
    source.data(position, 1024)
    station.cycle(MS)
    station.consume(station.image)
    station.cycle(MS)
    assert files.used_bytes - used == 2 * (TERM - 4096)


def test_without_any_room_the_window_is_closed_and_opens_later(station, source, files, sparse):
    station.listen()
    files.fill_up(free_bytes=0)
    source.setup()
    station.cycle()
    assert windows(source) == [(0, 0)]
    image = station.image
    assert image.refused_allocation() == errno.ENOSPC
    assert image.refused_allocation() == 0
    source.data(0, 1024)
    source.heartbeat(1024)
    station.cycle(MS)
    assert station.count(SystemCounter.FLOW_CONTROL_OVER_RUNS) == 2
    assert image.hwm_position == 0
    files.fill_up(free_bytes=1 << 20)
    source.heartbeat(0)
    station.run(1 * S)
    assert windows(source)[-1] == (0, 32768)
    source.data(0, 1024)
    station.cycle(MS)
    assert image.rebuild_position == 1024


def test_the_window_ends_where_the_room_ends(station, source, files, sparse):
    station.listen()
    source.setup()
    station.cycle()
    files.fill_up(free_bytes=0)
    position = 0
    while position < TERM:
        source.data(position, 1024)
        station.cycle(MS)
        station.consume(station.image)
        station.cycle(MS)
        position += 1024
    assert station.image.rebuild_position == TERM
    edges = [offset + window for offset, window in windows(source)]
    assert max(edges) == TERM
    source.data(TERM, 1024)
    station.cycle(MS)
    assert station.image.hwm_position == TERM
    assert station.count(SystemCounter.FLOW_CONTROL_OVER_RUNS) == 1
    files.fill_up(free_bytes=1 << 20)
    source.heartbeat(TERM)
    station.run(1 * S)
    source.data(TERM, 1024)
    station.cycle(MS)
    assert station.image.rebuild_position == TERM + 1024


def test_large_terms_take_their_room_piece_by_piece(station, source, files):
    term = 1 << 30
    length = log_file_length(term)
    mapped = files.create_mapped("/dev/shm/large", length, preallocate=False, check_space=False)
    for offset in (0, term, 2 * term, 3 * term):
        mapped.allocate_range(offset, 4096)
    station.image_options = {"file": mapped, "sparse": True}
    station.listen()
    used = files.used_bytes
    source.setup(term_length=term)
    station.cycle()
    assert station.image.window_length == 131072
    assert files.used_bytes - used == PIECE_LENGTH
    for position in range(0, 2 * PIECE_LENGTH, 1024):
        source.send(
            source.frame(position % 65536, 1024)[:8]
            + position.to_bytes(4, "little")
            + source.frame(0, 1024)[12:]
        )
        station.cycle(MS)
        station.consume_to(station.image, position + 1024)
        station.cycle(MS)
    assert station.image.rebuild_position == 2 * PIECE_LENGTH
    assert files.used_bytes - used == 3 * PIECE_LENGTH


def test_a_log_that_begins_inside_a_term_has_room_for_all_of_it_in_the_end(files):
    term = 1 << 20
    file = files.create_mapped(
        "/dev/shm/log", log_file_length(term), preallocate=False, check_space=False
    )
    metadata = LogMetadata(
        correlation_id=1, session_id=2, stream_id=3, initial_term_id=4, term_length=term,
        mtu_length=1408, type=LogType.IMAGE,
    )  # fmt: skip
    start = 5 * term + 300_000
    room = ImageAllocation(LogBuffers.create(file, metadata), start, sparse=True)
    before = files.used_bytes
    assert room.room_limit == start & ~4095
    assert room.grant(start + 1) == start + 1
    assert room.room_limit == 5 * term + 2 * PIECE_LENGTH
    assert files.used_bytes - before == room.room_limit - (start & ~4095) + 4096
    assert room.grant(start + 2 * term) == start + 2 * term
    assert room.grant(start + 3 * term) == start + 3 * term
    assert room.room_limit == 2**63 - 1
    assert files.used_bytes - before >= 3 * term - 4096
