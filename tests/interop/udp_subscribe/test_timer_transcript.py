"""What both drivers say of UDP subscriptions and images, and in which order, when time passes."""

import difflib
import time

import pytest
from peer.raw_client import RawClient

from aerolog.testing.direct_log import DirectPublication
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

pytestmark = pytest.mark.interop

PROPERTIES = {
    "aeron.timer.interval": "100ms",
    "aeron.client.liveness.timeout": "3s",
    "aeron.publication.unblock.timeout": "4s",
    "aeron.publication.linger.timeout": "200ms",
    "aeron.image.liveness.timeout": "2s",
    "aeron.untethered.window.limit.timeout": "500ms",
    "aeron.untethered.resting.timeout": "500ms",
    # None is used again: whether its time has come depends on how quick a script is.
    "aeron.counters.free.to.reuse.timeout": "1000s",
}
DEADLINE_S = 30.0
FRAME = 1024


def sub(channel, stream_id=1001):
    return lambda i, n: c.AddSubscription(i, n, stream_id, channel)


def pub(channel, stream_id=1001):
    return lambda i, n: c.AddPublication(i, n, stream_id, channel)


def remove_pub(registration_id):
    return lambda i, n: c.RemovePublication(i, n, registration_id, 0)


def companion(s):
    """Another client of the driver, kept alive."""
    other = RawClient(s.client.aeron_dir)
    s.client.companions.append(other)
    other.companions.append(s.client)
    return other


def publish(client, ready, count):
    """Writes so many frames of 1 KiB as the publisher itself would."""
    lengths = client.cnc.header.lengths
    values_at = 128 + lengths.to_driver + lengths.to_clients + lengths.counter_metadata
    writer = DirectPublication(
        LogBuffers.open(MappedFile.open(ready.log_file)),
        client.cnc.mapped,
        values_at + 128 * ready.limit_counter_id,
        exclusive=False,
    )
    deadline = time.monotonic() + DEADLINE_S
    while count:
        if writer.offer(bytes(FRAME - 32)) > 0:
            count -= 1
        else:
            assert time.monotonic() < deadline
            client.beat_all()
            time.sleep(0.001)


def value_of(client, type_id):
    (counter,) = [k for k in client.cnc.counters if k.type_id == type_id]
    return counter.value


def a_dead_client(s):
    """A client with subscriptions and an image dies; another one with the same image looks on."""
    other = companion(s)
    channel = f"aeron:udp?endpoint=127.0.0.1:{s.ports[0]}"
    s.do("subscription", sub(channel))
    s.do("on an endpoint of its own", sub(f"aeron:udp?endpoint=127.0.0.1:{s.ports[1]}", 1002))
    s.do("with destinations", sub("aeron:udp?control-mode=manual", 1003))
    s.note("other's", other.do(sub(f"{channel}|alias=other")))
    said = other.do(pub(f"{channel}|term-length=64k|session-id=987654321"))
    while len([m for m in said if isinstance(m, r.AvailableImage)]) < 2:
        said += other.until(lambda m: isinstance(m, r.AvailableImage))
    s.note("image", said)
    s.client.heartbeat = False
    gone = other.until(lambda m: isinstance(m, r.UnavailableCounter)) + other.settle()
    s.note("gone", gone)
    other.wait_for(lambda: [k.type_id for k in other.cnc.counters].count(7) == 1)
    s.note("publisher goes", other.do(remove_pub(next(
        m for m in said if isinstance(m, r.PublicationReady)).registration_id)))  # fmt: skip
    s.note("image goes", other.until(lambda m: isinstance(m, r.UnavailableImage)))
    other.wait_for(lambda: other.counter_types() == {0, 7, 11, 14})
    s.client = other
    s.note_counters("what stays")


def a_closed_client(s):
    """A client says goodbye, and its images go without a word."""
    other = companion(s)
    channel = f"aeron:udp?endpoint=127.0.0.1:{s.ports[0]}"
    s.do("subscription", sub(channel))
    s.do_until("publication", pub(f"{channel}|term-length=64k"), r.AvailableImage)
    s.client.heartbeat = False
    s.do("close", c.ClientClose)
    s.note("gone", other.until(lambda m: isinstance(m, r.UnavailableCounter)) + other.settle())
    other.wait_for(lambda: other.counter_types() == {0, 11} or not other.counter_types() - {0})


def untethered(s):
    """Two untethered subscribers fall behind; one may come back."""
    client = s.client
    channel = f"aeron:udp?endpoint=127.0.0.1:{s.ports[0]}"
    (tethered,) = [m for m in s.do("tethered", sub(channel)) if isinstance(m, r.SubscriptionReady)]
    s.do("untethered", sub(f"{channel}|tether=false"))
    wanted = pub(f"{channel}|term-length=64k|session-id=987654321")
    s.do_until("publication", wanted, r.AvailableImage, 2)
    ready_id = client.registration_of(next(
        k.label for k in client.cnc.counters if k.label.startswith("pub-lmt")))  # fmt: skip
    ready = r.PublicationReady(
        0, ready_id, 0, 0,
        next(k.counter_id for k in client.cnc.counters if k.label.startswith("pub-lmt")),
        0, f"{client.aeron_dir}/publications/{ready_id}.logbuffer",
    )  # fmt: skip
    publish(client, ready, 28)
    client.wait_for(lambda: value_of(client, 5) == 28 * FRAME)
    position = client.cnc.counters.find_by_registration_id(tethered.correlation_id, 4)
    client.cnc.counters.set_value(position, 28 * FRAME)
    s.until("left behind", r.UnavailableImage)
    s.until("back again", r.AvailableImage)
    joined = [k.value for k in client.cnc.counters if k.type_id == CounterType.SUBSCRIBER_POSITION]
    assert joined == [28 * FRAME] * 2
    s.note_counters("counters")


def silence(s):
    """A publication without end of stream goes: its image ends by silence and comes again."""
    client = s.client
    channel = f"aeron:udp?endpoint=127.0.0.1:{s.ports[0]}"
    s.do("subscription", sub(channel))
    wanted = f"{channel}|term-length=64k|session-id=987654321|eos=false|linger=0"
    first = client.next_id() + 1
    s.do_until("publication", pub(wanted), r.AvailableImage)
    s.do("publisher goes", remove_pub(first))
    s.until("image goes", r.UnavailableImage)
    client.wait_for(lambda: client.counter_types() == {0, 7, 11, 14})
    s.do_until("publication", pub(wanted), r.AvailableImage)
    s.note_counters("counters")


@pytest.mark.parametrize("script", [a_dead_client, a_closed_client, untethered, silence])
def test_both_drivers_say_the_same_as_time_passes(both_say, script):
    ours, reference = both_say(script, PROPERTIES)
    assert ours == reference, "\n".join(difflib.unified_diff(reference, ours, "reference", "ours"))
