"""A host's images are bounded, in all and in a second, and other hosts' are not touched."""

import pytest

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.driver.receive.source_limits import SourceLimits, host_of
from aerolog.transport.protocol import responses as r

S = 1_000_000_000
HERE = ("10.0.0.1", 24325)
CHANNEL = "aeron:udp?endpoint=10.0.0.1:24325"
OTHER = "10.0.0.3"


def setups(bench, count, *, first=1, host=None):
    """Has so many sessions of one host begin; returns the images of which clients hear."""
    for session_id in range(first, first + count):
        if host is None:
            source = bench.source(HERE, session_id=session_id)
        else:
            source = type(bench.source(HERE))(
                host.open_send_port(HERE, (OTHER, 0)), session_id=session_id
            )
        source.setup(0, 0)
    return [told for told in bench.turn() if isinstance(told, r.AvailableImage)]


def test_a_host_has_so_many_images_and_another_has_its_own(start):
    bench = start(source_images_max=3)
    other = bench.network.host(OTHER)
    bench.subscription(CHANNEL)
    assert len(setups(bench, 5)) == 3
    assert len(bench.counters(CounterType.SUBSCRIBER_POSITION)) == 3
    (text,) = bench.errors()
    assert text == (
        "io.aeron.exceptions.AeronEvent: WARN - refused an image: 10.0.0.2 has 3 images,"
        " aerolog.driver.source.images.max allows no more\n"
    )
    assert len(setups(bench, 1, first=50, host=other)) == 1
    (error,) = bench.cnc.errors()
    assert error.count == 2


def test_a_host_begins_so_many_images_in_a_second(start):
    bench = start(source_image_rate=2)
    bench.subscription(CHANNEL)
    assert len(setups(bench, 4)) == 2
    assert "begins more than 2 images in a second" in bench.errors()[0]
    bench.pass_time(S + S // 2)
    assert len(setups(bench, 4, first=10)) == 2


def test_an_image_that_ended_makes_room():
    limits = SourceLimits(2, 0)
    assert [limits.refusal("a", 0) is None for _ in range(3)] == [True, True, False]
    limits.ended("a")
    assert limits.refusal("a", 0) is None
    assert limits.refusal("b", 0) is None


def test_without_limits_nothing_is_refused():
    limits = SourceLimits(0, 0)
    assert all(limits.refusal("a", 0) is None for _ in range(10_000))


def test_hosts_that_come_and_go_take_no_memory():
    limits = SourceLimits(2, 2)
    for number in range(20_000):
        host = str(number)
        assert limits.refusal(host, number * S) is None
        limits.ended(host)
    assert len(limits._hosts) <= 4097


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("10.0.0.2", "10.0.0.2"),
        ("::ffff:10.0.0.2", "10.0.0.2"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_a_host_is_its_address_or_its_network(text, host):
    assert host_of((text, 1)) == host
