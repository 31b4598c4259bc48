"""What both drivers say, and in which order, when time passes."""

import difflib

import pytest

from aerolog.transport.logbuffer.descriptor import LOG_META_LENGTH
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

pytestmark = pytest.mark.interop

PROPERTIES = {
    "aeron.timer.interval": "100ms",
    "aeron.client.liveness.timeout": "3s",
    "aeron.publication.unblock.timeout": "4s",
    "aeron.untethered.window.limit.timeout": "300ms",
    "aeron.untethered.resting.timeout": "300ms",
    # None is used again: whether its time has come depends on how quick a script is.
    "aeron.counters.free.to.reuse.timeout": "1000s",
}


def pub(channel, stream_id=7):
    return lambda i, n: c.AddPublication(i, n, stream_id, channel)


def exclusive(channel, stream_id=7):
    return lambda i, n: c.AddExclusivePublication(i, n, stream_id, channel)


def sub(channel, stream_id=7):
    return lambda i, n: c.AddSubscription(i, n, stream_id, channel)


def counter(label):
    return lambda i, n: c.AddCounter(i, n, 1500, b"", label)


def gone(registration_id):
    return lambda m: isinstance(m, r.UnavailableCounter) and m.registration_id == registration_id


def publish_padding(log_file, length):
    """Moves the tail of a fresh log as if so much had been written."""
    log = MappedFile.open(log_file)
    log.store_i64(log.length - LOG_META_LENGTH, length)


def timeout(client, other, note):
    """A client with a bit of everything dies; another one looks on."""
    for make in (
        pub("aeron:ipc"),
        sub("aeron:ipc"),
        # On another stream: the order in which a subscription's images go is not defined.
        exclusive("aeron:ipc?alias=second", 8),
        counter("one"),
        counter("two"),
        counter("three"),
    ):
        note("added", client.do(make))
    note("other's", other.do(sub("aeron:ipc")))
    client.heartbeat = False
    last = client.registration_of("one")
    note("all the rest", other.until(gone(last)) + other.settle())
    other.wait_for(lambda: other.counter_types() == {0, 11})
    note("added again", other.do(exclusive("aeron:ipc?session-id=987654321")))
    return other.counters()


def close(client, other, note):
    """A client says goodbye in the middle of things."""
    note("publication", client.do(pub("aeron:ipc")))
    note("other's", other.do(sub("aeron:ipc")))
    note("subscription", client.do(sub("aeron:ipc")))
    note("counter", client.do(counter("one")))
    client.heartbeat = False
    note("close", client.do(c.ClientClose))
    note("gone", other.until(gone(client.registration_of("one"))) + other.settle())
    other.wait_for(lambda: other.counter_types() == {0, 11})
    return other.counters()


def untethered(client, other, note):
    """Two untethered subscribers fall behind; one may come back."""
    channel = "aeron:ipc?term-length=64k|init-term-id=0|term-id=0|term-offset=0"
    said = client.do(exclusive(channel))
    note("publication", said)
    ready = said[-1]
    said = client.do(sub("aeron:ipc"))
    note("tethered", said)
    listening = said[0]
    note("rejoining", client.do(sub("aeron:ipc?tether=false")))
    note("for once", client.do(sub("aeron:ipc?tether=false|rejoin=false")))
    values = client.cnc.counters
    tethered = values.find_by_registration_id(listening.correlation_id, 4)
    client.wait_for(lambda: values.counter_value(ready.limit_counter_id) == 32_768)
    publish_padding(ready.log_file, 32_768)
    values.set_value(tethered, 32_768)
    seen = client.until(lambda m: isinstance(m, r.AvailableImage))
    # Which of the two goes first depends on where the ticks of the timer fall.
    seen.sort(key=lambda m: (isinstance(m, r.AvailableImage), m.subscription_registration_id))
    note("out and back", seen + client.settle())
    note("removed", client.do(lambda i, n: c.RemovePublication(i, n, ready.registration_id)))
    note("drained", client.until(lambda m: isinstance(m, r.UnavailableImage)) + client.settle())
    client.wait_for(lambda: client.counter_types() == {0, 11})
    return client.counters()


@pytest.mark.parametrize("script", [timeout, close, untethered])
def test_both_drivers_say_the_same_as_time_passes(both_drivers, raw_client, transcript, script):
    transcripts = []
    for server in both_drivers(PROPERTIES):
        noted = transcript(server.aeron_dir)
        client, other = raw_client(server.aeron_dir), raw_client(server.aeron_dir)
        client.companions.append(other)
        other.companions.append(client)
        counters = script(client, other, noted.note)
        transcripts.append(noted.lines + noted.mask(counters))
    ours, reference = transcripts
    assert ours == reference, "\n".join(difflib.unified_diff(reference, ours, "reference", "ours"))
