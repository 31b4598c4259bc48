"""The network in memory: who hears what, when, and what links do to datagrams."""

import errno

import pytest

from aerolog.testing import FakeNetwork, ManualClock
from aerolog.transport.errors import ConfigurationError, ResourceClosedError

ANY = ("0.0.0.0", 0)
MS = 1_000_000


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def network(clock):
    return FakeNetwork(clock, seed=7)


@pytest.fixture
def hosts(network):
    return network.host(), network.host()


def texts(port):
    return [data for data, _, _ in port.receive_datagrams()]


def connected(source, destination, **options):
    receiver = destination.open_receive_port((destination.ipv4, 4000), **options)
    return source.open_send_port(receiver.local_address, ANY), receiver


def test_a_datagram_goes_to_the_host_and_port_it_names(hosts):
    a, b = hosts
    sender, receiver = connected(a, b)
    other = b.open_receive_port((b.ipv4, 4001))
    assert sender.send_datagrams([b"one", b"two"]) == 2
    assert receiver.receive_datagrams() == [
        (b"one", sender.local_address, 0),
        (b"two", sender.local_address, 0),
    ]
    assert sender.local_address == (a.ipv4, 32768)
    assert texts(other) == []


def test_a_connected_sender_hears_only_its_peer(hosts):
    a, b = hosts
    sender, receiver = connected(a, b)
    stranger = b.open_receive_port((b.ipv4, 4001))
    assert stranger.send_datagrams([b"stranger"], sender.local_address) == 1
    assert receiver.send_datagrams([b"peer"], sender.local_address) == 1
    assert texts(sender) == [b"peer"]


def test_loopback_stays_within_a_host(hosts, network):
    a, b = hosts
    here = a.open_receive_port(("127.0.0.1", 4000))
    there = b.open_receive_port(("127.0.0.1", 4000))
    sender = a.open_send_port(("127.0.0.1", 4000), ANY)
    assert sender.send_datagrams([b"local"]) == 1
    assert here.receive_datagrams() == [(b"local", ("127.0.0.1", 32768), 0)]
    assert texts(there) == []
    outside = b.open_send_port((a.ipv4, 4000), ANY)
    assert outside.send_datagrams([b"not heard"]) == 1
    assert texts(here) == []
    assert network.unheard == 1


def test_ipv6_hosts_hear_each_other(hosts):
    a, b = hosts
    receiver = b.open_receive_port((b.ipv6, 4000))
    sender = a.open_send_port((b.ipv6, 4000), ANY)
    assert sender.send_datagrams([b"six"]) == 1
    assert receiver.receive_datagrams() == [(b"six", (a.ipv6, 32768), 0)]


def test_a_group_is_heard_by_all_members_and_answered(hosts):
    a, b = hosts
    data, control = ("224.20.30.39", 5000), ("224.20.30.40", 5000)
    sender = a.open_send_port(data, ("10.0.0.1", 0), control=control, ttl=4)
    members = [host.open_receive_port(data) for host in (a, b)]
    assert sender.ttl == 4
    assert sender.send_datagrams([b"data"]) == 1
    assert [texts(member) for member in members] == [[b"data"], [b"data"]]
    assert members[1].send_datagrams([b"status"], control) == 1
    assert sender.receive_datagrams() == [(b"status", (b.ipv4, 5000), 0)]
    assert [texts(member) for member in members] == [[], []]


def test_runs_are_cut(hosts):
    sender, receiver = connected(*hosts)
    assert sender.send_datagrams([b"a" * 10 + b"b" * 10 + b"c"], segment=10) == 1
    assert texts(receiver) == [b"a" * 10, b"b" * 10, b"c"]


def test_delays_are_of_the_clock(hosts, network, clock):
    sender, receiver = connected(*hosts, timestamps=True)
    network.set_link(*hosts, delay_ns=3 * MS)
    sent_at = clock.now_ns()
    arrives_at = clock.now_epoch_ns() + 3 * MS
    assert sender.send_datagrams([b"late"]) == 1
    assert network.next_delivery_ns() == sent_at + 3 * MS
    clock.advance_ns(3 * MS - 1)
    assert texts(receiver) == []
    clock.advance_ns(5)
    assert receiver.receive_datagrams() == [(b"late", sender.local_address, arrives_at)]
    assert network.next_delivery_ns() is None


def test_loss_duplicates_and_reordering_are_as_asked_for(hosts, network, clock):
    a, b = hosts
    sender, receiver = connected(a, b, so_rcvbuf=1 << 20)
    network.set_link(a, b, loss=0.2, duplicate=0.1, reorder=0.1, reorder_ns=MS)
    for i in range(5000):
        assert sender.send_datagrams([i.to_bytes(4, "big")]) == 1
        clock.advance_ns(MS // 10)
    clock.advance_ns(10 * MS)
    found = []
    while batch := texts(receiver):
        found += batch
    assert 900 < network.lost < 1100
    assert 300 < network.duplicated < 500
    assert 350 < network.reordered < 530
    assert len(found) == network.delivered == 5000 - network.lost + network.duplicated
    assert len(set(found)) == 5000 - network.lost
    assert found != sorted(found)


def test_links_have_a_direction(hosts, network):
    sender, receiver = connected(*hosts)
    network.set_link(*hosts, loss=1.0)
    assert sender.send_datagrams([b"there"]) == 1
    assert receiver.send_datagrams([b"back"], sender.local_address) == 1
    assert texts(receiver) == []
    assert texts(sender) == [b"back"]


def test_a_partition_lasts_until_it_is_healed(hosts, network):
    sender, receiver = connected(*hosts)
    network.partition(*hosts)
    assert sender.send_datagrams([b"cut"]) == 1
    assert receiver.send_datagrams([b"cut"], sender.local_address) == 1
    assert network.cut == 2
    network.heal()
    assert sender.send_datagrams([b"healed"]) == 1
    assert texts(receiver) == [b"healed"]
    assert texts(sender) == []


def test_a_full_queue_drops_the_newest(hosts, network):
    sender, receiver = connected(*hosts, so_rcvbuf=1000)
    assert sender.send_datagrams([bytes(400), bytes(400), bytes(400)]) == 3
    assert network.overflowed == 1
    assert len(texts(receiver)) == 2


def test_a_connected_sender_learns_that_nobody_listens(hosts):
    sender, receiver = connected(*hosts)
    receiver.close()
    assert sender.send_datagrams([b"lost"]) == 1
    assert sender.send_datagrams([b"refused"]) == 0
    assert sender.send_datagrams([b"lost"]) == 1


def test_ports_of_a_host_are_given_once(hosts):
    a, _ = hosts
    first = a.open_receive_port((a.ipv4, 4000))
    with pytest.raises(OSError) as refused:
        a.open_receive_port(("0.0.0.0", 4000))
    assert refused.value.errno == errno.EADDRINUSE
    first.close()
    a.open_receive_port(("0.0.0.0", 4000)).close()
    with pytest.raises(OSError) as refused:
        a.open_receive_port(("10.0.0.9", 4000))
    assert refused.value.errno == errno.EADDRNOTAVAIL


def test_a_closed_port_says_so(hosts):
    sender, _ = connected(*hosts)
    sender.close()
    sender.close()
    assert sender.closed
    with pytest.raises(ResourceClosedError):
        _ = sender.local_address
    with pytest.raises(OSError) as refused:
        sender.send_datagrams([b"late"])
    assert refused.value.errno == errno.EBADF


@pytest.mark.parametrize(
    "rule", [{"loss": 1.1}, {"duplicate": -0.1}, {"reorder": 2.0}, {"delay_ns": -1}]
)
def test_links_that_cannot_be_are_refused(network, rule):
    with pytest.raises(ConfigurationError):
        network.set_link(**rule)


def test_a_datagram_above_the_limit_is_refused(hosts):
    sender, _ = connected(*hosts)
    with pytest.raises(OSError) as refused:
        sender.send_datagrams([bytes(65508)])
    assert refused.value.errno == errno.EMSGSIZE
