"""When names are looked up again."""

from ipaddress import ip_address

import pytest

from aerolog.transport.network.addresses import SocketAddress
from aerolog.transport.network.reresolution import Lookup, ReResolutions, Watched

S = 1_000_000_000
OLD = SocketAddress(ip_address("10.0.0.1"), 1)
NEW = SocketAddress(ip_address("10.0.0.2"), 1)
ALPHA = Lookup("endpoint", "alpha:1")


class Peer:
    def __init__(self, lookup=ALPHA):
        self.heard_ns = 0
        self.addresses = []
        self.watched = Watched(lookup, OLD, lambda: self.heard_ns, self.addresses.append)


@pytest.fixture
def names():
    return ReResolutions(S)


def test_a_peer_that_is_heard_is_left_alone(names):
    peer = Peer()
    names.add(peer.watched, 0)
    for now_ns in range(0, 20 * S, S // 2):
        peer.heard_ns = now_ns
        assert names.due(now_ns) == []


def test_a_silent_peer_is_looked_up_after_five_seconds_and_every_five_seconds(names):
    names.add(Peer().watched, 0)
    times = []
    for now_ns in range(0, 17 * S, S):
        for lookup in names.due(now_ns):
            times.append(now_ns // S)
            names.on_resolved(lookup, OLD)

    assert times == [6, 12]


def test_nothing_is_looked_up_twice_at_a_time(names):
    names.add(Peer().watched, 0)

    assert names.due(6 * S) == [ALPHA]
    assert names.due(20 * S) == []
    assert names.on_failed(ALPHA) == "could not re-resolve: endpoint=alpha:1"
    assert names.due(30 * S) == [ALPHA]


def test_checks_keep_their_interval(names):
    names.add(Peer().watched, 0)

    assert names.due(5 * S) == []
    assert names.due(5 * S + S // 2) == []
    assert names.due(6 * S) == [ALPHA]


def test_every_address_of_a_name_follows_it(names):
    peers = [Peer(), Peer(), Peer(Lookup("control", "alpha:1"))]
    for peer in peers:
        names.add(peer.watched, 0)

    assert names.due(6 * S) == [ALPHA, Lookup("control", "alpha:1")]
    assert names.on_resolved(ALPHA, NEW) == 2
    assert [peer.addresses for peer in peers] == [[NEW], [NEW], []]
    assert names.on_resolved(ALPHA, NEW) == 0


def test_what_is_removed_is_not_looked_up(names):
    peer = Peer()
    names.add(peer.watched, 0)
    names.remove(peer.watched)
    names.remove(peer.watched)

    assert names.due(60 * S) == []
    assert names.on_resolved(ALPHA, NEW) == 0
    assert peer.addresses == []
