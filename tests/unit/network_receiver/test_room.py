"""A full disk holds the sender back and is never written to (decision 0005)."""

import errno

import pytest

from aerolog.testing import FakeFileSystem
from aerolog.transport.driver.system_counters import SystemCounter
from aerolog.transport.logbuffer.descriptor import log_file_length

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
