"""Publications and subscriptions come and go, in every threading mode, with any client."""

from pathlib import Path

import pytest
from peer.streams import free_port
from waits import wait_until

pytestmark = pytest.mark.interop

PROPERTIES = {
    "aeron.timer.interval": "100ms",
    "aeron.publication.linger.timeout": "200ms",
    "aeron.image.liveness.timeout": "1s",
    "aeron.untethered.linger.timeout": "500ms",
    "aeron.counters.free.to.reuse.timeout": "100ms",
}


def logs(aeron_dir):
    return list(Path(aeron_dir).rglob("*.logbuffer"))


@pytest.mark.parametrize("mode", ["SHARED", "DEDICATED", "INVOKER"])
@pytest.mark.parametrize("media", ["ipc", "udp"])
def test_streams_of_large_terms_come_and_go_beside_one_that_goes_on(
    start_server, peer_client, our_client, stream_id, mode, media
):
    server = start_server("ours", "driver", properties={**PROPERTIES, "aeron.threading.mode": mode})
    channel = "aeron:ipc" if media == "ipc" else f"aeron:udp?endpoint=localhost:{free_port()}"
    client, other = peer_client(server.aeron_dir), our_client(server.aeron_dir)
    steady = client.add_subscription(channel, stream_id)
    steady_publication = client.add_exclusive_publication(channel, stream_id)
    receiving = steady.start_poll_numbered(20_000, 200)
    sending = steady_publication.start_offer_numbered(20_000, 200)
    large = f"{channel}{'|' if media == 'udp' else '?'}term-length=64m"
    for each in range(5):
        reader = client.add_subscription(channel, stream_id + 1)
        added = client.add_publication(large, stream_id + 1)
        shared = other.add_publication(large, stream_id + 1)
        assert shared.session_id == added.sessionId()
        added.offer(b"%d" % each)
        wait_until(lambda reader=reader: reader.poll(1), "the message")
        for one in (added, shared, reader):
            one.close()
    assert receiving.result(60)["first_wrong"] is None
    assert sending.result(60)["count"] == 20_000
    steady.close()
    steady_publication.close()
    wait_until(lambda: logs(server.aeron_dir) == [], "all logs to be deleted", 60)
