"""Two hosts: each driver in a network namespace of its own, joined by a virtual cable."""

from ipaddress import ip_address
from pathlib import Path

import pytest
from peer.channels import Row, check_rest, join
from peer.namespaces import LEFT, LEFT6, RIGHT, RIGHT6, NamespacesUnavailable, Wire
from peer.process import run_quietly
from peer.streams import Receipt, checked_messages, transfer
from prerequisites import skip_without

pytestmark = [pytest.mark.interop, pytest.mark.error_log("failed to send datagram", at_times=True)]


@pytest.fixture(scope="module")
def wire():
    """The namespaces; without the right to make them a skip that says so."""
    try:
        made = Wire()
        made.__enter__()
    except NamespacesUnavailable as reason:
        skip_without(str(reason))
    yield made
    made.__exit__()


@pytest.fixture
def hosts(direction, pair_servers, make_link, wire):
    """The sending driver on the left host, the receiving one on the right one."""
    sending, receiving = direction.split("-to-")
    return make_link(
        pair_servers(sending, 1, None, wire.inside(wire.left)),
        pair_servers(receiving, 1, None, wire.inside(wire.right)),
    )


ROWS = {
    "unicast": Row(
        f"aeron:udp?endpoint={RIGHT}:{{p}}|term-length=64k", (f"aeron:udp?endpoint={RIGHT}:{{p}}",)
    ),
    "unicast over IPv6": Row(
        f"aeron:udp?endpoint=[{RIGHT6}]:{{p}}|term-length=64k",
        (f"aeron:udp?endpoint=[{RIGHT6}]:{{p}}",),
    ),
    "multicast by subnet": Row(
        "aeron:udp?endpoint=224.20.30.43:{p}|interface=10.71.9.0/24|term-length=64k",
        ("aeron:udp?endpoint=224.20.30.43:{p}|interface=10.71.9.0/24",),
    ),
    "multicast on any interface": Row(
        "aeron:udp?endpoint=224.20.30.45:{p}|term-length=64k",
        ("aeron:udp?endpoint=224.20.30.45:{p}",),
    ),
    "multicast with a time to live": Row(
        f"aeron:udp?endpoint=224.20.30.47:{{p}}|interface={LEFT}|ttl=4|term-length=64k",
        (f"aeron:udp?endpoint=224.20.30.47:{{p}}|interface={RIGHT}|ttl=4",),
    ),
    "multicast over IPv6": Row(
        f"aeron:udp?endpoint=[ff02::3]:{{p}}|interface=[{LEFT6}]|term-length=64k",
        (f"aeron:udp?endpoint=[ff02::3]:{{p}}|interface=[{RIGHT6}]",),
    ),
    "multicast over IPv6 by subnet": Row(
        "aeron:udp?endpoint=[ff05::5]:{p}|interface=[fd71:9::]/64|ttl=4|term-length=64k",
        ("aeron:udp?endpoint=[ff05::5]:{p}|interface=[fd71:9::]/64|ttl=4",),
    ),
    "dynamic destinations": Row(
        f"aeron:udp?control={LEFT}:{{p}}|control-mode=dynamic|term-length=64k|fc=min,g:/2",
        (
            f"aeron:udp?endpoint={RIGHT}:{{q}}|control={LEFT}:{{p}}",
            f"aeron:udp?endpoint=0.0.0.0:{{r}}|control={LEFT}:{{p}}",
        ),
    ),
    "dynamic destinations over IPv6": Row(
        f"aeron:udp?control=[{LEFT6}]:{{p}}|control-mode=dynamic|term-length=64k|fc=min,g:/1",
        (f"aeron:udp?endpoint=[{RIGHT6}]:{{q}}|control=[{LEFT6}]:{{p}}",),
    ),
    "manual destinations": Row(
        "aeron:udp?control-mode=manual|term-length=64k|fc=min,g:/1",
        (f"aeron:udp?endpoint={RIGHT}:{{q}}",),
        (f"aeron:udp?endpoint={RIGHT}:{{q}}",),
    ),
    "large frames in fragments of the wire": Row(
        f"aeron:udp?endpoint={RIGHT}:{{p}}|term-length=128k|mtu=8192",
        (f"aeron:udp?endpoint={RIGHT}:{{p}}",),
        longest=16_384,
    ),
}


@pytest.mark.parametrize("name", list(ROWS))
def test_every_message_crosses_the_wire(hosts, stream_id, name):
    row = ROWS[name]
    publication, subscriptions = join(hosts, row, stream_id)
    receipts = [Receipt(subscription) for subscription in subscriptions]
    end = transfer(
        publication, receipts, checked_messages(300, longest=row.longest, seed=stream_id)
    )
    check_rest(hosts, publication, subscriptions, end)
    for subscription in subscriptions:
        (image,) = subscription.images
        source = address_of(image.source_identity)
        assert source in {ip_address(LEFT), ip_address(LEFT6)} or source.is_link_local


def address_of(host_and_port):
    """The address of ``host:port``; drivers write IPv6 with brackets or without."""
    host = host_and_port.rsplit(":", 1)[0].strip("[]")
    return ip_address(host.split("%")[0])


def test_a_cut_cable_is_survived(hosts, stream_id, wire):
    """Half a second without a wire: what was lost meanwhile comes again."""
    publication, (subscription,) = join(hosts, ROWS["unicast"], stream_id)
    receipt = Receipt(subscription)
    transfer(publication, [receipt], checked_messages(100))
    run_quietly("ip", "-n", wire.right, "link", "set", "veth1", "down")
    try:
        held = checked_messages(200, first=100)
        sent = 0
        while publication.offer(held[sent]) > 0:
            sent += 1
        assert sent > 0
        assert not subscription.poll_messages(10)
    finally:
        run_quietly("ip", "-n", wire.right, "link", "set", "veth1", "up")
    receipt.next_number = 100
    end = transfer(publication, [receipt], held[sent:])
    assert receipt.position == end
    assert receipt.count == 300


def test_the_other_host_is_the_other_network(hosts, wire):
    """The setting itself: neither driver shares an address with the other or with the test."""
    own = Path("/proc/self/ns/net").readlink()
    links = {Path(f"/proc/{s.pid}/ns/net").readlink() for s in (hosts.sending, hosts.receiving)}
    assert len(links) == 2
    assert own not in links
