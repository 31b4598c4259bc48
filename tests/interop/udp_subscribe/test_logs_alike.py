"""The log of an image says the same of it, byte for byte, whichever driver has made it."""

import pytest

from aerolog.transport.logbuffer.descriptor import LOG_META_LENGTH, LogBuffers
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

pytestmark = pytest.mark.interop

START = "session-id=987654321|init-term-id=-5|term-id=2|term-offset=96"
# Of the subscription, of the publication.
STREAMS = {
    "plain": ("aeron:udp?endpoint=127.0.0.1:{p}", "aeron:udp?endpoint=127.0.0.1:{p}|mtu=2048"),
    "everything said": (
        (
            "aeron:udp?endpoint=127.0.0.1:{p}|rcv-wnd=16k|rejoin=false|tether=false|group=true"
            "|sparse=false|so-rcvbuf=256k|so-sndbuf=64k|untethered-resting-timeout=7s"
            "|untethered-window-limit-timeout=6s|untethered-linger-timeout=3s|cc=cubic|alias=q"
        ),
        "aeron:udp?endpoint=127.0.0.1:{p}",
    ),
    "a group, unreliable": (
        "aeron:udp?endpoint=224.0.1.1:{p}|interface=127.0.0.1|reliable=false",
        "aeron:udp?endpoint=224.0.1.1:{p}|interface=127.0.0.1",
    ),
    "group refused": (
        "aeron:udp?endpoint=224.0.1.1:{p}|interface=127.0.0.1|group=false",
        "aeron:udp?endpoint=224.0.1.1:{p}|interface=127.0.0.1",
    ),
    "group as the setup says": (
        "aeron:udp?endpoint=127.0.0.1:{p}|control=127.0.0.1:{q}",
        "aeron:udp?control=127.0.0.1:{q}|control-mode=dynamic",
    ),
    "window of the driver": (
        "aeron:udp?endpoint=127.0.0.1:{p}",
        "aeron:udp?endpoint=127.0.0.1:{p}|term-length=1m",
    ),
}


def sub(channel, stream_id):
    return lambda i, n: c.AddSubscription(i, n, stream_id, channel)


def exclusive(channel, stream_id):
    return lambda i, n: c.AddExclusivePublication(i, n, stream_id, channel)


def logs(s, streams):
    """Lengths and metadata of the logs of images."""
    found = []
    for number, (subscription, publication) in enumerate(streams):
        p, q = s.ports[2 * number : 2 * number + 2]
        s.client.do(sub(subscription.format(p=p, q=q), 1001 + number))
        text = f"{publication}|{START}".format(p=p, q=q)
        if "term-length" not in text:
            text += "|term-length=64k"
        said = s.client.do(exclusive(text, 1001 + number))
        if not any(isinstance(m, r.AvailableImage) for m in said):
            said += s.client.until(lambda m: isinstance(m, r.AvailableImage))
        (image,) = [m for m in said if isinstance(m, r.AvailableImage)]
        log = MappedFile.open(image.log_file)
        made = LogBuffers.open(log)
        s.client.wait_for(lambda made=made: made.active_transport_count == 1)
        found.append((log.length, bytes(log.view(log.length - LOG_META_LENGTH)).hex()))
    return found


def test_logs_of_images_are_made_alike(both_say):
    found = []
    both_say(lambda s: found.append(logs(s, STREAMS.values())), {"aeron.timer.interval": "100ms"})
    ours, reference = found
    for name, mine, theirs in zip(STREAMS, ours, reference, strict=True):
        assert mine == theirs, name
