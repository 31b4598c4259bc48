"""Untethered subscribers of images: left behind, resting, back again."""

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.protocol import responses as r

STREAM = 7
MS = 1_000_000
S = 1_000_000_000
HERE = ("10.0.0.1", 24325)
CHANNEL = "aeron:udp?endpoint=10.0.0.1:24325"
LAZY = (
    CHANNEL + "|tether=false|untethered-window-limit-timeout=1s|untethered-linger-timeout=500ms"
    "|untethered-resting-timeout=1s"
)


def run_ahead(bench, source, image, position=0):
    """The tethered subscriber reads everything, the other one nothing; the position reached."""
    for _ in range(28):
        position = source.data(position, b"x" * 992)
    bench.turn()
    bench.consume(image, position)
    return position


def keep_alive(bench, source, position, duration_ns):
    told = []
    while duration_ns > 0:
        source.heartbeat(position)
        told += bench.pass_time(100 * MS)
        duration_ns -= 100 * MS
    return told


def until_told(bench, source, position):
    """Time that passes until the driver says something, and what that is."""
    waited_ns, told = 0, []
    while not told:
        told = keep_alive(bench, source, position, 100 * MS)
        waited_ns += 100 * MS
        assert waited_ns < 10 * S
    (message,) = told
    return waited_ns, message


def two_images(bench, lazy_channel):
    """Images of a lazy subscription, added first since timeouts are its, and of a tethered one."""
    bench.subscription(lazy_channel)
    bench.subscription(CHANNEL + ("|rejoin=false" if "rejoin=false" in lazy_channel else ""))
    source = bench.source(HERE)
    source.setup()
    lazy, keen = bench.turn()
    return source, lazy, keen


def test_one_that_stays_behind_is_left_and_comes_back_at_the_join_position(bench):
    source, lazy, keen = two_images(bench, LAZY)
    position = run_ahead(bench, source, keen)
    assert position > 24576
    waited_ns, gone = until_told(bench, source, position)
    assert S <= waited_ns <= 1200 * MS
    assert isinstance(gone, r.UnavailableImage)
    assert gone.subscription_registration_id == lazy.subscription_registration_id
    source.heard()
    assert keep_alive(bench, source, position, 300 * MS) == []
    assert source.heard()[-1].term_offset < position  # it still holds the window back
    assert keep_alive(bench, source, position, 500 * MS) == []
    assert source.heard()[-1].term_offset == position
    waited_ns, back = until_told(bench, source, position)
    assert 700 * MS <= waited_ns <= S
    assert isinstance(back, r.AvailableImage)
    assert back.correlation_id == lazy.correlation_id
    assert back.position_counter_id == lazy.position_counter_id
    assert bench.value(lazy.position_counter_id) == position


def test_without_rejoin_it_is_left_behind_for_good(bench):
    source, lazy, keen = two_images(bench, LAZY + "|rejoin=false")
    position = run_ahead(bench, source, keen)
    told = keep_alive(bench, source, position, 5 * S)
    assert [type(m) for m in told] == [r.UnavailableImage]
    assert lazy.position_counter_id not in {
        k.counter_id for k in bench.counters(CounterType.SUBSCRIBER_POSITION)
    }


def test_one_that_keeps_up_stays(bench):
    source, lazy, keen = two_images(bench, LAZY)
    position = 0
    for _ in range(3):
        position = run_ahead(bench, source, keen, position)
        bench.consume(lazy, position)
        assert keep_alive(bench, source, position, 900 * MS) == []
