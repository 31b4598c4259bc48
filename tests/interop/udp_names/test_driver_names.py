"""Names of our whole driver beside the reference's: gossip both ways, and peers that move."""

import pytest
from peer.streams import free_port
from waits import wait_until

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.errors import RegistrationError
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.filesystem import RealFileSystem

pytestmark = pytest.mark.interop
NEIGHBORS, CACHE, BOOTSTRAP, NAME_ENTRY = (
    CounterType.RESOLVER_NEIGHBORS,
    CounterType.RESOLVER_CACHE_ENTRIES,
    CounterType.RESOLVER_BOOTSTRAP_NEIGHBOR,
    CounterType.NAME_ENTRY,
)
RESOLUTION_CHANGES = SystemCounter.RESOLUTION_CHANGES


def resolver(name, bootstrap=None):
    properties = {
        "aeron.driver.resolver.name": name,
        "aeron.driver.resolver.interface": "127.0.0.1:0",
        "aeron.driver.resolver.self.resolution.interval": "200ms",
        "aeron.driver.resolver.neighbor.resolution.interval": "400ms",
    }
    return properties | (
        {"aeron.driver.resolver.bootstrap.neighbor": bootstrap} if bootstrap else {}
    )


def counter(aeron, type_id):
    return next(found for found in aeron.counters.values() if found.type_id == type_id)


def gossip_port(aeron):
    return int(counter(aeron, NEIGHBORS).label.rpartition(":")[2])


@pytest.fixture(params=["ours first", "reference first"])
def gossiping(request, start_server, our_client):
    """A client on our driver and one on the reference's; the second driver knows the first."""
    first, second = (
        ("ours", "reference") if request.param == "ours first" else ("reference", "ours")
    )
    clients = {}
    server = start_server(first, "driver", properties=resolver(f"{first}-driver"))
    clients[first] = our_client(server.aeron_dir)
    bootstrap = f"localhost:{gossip_port(clients[first])}"
    server = start_server(second, "driver", properties=resolver(f"{second}-driver", bootstrap))
    clients[second] = our_client(server.aeron_dir)
    return clients


def say_and_hear(publisher, subscriber, name, stream_id):
    port = free_port("127.0.0.1")
    with (
        subscriber.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{port}", stream_id) as listener,
        publisher.add_publication(f"aeron:udp?endpoint={name}:{port}", stream_id) as publication,
    ):
        publication.send(b"by name", timeout=20.0)
        messages = []
        wait_until(lambda: messages.extend(listener.poll_messages()) or messages, "a message")
        return bytes(messages[0].data)


def test_streams_go_by_the_names_that_drivers_told_each_other(gossiping, stream_id):
    for aeron in gossiping.values():
        wait_until(lambda a=aeron: counter(a, CACHE).value == 1, "a name of the other driver")
        wait_until(lambda a=aeron: counter(a, NEIGHBORS).value == 1, "the other as a neighbor")

    ours, reference = gossiping["ours"], gossiping["reference"]
    assert say_and_hear(ours, reference, "reference-driver", stream_id) == b"by name"
    assert say_and_hear(reference, ours, "ours-driver", stream_id) == b"by name"
    for aeron in gossiping.values():
        with pytest.raises(RegistrationError, match="unresolved - endpoint=third-driver:24567"):
            aeron.add_publication("aeron:udp?endpoint=third-driver:24567", stream_id)


def test_the_first_neighbor_is_shown_alike(gossiping):
    second = next(a for a in gossiping.values() if BOOTSTRAP in kinds(a))
    first = next(a for a in gossiping.values() if BOOTSTRAP not in kinds(a))
    port = gossip_port(first)

    wait_until(lambda: counter(second, BOOTSTRAP).value == 1, "the first neighbor")
    assert counter(second, BOOTSTRAP).label == (
        f"Bootstrap neighbor: name=localhost:{port} resolved=127.0.0.1:{port}"
    )


def kinds(aeron):
    return {found.type_id for found in aeron.counters.values()}


def follows_endpoint(ours, theirs, port, stream_id):
    """A unicast publication of ours; its receiver is on the second host."""
    publication = ours.add_publication(f"aeron:udp?endpoint=peer:{port}", stream_id)
    return publication, theirs.add_subscription(f"aeron:udp?endpoint={MOVED}:{port}", stream_id)


def follows_destination(ours, theirs, port, stream_id):
    """A destination of a publication of ours; its receiver is on the second host."""
    publication = ours.add_publication("aeron:udp?control-mode=manual", stream_id)
    publication.add_destination(f"aeron:udp?endpoint=peer:{port}")
    return publication, theirs.add_subscription(f"aeron:udp?endpoint={MOVED}:{port}", stream_id)


def follows_control(ours, theirs, port, stream_id):
    """A subscription of ours that signs on with a sender on the second host."""
    channel = f"aeron:udp?control={MOVED}:{port}|control-mode=dynamic"
    publication = theirs.add_publication(channel, stream_id)
    return publication, ours.add_subscription(
        f"aeron:udp?endpoint=127.0.0.1:0|control=peer:{port}", stream_id
    )


def follows_source(ours, theirs, port, stream_id):
    """A source of a subscription of ours, which is on the second host."""
    channel = f"aeron:udp?control={MOVED}:{port}|control-mode=dynamic"
    publication = theirs.add_publication(channel, stream_id)
    subscription = ours.add_subscription("aeron:udp?control-mode=manual", stream_id)
    subscription.add_destination(f"aeron:udp?endpoint=127.0.0.1:0|control=peer:{port}")
    return publication, subscription


MOVED = "127.0.0.2"
TABLE = {
    "aeron.name.resolver.supplier": "csv_table",
    "aeron.name.resolver.init.args": f"peer,127.0.0.1,{MOVED}",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "follows", [follows_endpoint, follows_destination, follows_control, follows_source]
)
def test_a_name_is_followed_to_another_host(start_server, our_client, stream_id, follows):
    server = start_server("ours", "driver", properties=TABLE)
    ours = our_client(server.aeron_dir)
    theirs = our_client(start_server("reference", "driver").aeron_dir)
    publication, subscription = follows(ours, theirs, free_port("127.0.0.1"), stream_id)

    operator = CncFile.open(RealFileSystem(), server.aeron_dir, writable=True).counters
    operator.set_value(counter(ours, NAME_ENTRY).counter_id, 1)
    wait_until(lambda: publication.is_connected, "the ends to find each other", timeout=30.0)

    publication.send(b"found you", timeout=10.0)
    messages = []
    wait_until(lambda: messages.extend(subscription.poll_messages()) or messages, "a message")
    assert bytes(messages[0].data) == b"found you"
    assert ours.counters[RESOLUTION_CHANGES].value == 1
