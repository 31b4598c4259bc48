"""Our resolver's state machine and the reference's driver tell each other names over UDP."""

import contextlib
import socket
import time
from ipaddress import ip_address

import pytest

from aerolog.transport.client import Aeron
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.errors import RegistrationError
from aerolog.transport.network.addresses import SocketAddress
from aerolog.transport.network.name_gossip import GossipOptions, NameGossip
from aerolog.transport.protocol.frame_codec import (
    ResolutionEntry,
    ResolutionFrame,
    decode_frame,
    encode_frame,
)

DEADLINE_S = 30.0
NEIGHBORS_COUNTER, CACHE_COUNTER = (
    CounterType.RESOLVER_NEIGHBORS,
    CounterType.RESOLVER_CACHE_ENTRIES,
)


class OurResolver:
    """A socket, a clock and the state machine between them."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.01)
        self.port = self.socket.getsockname()[1]
        bound = SocketAddress(ip_address("127.0.0.1"), self.port)
        self.gossip = NameGossip(GossipOptions(name=name), bound, time.monotonic_ns())
        self.received = []

    def send(self, data, destination):
        self.socket.sendto(data, destination.sockaddr)

    def turn(self):
        with contextlib.suppress(TimeoutError):
            data, (host, port) = self.socket.recvfrom(65_536)
            self.received.append(data)
            source = SocketAddress(ip_address(host), port)
            assert self.gossip.on_datagram(data, source, time.monotonic_ns())
        for out in self.gossip.poll(time.monotonic_ns()).frames:
            self.send(out.frame, out.destination)

    def turn_until(self, condition):
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, f"{len(self.received)} datagrams received"
            self.turn()


@pytest.fixture
def ours():
    resolver = OurResolver("our-driver")
    with resolver.socket:
        yield resolver


@pytest.fixture
def driver(start_server, ours):
    return start_server(
        "reference",
        "driver",
        properties={
            "aeron.driver.resolver.name": "java-driver",
            "aeron.driver.resolver.interface": "127.0.0.1:0",
            "aeron.driver.resolver.bootstrap.neighbor": f"127.0.0.1:{ours.port}",
        },
    )


def counter(aeron, type_id):
    return next(found for found in aeron.counters.values() if found.type_id == type_id)


def told_names(datagrams):
    return {entry.name for data in datagrams for entry in decode_frame(data).entries}


def test_the_reference_and_we_learn_each_others_names(driver, ours):
    with Aeron(driver.aeron_dir) as aeron:
        ours.turn_until(lambda: ours.gossip.address_of("java-driver") is not None)
        assert ours.gossip.address_of("java-driver") == ip_address("127.0.0.1")
        assert ours.gossip.neighbor_count == 1

        # The reference's driver counts a name and then the neighbour that told it.
        ours.turn_until(lambda: counter(aeron, CACHE_COUNTER).value == 1)
        ours.turn_until(lambda: counter(aeron, NEIGHBORS_COUNTER).value == 1)
        with aeron.add_publication("aeron:udp?endpoint=our-driver:24567", 1001) as publication:
            assert publication.session_id is not None
        with pytest.raises(RegistrationError, match="unresolved - endpoint=their-driver:24567"):
            aeron.add_publication("aeron:udp?endpoint=their-driver:24567", 1001)


def test_the_reference_repeats_what_we_tell_it_and_reads_our_table(driver, ours):
    with Aeron(driver.aeron_dir) as aeron:
        third = SocketAddress(ip_address("127.0.0.1"), ours.port)
        entry = ResolutionEntry("third-driver", "127.0.0.1", ours.port, 0, 0)
        told = encode_frame(ResolutionFrame((entry,)))
        ours.gossip.on_datagram(told, third, time.monotonic_ns())
        ours.turn_until(lambda: counter(aeron, CACHE_COUNTER).value == 2)

        ours.turn_until(lambda: "third-driver" in told_names(ours.received))
        assert {"java-driver", "our-driver"} <= told_names(ours.received)


def test_counters_are_labelled_as_the_reference_labels_them(driver, ours):
    with Aeron(driver.aeron_dir) as aeron:
        ours.turn_until(lambda: ours.gossip.neighbor_count == 1)
        theirs = [data for data in ours.received if decode_frame(data).entries[0].flags]
        port = decode_frame(theirs[0]).entries[0].port
        bound = SocketAddress(ip_address("127.0.0.1"), port)
        same = NameGossip(
            GossipOptions(name="java-driver", bootstrap=(f"127.0.0.1:{ours.port}",)), bound, 0
        )
        same.on_bootstrap_resolved(f"127.0.0.1:{ours.port}", SocketAddress(bound.ip, ours.port))
        labels = [found.label for found in aeron.counters.values()]

    assert same.neighbors_label in labels
    assert same.cache_label in labels
    assert same.bootstrap[0].label in labels


def test_an_older_word_of_a_name_replaces_no_newer_one_here_and_there(driver, ours):
    ours.turn_until(lambda: ours.gossip.neighbor_count == 1)
    java = next(
        SocketAddress(ip_address("127.0.0.1"), one.port)
        for data in ours.received
        for one in decode_frame(data).entries
    )

    def tell_both(host, age_ms):
        entry = ResolutionEntry("third-driver", host, 5555, age_ms, 0)
        told = encode_frame(ResolutionFrame((entry,)))
        ours.send(told, java)
        ours.gossip.on_datagram(told, java, time.monotonic_ns())

    def told_hosts():
        entries = [one for data in ours.received for one in decode_frame(data).entries]
        return [one.address for one in entries if one.name == "third-driver"]

    tell_both("127.0.0.2", 0)
    ours.turn_until(told_hosts)
    ours.received.clear()
    tell_both("127.0.0.3", 8000)
    ours.turn_until(told_hosts)

    assert set(told_hosts()) == {"127.0.0.2"}
    assert ours.gossip.address_of("third-driver") == ip_address("127.0.0.2")
