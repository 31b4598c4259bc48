"""Commands about UDP publications get the same answers from both drivers, in the same order."""

import pytest

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.logbuffer.descriptor import LOG_META_LENGTH
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

pytestmark = pytest.mark.interop

PROPERTIES = {
    "aeron.timer.interval": "100ms",
    "aeron.term.buffer.length": "64k",
    "aeron.publication.linger.timeout": "300ms",
    "aeron.untethered.window.limit.timeout": "300ms",
    "aeron.untethered.resting.timeout": "300ms",
    # Which freed counter is taken again would depend on how long a command takes.
    "aeron.counters.free.to.reuse.timeout": "1000s",
}
REVOKE = 1


def pub(channel, stream_id=1001):
    return lambda i, n: c.AddPublication(i, n, stream_id, channel)


def exclusive(channel, stream_id=1001):
    return lambda i, n: c.AddExclusivePublication(i, n, stream_id, channel)


def sub(channel, stream_id=1001):
    return lambda i, n: c.AddSubscription(i, n, stream_id, channel)


def remove_pub(registration_id, flags=0):
    return lambda i, n: c.RemovePublication(i, n, registration_id, flags)


def add_destination(registration_id, channel):
    return lambda i, n: c.AddDestination(i, n, registration_id, channel)


def remove_destination(registration_id, channel):
    return lambda i, n: c.RemoveDestination(i, n, registration_id, channel)


def remove_by_id(registration_id, destination_id):
    return lambda i, n: c.RemoveDestinationById(i, n, registration_id, destination_id)


def everyday(client, _, note, port, control, *_ports):
    """Adding and sharing publications of every kind of channel, and spying on them."""
    channel = f"aeron:udp?endpoint=localhost:{port}"
    note("publication", client.do(pub(f"{channel}|alias=first")))
    note("the same again", client.do(pub(f"{channel}|alias=second")))
    note("another stream", client.do(pub(channel, 1002)))
    note("exclusive", client.do(exclusive(channel)))
    note("spy", client.do(sub(f"aeron-spy:{channel}")))
    note("spy on an address", client.do(sub(f"aeron-spy:aeron:udp?endpoint=127.0.0.1:{port}")))
    note("later publication", client.do(exclusive(channel)))
    for option in (
        "mtu=4096",
        "term-length=128k",
        "session-id=77",
        "init-term-id=5|term-id=5|term-offset=64",
        "ssc=true",
        "so-sndbuf=128k",
        "so-rcvbuf=64k",
        "channel-snd-ts-offset=8",
        "fc=max",
    ):
        note(option, client.do(pub(f"{channel}|{option}")))
    note("session", client.do(exclusive(f"{channel}|session-id=1804242424", 1003)))
    note("clash", client.do(exclusive(f"{channel}|session-id=1804242424", 1003)))
    elsewhere = f"aeron:udp?endpoint=127.0.0.1:{port}|session-id=1804242424"
    note("elsewhere", client.do(exclusive(elsewhere, 1003)))
    note("start", client.do(exclusive(
        f"{channel}|init-term-id=7|term-id=9|term-offset=4096|term-length=64k", 1004)))  # fmt: skip
    note("interface", client.do(pub(f"aeron:udp?endpoint=127.0.0.1:{port}|interface=localhost")))
    note("control and endpoint", client.do(pub(f"{channel}|control=127.0.0.1:{control}")))
    note("taken", client.do(pub(f"{channel}|control=localhost:{control}")))
    note("IPv6", client.do(pub(f"aeron:udp?endpoint=[::1]:{port}")))
    note("long channel", client.do(exclusive(f"{channel}|session-id=987654321|alias=" + "z" * 400)))
    return client.counters()


def kinds(client, _, note, port, control, third, *_ports):
    """Channels with groups: multicast, manual and dynamic destinations, their flow control."""
    group = f"aeron:udp?endpoint=224.20.30.39:{port}|interface=localhost"
    note("multicast", client.do(pub(group)))
    note("min", client.do(exclusive(f"{group}|fc=min,g:/2,t:1s")))
    note("tagged", client.do(exclusive(f"{group}|fc=tagged,g:123/1")))
    note("bogus", client.do(exclusive(f"{group}|fc=bogus")))
    note("bad option", client.do(exclusive(f"{group}|fc=min,g:x/y")))
    note("ttl", client.do(pub(f"aeron:udp?endpoint=224.20.30.41:{port}|interface=localhost|ttl=4")))
    note("bad ttl", client.do(
        pub(f"aeron:udp?endpoint=224.20.30.43:{port}|interface=localhost|ttl=256")))  # fmt: skip
    note("dynamic", client.do(pub(f"aeron:udp?control=localhost:{control}|control-mode=dynamic")))
    note("dynamic min", client.do(exclusive(
        f"aeron:udp?control=localhost:{control}|control-mode=dynamic|fc=min")))  # fmt: skip
    note("manual", client.do(pub("aeron:udp?control-mode=manual")))
    note("manual again", client.do(pub("aeron:udp?control-mode=manual")))
    note("tagged manual", client.do(pub("aeron:udp?control-mode=manual|tags=5")))
    note("by its tag", client.do(pub("aeron:udp?tags=5", 1002)))
    note("unknown tag", client.do(pub("aeron:udp?tags=6", 1002)))
    note("spy by tag", client.do(sub("aeron-spy:aeron:udp?tags=5", 1002)))
    note("tag with another mode", client.do(
        pub(f"aeron:udp?tags=5|control-mode=dynamic|control=localhost:{control}")))  # fmt: skip
    note("tag with an address", client.do(pub(f"aeron:udp?tags=5|endpoint=localhost:{port}")))
    note("entity tag", client.do(pub(f"aeron:udp?endpoint=localhost:{port}|tags=9,10", 1003)))
    note("its session", client.do(
        exclusive(f"aeron:udp?endpoint=127.0.0.1:{port}|session-id=tag:10", 1003)))  # fmt: skip
    note("tag in use", client.do(pub(f"aeron:udp?endpoint=127.0.0.1:{port}|tags=11,10")))
    note("dynamic with an endpoint", client.do(pub(
        f"aeron:udp?endpoint=localhost:{port}|control=localhost:{third}|control-mode=dynamic",
        1010)))  # fmt: skip
    for channel in (
        f"endpoint=localhost:{port}|control-mode=manual",
        f"endpoint=224.20.30.45:{port}|interface=localhost|control-mode=manual",
        f"endpoint=localhost:{port}|control-mode=other",
        "control-mode=response|response-correlation-id=prototype",
    ):
        note(channel, client.do(pub(f"aeron:udp?{channel}", 1010)))
    note("in use for IPC", client.do(pub("aeron:ipc?tags=11,10|term-length=64k", 1004)))
    note("its session for IPC", client.do(exclusive("aeron:ipc?session-id=tag:10", 1005)))
    note("tag of IPC", client.do(pub("aeron:ipc?tags=12,20|term-length=64k", 1006)))
    note("the same", client.do(pub(f"aeron:udp?endpoint=127.0.0.1:{port}|tags=13,20", 1006)))
    note("its session for UDP", client.do(
        exclusive(f"aeron:udp?endpoint=127.0.0.1:{port}|session-id=tag:20", 1006)))  # fmt: skip
    return client.counters()


REFUSED = (
    "endpoint=localhost:0",
    "endpoint=localhost",
    "control=localhost:4000",
    "control-mode=dynamic",
    "alias=nothing",
    "endpoint=224.20.30.40:4000",
    "endpoint=localhost:4000|mtu=65536",
    "endpoint=localhost:4000|mtu=9216",
    "endpoint=localhost:4000|pub-wnd=64k",
    "endpoint=localhost:4000|so-sndbuf=1k",
    "endpoint=localhost:4000|session-id=tag:4711",
    "endpoint=localhost:4000|stream-id=7",
    "endpoint=localhost:4000|max-resend=257",
    "endpoint=localhost:4000|response-correlation-id=4711",
    "endpoint=localhost:4000|response-correlation-id=prototype",
    "endpoint=localhost:4000|fc=min",
    "endpoint=no-such-host.invalid:4000",
    "endpoint=255.255.255.255:4000",
    "endpoint=[::1]:4000|interface=127.0.0.1",
    "endpoint=[FF01::FD]:4000|interface=[::1]",
    "control=192.0.2.77:4000|control-mode=dynamic",
    "control=192.0.2.77:4000|control-mode=response|response-correlation-id=5",
)


def refusals(client, _, note, *__):
    """Channels that are refused before, with and after their endpoint is made."""
    for channel in REFUSED:
        note(channel, client.do(pub(f"aeron:udp?{channel}")))
    note("spy", client.do(pub("aeron-spy:aeron:udp?endpoint=localhost:4000")))
    note("spy of IPC", client.do(pub("aeron-spy:aeron:ipc")))
    for channel in ("endpoint=localhost", "control=localhost:0", "rcv-wnd=1g|endpoint=localhost:0"):
        note(f"spy {channel}", client.do(sub(f"aeron-spy:aeron:udp?{channel}")))
    note("counters", [])
    return client.counters()


def responses(client, _, note, port, control, *__):
    """Request and response publications without anybody on the other side."""
    asking = client.next_id() + 1
    note("subscription", client.do(sub(
        f"aeron:udp?control-mode=response|control=localhost:{control}")))  # fmt: skip
    request = f"aeron:udp?endpoint=localhost:{port}|response-correlation-id={asking}"
    note("request", client.do(pub(request)))
    note("request again", client.do(pub(request)))
    note("no request", client.do(pub(f"aeron:udp?endpoint=localhost:{port}")))
    response = f"aeron:udp?control-mode=response|control=localhost:{port}"
    note("no id", client.do(pub(response, 1002)))
    note("no image", client.do(pub(f"{response}|response-correlation-id=77", 1002)))
    note("prototype", client.do(
        pub(f"{response}|response-correlation-id=prototype|term-length=128k", 1002)))  # fmt: skip
    return client.counters()


def destinations(client, _, note, port, other_port, control, *__):
    """Destinations by command: added, removed by channel and by id, refused."""
    manual = client.next_id() + 1
    note("publication", client.do(pub("aeron:udp?control-mode=manual")))
    first = client.next_id() + 1
    note("add", client.do(add_destination(manual, f"aeron:udp?endpoint=localhost:{port}")))
    note("add another", client.do(
        add_destination(manual, f"aeron:udp?endpoint=127.0.0.1:{other_port}")))  # fmt: skip
    client.wait_for(lambda: mdc_count(client) == 2)
    note("add it again", client.do(
        add_destination(manual, f"aeron:udp?endpoint=127.0.0.1:{other_port}")))  # fmt: skip
    client.wait_for(lambda: mdc_count(client) == 3)
    note("remove by id", client.do(remove_by_id(manual, first)))
    client.wait_for(lambda: mdc_count(client) == 2)
    note("remove it again", client.do(remove_by_id(manual, first)))
    note("remove by channel", client.do(
        remove_destination(manual, f"aeron:udp?endpoint=localhost:{other_port}")))  # fmt: skip
    client.wait_for(lambda: mdc_count(client) == 1)
    note("remove an unknown one", client.do(
        remove_destination(manual, f"aeron:udp?endpoint=localhost:{port}")))  # fmt: skip
    for channel in (
        "aeron:ipc",
        f"aeron-spy:aeron:udp?endpoint=localhost:{port}",
        "aeron:udp?endpoint=localhost:0",
        "aeron:udp?endpoint=localhost",
        "aeron:udp?control=localhost:4000",
        f"aeron:udp?endpoint=localhost:{port}|mtu=1408",
        f"aeron:udp?endpoint=localhost:{port}|rcv-wnd=64k",
        f"aeron:udp?endpoint=localhost:{port}|so-sndbuf=64k",
        f"aeron:udp?endpoint=localhost:{port}|response-correlation-id=5",
        f"aeron:udp?endpoint=localhost:{port}|control-mode=response",
        f"aeron:udp?endpoint=224.20.30.39:{port}",
        f"aeron:udp?endpoint=224.20.30.40:{port}",
        "udp:nonsense",
    ):
        note(f"add {channel}", client.do(add_destination(manual, channel)))
        note(f"remove {channel}", client.do(remove_destination(manual, channel)))
    dynamic = client.next_id() + 1
    note("dynamic", client.do(pub(f"aeron:udp?control=localhost:{control}|control-mode=dynamic")))
    unicast = client.next_id() + 1
    note("unicast", client.do(pub(f"aeron:udp?endpoint=localhost:{port}")))
    for registration_id in (dynamic, unicast, 4711):
        for make in (
            add_destination(registration_id, f"aeron:udp?endpoint=localhost:{port}"),
            remove_destination(registration_id, f"aeron:udp?endpoint=localhost:{port}"),
            remove_by_id(registration_id, first),
        ):
            note("not manual", client.do(make))
    return client.counters()


def mdc_count(client):
    """Number of destinations of the one publication that has any."""
    counters = client.cnc.counters
    return next(
        counters.counter_value(k.counter_id)
        for k in counters
        if k.type_id == CounterType.MDC_DESTINATIONS
    )


def ends(client, other, note, port, control, *__):
    """Publications that are removed, revoked, and left by a client that is gone."""
    channel = f"aeron:udp?endpoint=localhost:{port}"
    first = client.next_id() + 1
    note("publication", client.do(pub(channel)))
    second = client.next_id() + 1
    note("again", client.do(pub(channel)))
    note("spy", other.do(sub(f"aeron-spy:{channel}")))
    note("remove one", client.do(remove_pub(first)))
    note("remove the other", client.do(remove_pub(second)))
    note("drained", client.until(lambda m: isinstance(m, r.UnavailableImage)) + client.settle())
    client.wait_for(lambda: 12 not in client.counter_types())
    client.wait_for(lambda: 6 not in client.counter_types())
    third = client.next_id() + 1
    note("revocable", client.do(exclusive(f"{channel}|control=localhost:{control}")))
    note("revoke", client.do(remove_pub(third, REVOKE)))
    client.wait_for(lambda: 6 not in client.counter_types())
    fourth = client.next_id() + 1
    note("spied revocable", client.do(pub(channel)))
    note("revoke it", client.do(remove_pub(fourth, REVOKE)))
    note("revoked", client.until(lambda m: isinstance(m, r.UnavailableImage)) + client.settle())
    client.wait_for(lambda: 6 not in client.counter_types())
    note("unknown", client.do(remove_pub(4711)))
    note("left", client.do(pub(channel)))
    client.heartbeat = False
    note("close", client.do(c.ClientClose))
    note("gone", other.until(lambda m: isinstance(m, r.UnavailableImage)) + other.settle())
    # The endpoint's counter may go before those of the publication, which the sender gives back.
    other.wait_for(lambda: 12 not in other.counter_types())
    other.wait_for(lambda: 6 not in other.counter_types())
    return other.counters()


def untethered(client, _, note, port, *__):
    """Two untethered spies fall behind one that simulates a connection; one may come back."""
    channel = f"aeron:udp?endpoint=localhost:{port}"
    said = client.do(
        exclusive(f"{channel}|ssc=true|init-term-id=0|term-id=0|term-offset=0|term-length=64k")
    )
    note("publication", said)
    ready = said[-1]
    spy = f"aeron-spy:{channel}"
    said = client.do(sub(spy))
    note("tethered", said)
    listening = said[0]
    note("rejoining", client.do(sub(f"{spy}|tether=false")))
    note("for once", client.do(sub(f"{spy}|tether=false|rejoin=false")))
    values = client.cnc.counters
    tethered = values.find_by_registration_id(listening.correlation_id, 4)
    client.wait_for(lambda: values.counter_value(ready.limit_counter_id) == 32_768)
    log = MappedFile.open(ready.log_file)
    log.store_i64(log.length - LOG_META_LENGTH, 32_768)  # as if so much had been written
    values.set_value(tethered, 32_768)
    seen = client.until(lambda m: isinstance(m, r.AvailableImage))
    # Which of the two goes first depends on where the ticks of the timer fall.
    seen.sort(key=lambda m: (isinstance(m, r.AvailableImage), m.subscription_registration_id))
    note("out and back", seen + client.settle())
    note("removed", client.do(remove_pub(ready.registration_id)))
    note("drained", client.until(lambda m: isinstance(m, r.UnavailableImage)) + client.settle())
    # The endpoint's counter may go before those of the publication, which the sender gives back.
    client.wait_for(lambda: not {4, 6, 12} & set(client.counter_types()))
    return client.counters()


@pytest.mark.parametrize(
    "script", [everyday, kinds, refusals, responses, destinations, ends, untethered]
)
def test_both_drivers_answer_alike(differences, script):
    assert differences(script, PROPERTIES) == ""
