"""What both drivers write into the logs of UDP publications, byte by byte."""

import pytest
from peer.raw_client import RawClient
from peer.streams import free_port

from aerolog.transport.logbuffer.descriptor import LOG_META_LENGTH
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.protocol import commands as c

pytestmark = pytest.mark.interop

START = "init-term-id=5|term-id=7|term-offset=96"
CHANNELS = (
    f"endpoint=127.0.0.1:4000|session-id=77|term-length=64k|{START}",
    (
        f"endpoint=localhost:4001|session-id=78|term-length=128k|{START}|mtu=2048|pub-wnd=16k"
        "|linger=3s|eos=false|sparse=false|max-resend=3|tags=1,99|ssc=true|so-sndbuf=64k"
        "|so-rcvbuf=96k|untethered-window-limit-timeout=7s|untethered-resting-timeout=9s"
    ),
    f"endpoint=224.20.30.39:4002|interface=localhost|session-id=79|{START}|fc=min,g:/3",
    f"control=127.0.0.1:<control>|control-mode=dynamic|session-id=80|{START}",
    f"control-mode=manual|session-id=81|{START}|untethered-linger-timeout=8s",
    (
        f"control=127.0.0.1:<control>|control-mode=response|session-id=82|tags=7|{START}"
        "|response-correlation-id=prototype"
    ),
)


def sections(server):
    """Length and metadata of the log of every channel."""
    client, port = RawClient(server.aeron_dir), free_port()
    found = []
    for channel in CHANNELS:
        for make in (c.AddPublication, c.AddExclusivePublication):
            session = channel.replace("session-id=", f"session-id={len(found)}")
            whole = "aeron:udp?" + session.replace("<control>", str(port)).replace(
                "tags=1,99", f"tags=1,{900 + len(found)}"
            )
            *_, ready = client.do(lambda i, n, m=make, ch=whole: m(i, n, 1001, ch))
            log = MappedFile.open(ready.log_file)
            found.append((log.length, bytes(log.view(log.length - LOG_META_LENGTH)).hex()))
        port = free_port()
    return found


def fresh_sections(start_server, kind):
    server = start_server(kind, "driver", properties={"aeron.term.buffer.length": "64k"})
    found = sections(server)
    assert server.process.stop() == 0
    return found


def test_logs_are_made_alike(start_server):
    ours, reference = (fresh_sections(start_server, kind) for kind in ("ours", "reference"))
    for channel, mine, theirs in zip(CHANNELS, ours[::2], reference[::2], strict=True):
        assert mine == theirs, channel
    assert ours == reference
