"""The hand-over queue."""

from __future__ import annotations

import threading
import time

import pytest

from aerolog.transport.concurrent.queue import SpscQueue
from aerolog.transport.errors import ConfigurationError


def test_records_come_out_in_order_as_they_went_in():
    queue = SpscQueue(4)
    assert queue.put(1, 2, 3, 4, 5)
    assert queue.put(-1, -(2**63), 2**63 - 1)
    assert len(queue) == 2
    assert queue.get() == (1, 2, 3, 4, 5)
    assert queue.get() == (-1, -(2**63), 2**63 - 1, 0, 0)
    assert queue.get() is None


@pytest.mark.parametrize(("asked", "given"), [(1, 1), (2, 2), (3, 4), (1000, 1024)])
def test_a_full_queue_refuses_and_takes_again_when_there_is_room(asked, given):
    queue = SpscQueue(asked)
    assert queue.capacity == given
    for _ in range(3):
        assert [queue.put(n) for n in range(given + 1)] == [True] * given + [False]
        assert [queue.get()[0] for _ in range(given)] == list(range(given))
        assert queue.get() is None


@pytest.mark.parametrize("capacity", [0, -1, (1 << 24) + 1])
def test_impossible_capacities_are_refused(capacity):
    with pytest.raises(ConfigurationError):
        SpscQueue(capacity)


def test_nothing_is_lost_between_two_threads():
    queue = SpscQueue(8)
    count = 20_000
    received = []

    def consume():
        while len(received) < count:
            record = queue.get()
            if record is None:
                time.sleep(0)
            else:
                received.append(record)

    consumer = threading.Thread(target=consume)
    consumer.start()
    for number in range(count):
        while not queue.put(number % 7, number, -number):
            time.sleep(0)
    consumer.join(60)
    assert received == [(number % 7, number, -number, 0, 0) for number in range(count)]
