"""The same actions on drivers of both makes: the same events in the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from peer.streams import free_port
from waits import wait_until

from aerolog.transport.client import Aeron
from aerolog.transport.errors import RegistrationError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.interop
HOST = "127.0.0.1"
# How often these stand there is a matter of time.
OFTEN = {"FRAME_IN", "FRAME_OUT", "NAK_SENT", "NAK_RECEIVED", "RESEND", "CMD_IN_KEEPALIVE_CLIENT"}


def work(server: Any, port: int) -> None:
    """What clients do with streams of both media; ends when all of it is gone."""
    udp = f"aeron:udp?endpoint=localhost:{port}"
    with Aeron.connect(server.aeron_dir) as aeron:
        for channel in ("aeron:ipc", udp):
            subscription = aeron.add_subscription(channel, 1001)
            publication = aeron.add_exclusive_publication(channel, 1001)
            wait_until(lambda p=publication: p.is_connected, "a subscriber")
            publication.send(b"x" * 100, timeout=30)
            wait_until(lambda s=subscription: s.poll(lambda *_: None, 10), "the message")
            publication.close()
            server.wait("REMOVE_PUBLICATION_CLEANUP", f"channel={channel}")
            server.wait("CMD_OUT_ON_UNAVAILABLE_IMAGE", f"channel={channel}")
            subscription.close()
        server.wait("REMOVE_IMAGE_CLEANUP")
        server.wait("RECEIVE_CHANNEL_CLOSE")
        server.wait("SEND_CHANNEL_CLOSE")
        for channel in ("aeron:udp?endpoint=no-such-host.invalid:4000", "aeron:udp?endpoint=x|y"):
            with pytest.raises(RegistrationError):
                aeron.add_publication(channel, 5)
        aeron.add_counter(1001, "a label", b"key").close()
        manual = aeron.add_publication("aeron:udp?control-mode=manual|fc=min", 1002)
        manual.add_destination(udp)
        manual.remove_destination(udp)
        manual.close()
        server.wait("SEND_CHANNEL_CLOSE", "remoteData: 0.0.0.0:0")
        revoked = aeron.add_exclusive_publication("aeron:ipc?alias=gone", 7)
        revoked.revoke()
        server.wait("PUBLICATION_REVOKE")
        server.wait("REMOVE_PUBLICATION_CLEANUP", "alias=gone")
    server.wait("CMD_OUT_ON_UNAVAILABLE_COUNTER", count=2)


def test_events_are_the_same(log_events: Callable[..., Any], tally: Callable[[Any], Any]) -> None:
    port = free_port()
    found = {}
    for make in ("reference", "ours"):
        server = log_events(make, "driver", {"aeron.event.log": "admin"})
        work(server, port)
        assert server.process.stop() == 0
        found[make] = tally(
            [
                (name, text)
                for name, text in server.lines()
                if name not in OFTEN and "=true resolvedName" not in text
                if "isReResolution=true" not in text
            ]
        )

    assert found["ours"].total() > 60
    assert found["ours"] - found["reference"] == {}
    assert found["reference"] - found["ours"] == {}


def test_frames_are_shown_alike(
    log_events: Callable[..., Any], tally: Callable[[Any], Any]
) -> None:
    port = free_port()
    found, lengths = {}, {}
    for make in ("reference", "ours"):
        server = log_events(make, "driver", {"aeron.event.log": "FRAME_IN,2"})
        channel = f"aeron:udp?endpoint={HOST}:{port}|mtu=8k"
        with Aeron.connect(server.aeron_dir) as aeron:
            subscription = aeron.add_subscription(channel, 1001)
            publication = aeron.add_publication(channel, 1001)
            wait_until(lambda p=publication: p.is_connected, "a subscriber")
            publication.send(b"x" * 7000, timeout=30)
            server.wait("FRAME_IN", "frameLength=7032")
            publication.close()
            subscription.close()
            server.wait("FRAME_IN", "type=SM flags=01000000")
        assert server.process.stop() == 0
        # How many others there are, and where in the stream, is a matter of time.
        found[make] = {
            line
            for line in tally(server.lines())
            if "type=SETUP" in line[1] or "frameLength=7032" in line[1]
        }
        whole = [text for text in server.path.read_text().splitlines() if "=7032 " in text]
        lengths[make] = {text.partition(": ")[2].partition(":")[0] for text in whole}

    assert found["ours"] == found["reference"]
    assert len(found["ours"]) == 4
    assert lengths["ours"] == lengths["reference"]
    assert lengths["ours"] == {"FRAME_IN [4079/7052]", "FRAME_OUT [4079/7052]"}


@pytest.mark.parametrize("make", ["reference", "ours"])
def test_what_is_no_event_is_told_of_and_passed_over(
    log_events: Callable[..., Any], make: str
) -> None:
    server = log_events(
        make,
        "driver",
        {
            "aeron.event.log": "bogus,CMD_IN_CLIENT_CLOSE,35,CMD_IN_REMOVE_COUNTER",
            "aeron.event.log.disable": "36",
        },
    )
    with Aeron.connect(server.aeron_dir) as aeron:
        aeron.add_counter(1001, "a label").close()
    server.wait("CMD_IN_CLIENT_CLOSE")
    assert server.process.stop() == 0

    assert "unknown event code: bogus" in server.process.log()
    assert [name for name, _ in server.lines()] == ["CMD_IN_ADD_COUNTER", "CMD_IN_CLIENT_CLOSE"]
