"""Drivers that tell each other their names, over a simulated network."""

import pytest

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.names.gossip_agent import WORK_INTERVAL_NS
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.network.networks import SYSTEM_NETWORK

S = 1_000_000_000
NEIGHBORS, CACHE, BOOTSTRAP = (
    CounterType.RESOLVER_NEIGHBORS,
    CounterType.RESOLVER_CACHE_ENTRIES,
    CounterType.RESOLVER_BOOTSTRAP_NEIGHBOR,
)


@pytest.fixture
def gossips(make_driver, network):
    """``gossips(name, port, ...)``: a driver that gossips on a host of its own."""

    def make(name, *, port=8050, bootstrap=None, host=None, **options):
        host = host or network.host()
        return make_driver(
            host=host,
            driver_resolver_name=name,
            driver_resolver_interface=f"{host.ipv4}:{port}",
            driver_resolver_bootstrap_neighbor=bootstrap,
            **options,
        )

    return make


def turn(drivers, clock, duration_ns):
    for _ in range(duration_ns // WORK_INTERVAL_NS):
        clock.advance_ns(WORK_INTERVAL_NS)
        for driver in drivers:
            driver.turn()


def resolved(driver, channel):
    """The address that a channel stands for, or the error."""
    found = []
    driver.names.resolve(channel, found.append, found.append)
    driver.turn()
    return getattr(found[0], "remote_data", found[0])


@pytest.fixture
def pair(gossips, network, hosts, clock):
    """Two drivers, of which the second knows the first by a host name."""
    first_host = network.host()
    hosts["rendezvous"] = first_host.ipv4
    first = gossips("first", host=first_host)
    second = gossips("second", bootstrap="rendezvous:8050")
    turn([first, second], clock, 3 * S)
    return first, second


def test_each_learns_the_other_s_name_and_shows_it(pair, network):
    first, second = pair
    for one, other in ((first, second), (second, first)):
        bound = other.names.gossiper.gossip._bound
        name = other.names.gossiper.gossip._options.name
        assert str(resolved(one, f"aeron:udp?endpoint={name}:4000").ip) == str(bound.ip)
        assert list(one.labels(NEIGHBORS).values()) == [1]
        assert list(one.labels(CACHE).values()) == [1]
    assert list(first.labels(CACHE)) == ["Resolver cache entries: name=first"]


@pytest.mark.parametrize("bad", ["nowhere", "unknown:8050", "10.0.0.1:x", "[::1]"])
def test_a_bad_bootstrap_neighbor_is_logged_and_the_next_is_met(
    gossips, hosts, network, clock, bad
):
    host = network.host()
    hosts["rendezvous"] = host.ipv4
    first = gossips("first", host=host)
    second = gossips("second", bootstrap=f"{bad},rendezvous:8050")
    turn([first, second], clock, 3 * S)
    assert second.labels(BOOTSTRAP) == {
        f"Bootstrap neighbor: name={bad} resolved=": 0,
        f"Bootstrap neighbor: name=rendezvous:8050 resolved={host.ipv4}:8050": 1,
    }
    (error,) = second.errors.recorded
    assert bad in str(error)


def test_a_bootstrap_neighbor_is_looked_up_and_shown_as_it_is_found(gossips, hosts, network, clock):
    host = network.host()
    second = gossips("second", bootstrap="rendezvous:8050")
    assert second.labels(BOOTSTRAP) == {"Bootstrap neighbor: name=rendezvous:8050 resolved=": 0}
    turn([second], clock, 2 * WORK_INTERVAL_NS)
    assert "unresolved - endpoint=rendezvous:8050" in str(second.errors.recorded[0])

    hosts["rendezvous"] = host.ipv4
    first = gossips("first", host=host)
    turn([first, second], clock, 12 * S)
    label = f"Bootstrap neighbor: name=rendezvous:8050 resolved={host.ipv4}:8050"
    assert second.labels(BOOTSTRAP) == {label: 1}
    assert len(second.errors.recorded) == 1


def test_a_driver_answers_to_its_own_name(gossips):
    driver = gossips("myself")
    found = resolved(driver, "aeron:udp?endpoint=myself:4000")

    assert str(found.ip) == str(driver.names.gossiper.gossip._bound.ip)
    assert driver.asked == []


def test_a_name_that_no_driver_told_is_the_platform_s(pair):
    first, _ = pair

    assert str(resolved(first, "aeron:udp?endpoint=alpha:4000").ip) == "10.0.0.1"
    assert "name-resolver=TimeTracking(io.aeron.driver.DriverNameResolver)" in str(
        resolved(first, "aeron:udp?endpoint=gamma:4000")
    )


def test_a_driver_that_went_silent_is_forgotten(pair, clock):
    first, second = pair
    second.names.close()
    turn([first], clock, 13 * S)

    assert list(first.labels(NEIGHBORS).values()) == [0]
    assert list(first.labels(CACHE).values()) == [0]
    assert "unresolved" in str(resolved(first, "aeron:udp?endpoint=second:4000"))


def test_settings_say_when_and_how_long(gossips, network, clock):
    host = network.host()
    first = gossips("first", host=host, driver_resolver_neighbor_timeout=2)
    second = gossips(
        "second",
        bootstrap=f"{host.ipv4}:8050",
        driver_resolver_self_resolution_interval=5,
        driver_resolver_neighbor_resolution_interval=60,
    )
    turn([first, second], clock, S)
    assert list(first.labels(NEIGHBORS).values()) == [1]
    turn([first, second], clock, 3 * S)
    assert list(first.labels(NEIGHBORS).values()) == [0]
    turn([first, second], clock, 2 * S)
    assert list(first.labels(NEIGHBORS).values()) == [1]


def test_what_does_not_hold_together_is_counted_and_changes_nothing(pair, network, clock):
    first, _ = pair
    stranger = network.host()
    port = stranger.open_send_port(None, (stranger.ipv4, 0))
    bound = first.names.gossiper.gossip._bound
    for data in (b"", b"\x00" * 7, b"\x20\0\0\0\x01\0\x07\0" + bytes(24), b"\xff" * 40):
        port.send_datagrams([data], (str(bound.ip), bound.port))
    turn([first], clock, 10 * WORK_INTERVAL_NS)

    assert first.counter(SystemCounter.INVALID_PACKETS) >= 3
    assert list(first.labels(NEIGHBORS).values()) == [1]


@pytest.mark.parametrize(
    ("interface", "bound"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.9:0/8", "127.0.0.1"),
        ("{lo}", "127.0.0.1"),
        ("[::1]:0", "::1"),
        ("loop:0", "127.0.0.1"),
    ],
)
def test_an_interface_is_named_as_in_a_channel(make_driver, hosts, interface, bound):
    hosts["loop"] = "127.0.0.1"
    driver = make_driver(
        host=SYSTEM_NETWORK, driver_resolver_name="me", driver_resolver_interface=interface
    )
    address = driver.names.gossiper.gossip._bound
    assert str(address.ip) == bound
    assert address.port > 0


@pytest.mark.parametrize(
    "interface", ["nowhere:8050", "127.0.0.1:99999", "127.0.0.1/33", "{none0}", "192.0.2.1/32/1"]
)
def test_an_interface_that_is_none_is_refused(make_driver, interface):
    with pytest.raises(ConfigurationError, match=r"aeron\.driver\.resolver\.interface"):
        make_driver(driver_resolver_name="me", driver_resolver_interface=interface)


def test_an_agent_without_gossip_has_nothing_to_do_at_intervals(driver, gossips):
    assert driver.names.agent.interval_ns == 0
    assert gossips("me").names.agent.interval_ns == WORK_INTERVAL_NS


def test_closing_gives_the_socket_back(gossips, network):
    host = network.host()
    driver = gossips("me", host=host)
    driver.names.agent.on_close()

    again = gossips("me again", host=host)
    assert str(again.names.gossiper.gossip._bound) == f"{host.ipv4}:8050"
