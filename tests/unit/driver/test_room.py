"""No room for files: errors, withheld limits, never a fault; and room again makes all good."""

import pytest

from aerolog.testing import FakeFileSystem
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.logs.term_allocation import TermAllocation
from aerolog.transport.errors import ErrorCode, StorageSpaceError
from aerolog.transport.protocol import commands as c

S = 1_000_000_000
TERM = 65_536
MESSAGE = bytes(1000)
FRAMED = 1056


def add(channel):
    return lambda i, n: c.AddPublication(i, n, 7, channel)


@pytest.mark.parametrize("capacity", [0, 1 << 20, 12 << 20])
def test_a_driver_that_has_no_room_does_not_start(start, capacity):
    with pytest.raises(StorageSpaceError):
        start(file_system=FakeFileSystem(capacity))


def test_a_log_that_does_not_fit_is_refused_with_the_storage_code(bench):
    bench.files.fill_up(free_bytes=3 * TERM)
    (error,) = bench.do(add("aeron:ipc"))
    assert error.code == ErrorCode.STORAGE_SPACE
    assert "insufficient usable storage for new log of length=200704 usable=196608" in error.message
    assert bench.files.list_dir(f"{bench.driver.aeron_dir}/publications") == []
    assert bench.counters(CounterType.PUBLISHER_POSITION) == []
    assert bench.value(SystemCounter.ERRORS) == 1
    bench.files.fill_up(free_bytes=4 * TERM)
    assert bench.publication().session_id


def test_without_the_check_the_file_itself_is_refused(start):
    bench = start(perform_storage_checks=False)
    bench.files.fill_up(free_bytes=2 * TERM)
    (error,) = bench.do(add("aeron:ipc?sparse=false"))
    assert error.code == ErrorCode.STORAGE_SPACE
    assert bench.files.list_dir(f"{bench.driver.aeron_dir}/publications") == []


def test_little_room_is_noted_and_the_log_is_made(bench):
    bench.files.fill_up(free_bytes=1 << 20)
    bench.publication()
    assert ["space is running low" in text for text in bench.errors()] == [True]


def test_a_log_that_is_not_sparse_takes_its_room_at_once(bench):
    used = bench.files.used_bytes
    bench.publication("aeron:ipc?sparse=false")
    assert bench.files.used_bytes - used == 3 * TERM + 4096


def test_a_sparse_log_takes_its_room_term_by_term_ahead_of_the_limit(bench):
    used = bench.files.used_bytes
    ready = bench.publication()
    assert bench.files.used_bytes - used == 4 * 4096
    subscription = bench.subscription()
    assert bench.files.used_bytes - used == TERM + 3 * 4096
    writer, reader = bench.writer(ready), bench.reader(ready, subscription)
    terms = set()
    while writer.position < 4 * TERM:
        assert writer.offer(MESSAGE) != -2
        reader.poll(1)
        bench.turn()
        terms.add((bench.files.used_bytes - used) // TERM)
        limit_term = (writer.position_limit - 1) // TERM
        assert (bench.files.used_bytes - used) // TERM > min(limit_term, 2)
    assert terms == {1, 2, 3}


def test_the_limit_is_withheld_while_there_is_no_room_for_the_next_term(bench):
    ready = bench.publication()
    subscription = bench.subscription()
    writer, reader = bench.writer(ready), bench.reader(ready, subscription)
    bench.files.fill_up()
    result = 0
    while (result := writer.offer(MESSAGE)) not in {-1, -2}:
        reader.poll(1)
        bench.turn()
    assert result == -2
    assert writer.position_limit == TERM
    assert TERM - FRAMED <= writer.position <= TERM
    (text,) = bench.errors()
    assert "no room for the next term" in text
    counted = bench.value(SystemCounter.ERRORS)
    bench.pass_time(5 * S)
    assert bench.value(SystemCounter.ERRORS) == counted + 5
    assert len(bench.errors()) == 1
    bench.files.fill_up(free_bytes=TERM)
    bench.pass_time(1 * S)
    assert writer.position_limit > TERM
    while writer.offer(MESSAGE) < 0:
        bench.turn()
    while reader.position < writer.position:
        reader.poll(10)


LARGE_TERM = 16 << 20
LONGEST = LARGE_TERM // 8
STEP = 1 << 20


@pytest.mark.parametrize("plenty", [False, True])
@pytest.mark.parametrize("offset", [0, 5_000_000 & -32, LARGE_TERM - 4096])
def test_one_writer_of_a_large_log_gets_its_room_by_steps(bench, offset, plenty):
    """Wherever its limit is, there is room for its longest message, or will be in a moment."""
    ready = bench.exclusive(
        f"aeron:ipc?term-length=16m|init-term-id=3|term-id=3|term-offset={offset}"
    )
    room = TermAllocation(bench.log(ready), offset, sparse=True, single_writer=True, plenty=plenty)
    used = bench.files.used_bytes
    begin = offset & -4096
    everything = begin + 3 * LARGE_TERM
    granted = []
    while room.room_limit < everything:
        taken = bench.files.used_bytes
        granted.append(room.grant(offset + 4 * LARGE_TERM))
        assert bench.files.used_bytes - taken <= STEP
        made = begin + bench.files.used_bytes - used + 4 * 4096
        if offset < granted[-1] < everything:
            term_end = (granted[-1] - 1) // LARGE_TERM * LARGE_TERM + LARGE_TERM
            behind = STEP // 2 if plenty else LONGEST
            assert made >= min(granted[-1] + behind, term_end)
    assert granted == sorted(granted)
    assert len(set(granted)) > 30
    first_end = min(STEP, LARGE_TERM - begin % LARGE_TERM)
    if first_end == STEP:
        assert granted[0] == (begin + STEP // 2 if plenty else offset)
    assert room.grant(2**40) == 2**40
    assert bench.files.used_bytes - used in range(3 * LARGE_TERM - 4 * 4096, 3 * LARGE_TERM + 1)


def test_a_log_of_little_use_takes_little_room_and_is_safe_after_a_while(bench):
    used = bench.files.used_bytes
    ready = bench.exclusive("aeron:ipc?term-length=16m")
    subscription = bench.subscription()
    writer, reader = bench.writer(ready), bench.reader(ready, subscription)
    for _ in range(500):
        while writer.offer(MESSAGE) < 0:
            bench.turn()
        reader.poll(10)
        bench.turn()
    assert writer.position == 500 * FRAMED
    assert bench.files.used_bytes - used <= 4 * STEP
    bench.pass_time(10 * S)
    assert bench.files.used_bytes - used >= writer.position_limit + LONGEST
    bench.files.fill_up()
    while writer.position < writer.position_limit:
        assert writer.offer(bytes(LONGEST - 4096)) > 0
        reader.poll(10_000)
    assert writer.position <= bench.files.used_bytes - used


def test_one_writer_of_a_large_log_goes_through_all_of_it(bench):
    used = bench.files.used_bytes
    ready = bench.exclusive("aeron:ipc?term-length=16m|init-term-id=3|term-id=3|term-offset=4096")
    subscription = bench.subscription()
    writer, reader = bench.writer(ready), bench.reader(ready, subscription)
    while writer.position < 5 * LARGE_TERM:
        assert writer.offer(bytes(LONGEST - 4096)) != -2
        reader.poll(10_000)
        bench.turn()
    assert bench.files.used_bytes - used == 3 * LARGE_TERM + 4096


def test_one_writer_of_a_large_log_stops_before_the_end_of_its_room(bench):
    ready = bench.exclusive("aeron:ipc?term-length=16m")
    subscription = bench.subscription()
    writer, reader = bench.writer(ready), bench.reader(ready, subscription)
    bench.files.fill_up(free_bytes=3 << 20)
    result = 0
    while (result := writer.offer(bytes(LONGEST - 4096))) not in {-1, -2}:
        reader.poll(10_000)
        bench.turn()
    assert result == -2
    assert writer.position < LARGE_TERM
    assert "no room for the next term" in bench.errors()[0]
    bench.files.fill_up(free_bytes=4 * LARGE_TERM)
    bench.pass_time(2 * S)
    assert writer.offer(bytes(LONGEST - 4096)) > 0


def test_other_streams_go_on_while_one_has_no_room(bench):
    starved, happy = bench.publication(), bench.publication(stream_id=8)
    writers, readers = [], []
    for ready in (happy, starved):
        subscription = bench.subscription(stream_id=ready.stream_id)
        writers.append(bench.writer(ready))
        readers.append(bench.reader(ready, subscription))
        if ready is happy:
            while writers[0].position < 3 * TERM:
                writers[0].offer(MESSAGE)
                readers[0].poll(10)
                bench.turn()
    bench.files.fill_up()
    for _ in range(1000):
        for writer, reader in zip(writers, readers, strict=True):
            writer.offer(MESSAGE)
            reader.poll(10)
        bench.turn()
    assert writers[0].position > 10 * TERM
    assert writers[1].position <= TERM


def test_a_log_that_cannot_be_deleted_is_tried_again(bench, monkeypatch):
    mapped = bench.value(SystemCounter.BYTES_CURRENTLY_MAPPED)
    ready = bench.publication()
    remove = bench.files.remove
    fail = True

    def failing(path):
        if fail and path.endswith(".logbuffer"):
            raise PermissionError(13, "not now", path)
        remove(path)

    monkeypatch.setattr(bench.files, "remove", failing)
    bench.send(lambda i, n: c.RemovePublication(i, n, ready.correlation_id))
    bench.pass_time(2 * S)
    assert bench.value(SystemCounter.FREE_FAILS) == 1
    bench.pass_time(3 * S)
    assert bench.value(SystemCounter.FREE_FAILS) == 4
    fail = False
    bench.pass_time(1 * S)
    assert not bench.files.exists(ready.log_file)
    assert bench.value(SystemCounter.BYTES_CURRENTLY_MAPPED) == mapped
