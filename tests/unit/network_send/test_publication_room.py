"""A full disk holds publishers back and is never written to (decision 0005)."""

import errno

import pytest

from aerolog.testing import FakeFileSystem
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.driver.conductor.subscriber_positions import (
    SUBSCRIBER_ACTIVE,
    SUBSCRIBER_LINGER,
    SUBSCRIBER_RESTING,
    SubscriberPositions,
)
from aerolog.transport.driver.logs.term_allocation import TermAllocation
from aerolog.transport.logbuffer.descriptor import log_file_length

MS = 1_000_000
TERM = 65536
WINDOW = TERM // 2
PAGE = 4096
ALL_ROOM = 2**63 - 1


@pytest.fixture
def files():
    files = FakeFileSystem()
    files.make_dirs("/dev/shm")
    return files


@pytest.fixture
def sparse(bench, files):
    """A receiver, and a publication whose log has its first pages only."""
    mapped = files.create_mapped(
        "/dev/shm/log", log_file_length(TERM), preallocate=False, check_space=False
    )
    for offset in (0, TERM, 2 * TERM, 3 * TERM):
        mapped.allocate_range(offset, PAGE)
    return bench.unicast(file=mapped, sparse=True)


def connect(bench, receiver, stream, position=0):
    bench.turn()
    bench.answer(receiver, stream, stream.status(position, WINDOW))
    bench.turn()


def test_terms_take_their_room_before_publishers_enter_them(bench, files, sparse):
    receiver, stream = sparse
    used = files.used_bytes
    connect(bench, receiver, stream)
    assert files.used_bytes - used == TERM - PAGE
    assert stream.writer.position_limit == WINDOW
    for _ in range(31):
        stream.offer(bytes(1024))
    bench.turn(2)
    connect(bench, receiver, stream, stream.counter("snd_pos"))
    assert files.used_bytes - used == TERM - PAGE
    stream.offer(*[bytes(1024)] * 2)
    bench.turn(2)
    assert files.used_bytes - used == 2 * (TERM - PAGE)


def test_without_room_nobody_can_publish_and_later_everybody_can(bench, files, sparse):
    receiver, stream = sparse
    files.fill_up(free_bytes=0)
    connect(bench, receiver, stream)
    assert stream.logs.is_connected
    assert stream.writer.position_limit == 0
    assert stream.writer.offer(b"x") == -2
    assert stream.publication.refused_allocation() == errno.ENOSPC
    assert stream.publication.refused_allocation() == 0
    bench.turn(3)
    assert stream.publication.refused_allocation() == 0
    files.fill_up(free_bytes=10 * TERM)
    bench.turn()
    assert stream.writer.position_limit == 0
    stream.publication.on_timer(bench.clock.now_ns())
    bench.turn()
    assert stream.writer.position_limit == WINDOW
    stream.offer(b"x")


def test_room_is_granted_term_by_term_and_then_for_good(sparse):
    _, stream = sparse
    start = 3 * TERM + 64
    room = TermAllocation(stream.logs, start, sparse=True)
    assert room.room_limit == 3 * TERM
    assert room.grant(start) == start
    assert room.room_limit == 4 * TERM
    assert room.grant(5 * TERM) == 5 * TERM
    assert room.room_limit == 5 * TERM
    assert room.grant(5 * TERM + 1) == 5 * TERM + 1
    assert room.room_limit == ALL_ROOM


def test_a_log_that_is_not_sparse_has_room_for_everything(sparse):
    _, stream = sparse
    room = TermAllocation(stream.logs, 0, sparse=False)
    assert room.grant(2**40) == 2**40
    assert room.room_limit == ALL_ROOM


# ---- positions of subscribers -------------------------------------------------------------------


@pytest.fixture
def positions(bench):
    return SubscriberPositions(
        bench.counters,
        window_limit_timeout_ns=100 * MS,
        linger_timeout_ns=200 * MS,
        resting_timeout_ns=300 * MS,
    )


def subscriber(bench, positions, value, *, tethered=True):
    counter_id = bench.counters.allocate(CounterType.SUBSCRIBER_POSITION, "sub-pos", value=value)
    positions.add(counter_id, tethered, 0)
    return counter_id


def test_resting_subscribers_do_not_count(bench, positions):
    assert positions.extremes() is None
    assert positions.reached(2**40)
    slow, fast = (subscriber(bench, positions, value) for value in (64, 4096))
    assert positions.extremes() == (64, 4096)
    assert not positions.reached(65)
    positions.set_state(slow, SUBSCRIBER_RESTING, 0)
    assert positions.extremes() == (4096, 4096)
    assert (len(positions), positions.counting) == (2, 1)
    assert positions.reached(4096)
    positions.set_state(slow, SUBSCRIBER_ACTIVE, 0)
    assert positions.counting == 2
    assert positions.remove(slow)
    assert not positions.remove(slow)
    assert positions.remove(fast)
    assert (len(positions), positions.counting) == (0, 0)


def test_a_position_below_zero_counts_as_zero(bench, positions):
    subscriber(bench, positions, -(2**63))
    assert positions.extremes() == (0, 0)


def test_untethered_subscribers_move_on_when_their_time_is_over(bench, positions):
    subscriber(bench, positions, 0)
    loose = subscriber(bench, positions, 0, tethered=False)
    assert positions.due(0, 99 * MS) == []
    assert positions.due(0, 100 * MS) == [loose]
    assert positions.due(-1, 100 * MS) == []
    positions.set_state(loose, SUBSCRIBER_LINGER, 100 * MS)
    assert positions.due(0, 299 * MS) == []
    assert positions.due(-1, 300 * MS) == [loose]
    positions.set_state(loose, SUBSCRIBER_RESTING, 300 * MS)
    assert positions.due(-1, 599 * MS) == []
    assert positions.due(-1, 600 * MS) == [loose]
    assert positions.state(loose) == SUBSCRIBER_RESTING


def test_an_unknown_subscriber_has_no_state(bench, positions):
    with pytest.raises(KeyError):
        positions.state(5)
    with pytest.raises(KeyError):
        positions.set_state(5, SUBSCRIBER_ACTIVE, 0)
    with pytest.raises(IndexError, match="no such counter"):
        positions.add(100_000, True, 0)
    assert not positions.has(5)
