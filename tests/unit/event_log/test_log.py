"""The ring of events: order, what is cut, what is lost."""

import threading

import pytest

from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.events.event_log import EventLog, StreamEvents

KEPT = 4079


@pytest.fixture
def clock():
    return ManualClock(nano_time=5_000_000_007)


@pytest.fixture
def log(clock):
    return EventLog(64 * 1024, clock)


def taken(log):
    found = []
    while log.read(lambda *event: found.append(event)):
        pass
    return found


def test_events_come_in_the_order_in_which_they_were_written(log, clock):
    log.write(1, b"first")
    clock.advance_ns(3)
    log.write(65_536 + 2, b"")

    assert taken(log) == [(1, 5_000_000_007, 5, b"first"), (65_538, 5_000_000_010, 0, b"")]
    assert taken(log) == []


def test_of_a_long_event_the_beginning_is_kept_and_its_length_told(log):
    payload = bytes(range(256)) * 40

    log.write(7, payload)

    assert taken(log) == [(7, 5_000_000_007, len(payload), payload[:KEPT])]


def test_events_without_room_are_counted_and_the_writer_goes_on(log):
    for number in range(100):
        log.write(1, number.to_bytes(4, "little") * 1000)

    found = taken(log)
    lost = log.take_lost()

    assert [int.from_bytes(kept[:4], "little") for *_, kept in found] == list(range(len(found)))
    assert len(found) + lost == 100
    assert lost > 0
    assert log.take_lost() == 0


def test_threads_write_side_by_side(log):
    def write(thread):
        for number in range(50):
            log.write(1 + thread, number.to_bytes(2, "little"))

    threads = [threading.Thread(target=write, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = taken(log)
    for index in range(4):
        numbers = [
            int.from_bytes(kept, "little") for code, _, _, kept in found if code == 1 + index
        ]
        assert numbers == list(range(50))


@pytest.mark.parametrize("length", [0, 1000, 32 * 1024, 3 * 64 * 1024, 1 << 31])
def test_lengths_that_no_ring_has_are_refused(length):
    with pytest.raises(ConfigurationError, match=r"aeron\.event\.buffer\.length"):
        EventLog(length)


def test_a_stream_that_is_logged_needs_a_log():
    with pytest.raises(TypeError):
        StreamEvents(None, 1, 2, "aeron:udp")
