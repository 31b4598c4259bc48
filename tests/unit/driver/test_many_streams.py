"""A driver with many streams: those that rest are turned less often, and wake up soon."""

import pytest

TERM = 65_536
WINDOW = TERM // 2
MESSAGE = bytes(1000)
FRAMED = 1056
NEXT_TERM = -3
MANY = 80
CYCLES_TO_REST = 300
WAKES_WITHIN = 16


@pytest.fixture
def resting(bench):
    """Many publications with a subscription each, all of them idle for long: the last of them."""
    for stream_id in range(MANY):
        ready = bench.publication(stream_id=stream_id)
        subscription = bench.subscription(stream_id=stream_id)
    for _ in range(CYCLES_TO_REST):
        bench.driver.do_work()
    return bench.writer(ready), bench.reader(ready, subscription)


def consume(writer, reader):
    """Messages for more than an eighth of the window, so that the limit is due to move."""
    while writer.position < reader.position + WINDOW // 4:
        assert writer.offer(MESSAGE) in {writer.position, NEXT_TERM}
    while reader.poll(100):
        pass


def cycles_until_the_limit_moves(bench, writer):
    limit = writer.position_limit
    for cycle in range(1, 1000):
        bench.driver.do_work()
        if writer.position_limit > limit:
            return cycle
    raise AssertionError("the limit does not move")


def test_a_stream_that_wakes_up_is_turned_soon(bench, resting):
    writer, reader = resting
    consume(writer, reader)

    assert cycles_until_the_limit_moves(bench, writer) <= WAKES_WITHIN


def test_a_stream_that_works_is_turned_in_every_cycle(bench, resting):
    writer, reader = resting
    consume(writer, reader)
    cycles_until_the_limit_moves(bench, writer)

    for _ in range(10):
        consume(writer, reader)
        assert cycles_until_the_limit_moves(bench, writer) == 1


def test_every_stream_wakes_up(bench):
    pairs = []
    for stream_id in range(MANY):
        ready = bench.publication(stream_id=stream_id)
        pairs.append(
            (bench.writer(ready), bench.reader(ready, bench.subscription(stream_id=stream_id)))
        )
    for _ in range(CYCLES_TO_REST):
        bench.driver.do_work()
    limits = [writer.position_limit for writer, _ in pairs]
    for pair in pairs:
        consume(*pair)
    for _ in range(WAKES_WITHIN):
        bench.driver.do_work()

    moved = [writer.position_limit for writer, _ in pairs]
    assert all(new > old for new, old in zip(moved, limits, strict=True))
