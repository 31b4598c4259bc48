"""What was lost is reported alike, whichever driver has lost it."""

import dataclasses

import pytest
from peer.raw_client import RawClient

from aerolog.transport.memory.loss_report import read_loss_report
from aerolog.transport.memory.mapped_file import MappedFile

pytestmark = pytest.mark.interop

# Both lose a quarter of what comes in; which datagrams is for each to choose.
PROPERTIES = {
    "aeron.timer.interval": "100ms",
    "aeron.ReceiveChannelEndpoint.supplier": (
        "io.aeron.driver.ext.DebugReceiveChannelEndpointSupplier"
    ),
    "aeron.debug.receive.data.loss.rate": "0.25",
    "aeron.debug.receive.data.loss.seed": "7",
}


def report(server, our_client, ports):
    """The loss report of a stream with two subscriptions, without its numbers."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{ports[0]}"
    client = our_client(server.aeron_dir)
    client.add_subscription(f"{channel}|alias=other", 1002)
    subscriptions = [
        client.add_subscription(f"{channel}|alias={name}", 1001) for name in ("first", "second")
    ]
    publication = client.add_publication(f"{channel}|term-length=64k|session-id=77", 1001)
    publication.wait_connected(10.0)
    received = [0, 0]
    raw = RawClient(server.aeron_dir)

    def poll():
        for index, subscription in enumerate(subscriptions):
            received[index] += subscription.poll(lambda data, header: None, 10)

    for number in range(300):
        while publication.offer(number.to_bytes(4, "little") + bytes(1000)) < 0:
            poll()

    def all_received():
        poll()
        return received == [300, 300]

    raw.wait_for(all_received)
    entries = read_loss_report(MappedFile.open(f"{server.aeron_dir}/loss-report.dat"))
    sources = {image.source_identity for image in subscriptions[0].images}
    assert all(entry.observation_count > 0 for entry in entries)
    assert all(entry.total_bytes_lost >= 1024 * entry.observation_count for entry in entries)
    assert all(entry.first_observation_ms <= entry.last_observation_ms for entry in entries)
    assert {entry.source for entry in entries} == sources
    blank = {
        "observation_count": 0,
        "total_bytes_lost": 0,
        "first_observation_ms": 0,
        "last_observation_ms": 0,
        "source": "",
    }
    client.close()
    return [dataclasses.replace(entry, **blank) for entry in entries]


def test_losses_are_reported_alike(start_server, our_client, ports):
    found = []
    for kind in ("ours", "reference"):
        server = start_server(kind, "driver", properties=PROPERTIES)
        found.append(report(server, our_client, ports))
        assert server.process.stop() == 0
    ours, reference = found
    assert len(ours) == 1
    assert ours == reference
