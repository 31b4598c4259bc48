"""The same commands on fresh drivers of both kinds get the same answers, in the same order."""

import difflib
import struct

import pytest

from aerolog.transport.client import ErrorLog
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

pytestmark = pytest.mark.interop

PROPERTIES = {"aeron.timer.interval": "100ms"}


def pub(channel, stream_id=1001):
    return lambda client, n: c.AddPublication(client, n, stream_id, channel)


def exclusive(channel, stream_id=1001):
    return lambda client, n: c.AddExclusivePublication(client, n, stream_id, channel)


def sub(channel, stream_id=1001):
    return lambda client, n: c.AddSubscription(client, n, stream_id, channel)


def remove_pub(registration_id, flags=0):
    return lambda client, n: c.RemovePublication(client, n, registration_id, flags)


def remove_sub(registration_id):
    return lambda client, n: c.RemoveSubscription(client, n, registration_id)


def counter(type_id, key, label):
    return lambda client, n: c.AddCounter(client, n, type_id, key, label)


def static_counter(registration_id, type_id, key, label):
    return lambda client, n: c.AddStaticCounter(client, n, registration_id, type_id, key, label)


def remove_counter(registration_id):
    return lambda client, n: c.RemoveCounter(client, n, registration_id)


REFUSED_PUBLICATIONS = [
    "aeron:ipc?term-length=32k",
    "aeron:ipc?term-length=100k",
    "aeron:ipc?term-length=2g",
    "aeron:ipc?term-length=abc",
    "aeron:ipc?term-length=k",
    "aeron:ipc?term-length=12x",
    "aeron:ipc?term-length=",
    "aeron:ipc?term-length=-1",
    "aeron:ipc?term-length=99999999999999999999",
    "aeron:ipc?mtu=100",
    "aeron:ipc?mtu=32",
    "aeron:ipc?mtu=70000",
    "aeron:ipc?mtu=8224|term-length=64k",
    "aeron:ipc?pub-wnd=33k|term-length=64k",
    "aeron:ipc?pub-wnd=1376|term-length=64k",
    "aeron:ipc?linger=10h",
    "aeron:ipc?linger=-1",
    "aeron:ipc?untethered-window-limit-timeout=abc",
    "aeron:ipc?max-resend=0",
    "aeron:ipc?max-resend=257",
    "aeron:ipc?max-resend=abc",
    "aeron:ipc?init-term-id=5",
    "aeron:ipc?init-term-id=5|term-id=5|term-offset=33",
    "aeron:ipc?init-term-id=5|term-id=5|term-offset=64k",
    "aeron:ipc?init-term-id=5|term-id=5|term-offset=65568|term-length=64k",
    "aeron:ipc?init-term-id=5|term-id=5|term-offset=-32|term-length=64k",
    "aeron:ipc?init-term-id=5|term-id=4|term-offset=0|term-length=64k",
    "aeron:ipc?session-id=abc",
    "aeron:ipc?session-id=2147483648",
    "aeron:ipc?session-id=tag:x",
    "aeron:ipc?session-id=tag:77",
    "aeron:ipc?tags=1,abc",
    "aeron:ipc?tags=1,-1",
    "aeron:ipc?tags=1,",
    "aeron:ipc?stream-id=7",
    "aeron:ipc?stream-id=x",
    "aeron:ipc?response-correlation-id=-2",
    "aeron:ipc?response-correlation-id=x",
    "aeron:ipc?",
    "aeron:ipc|x=1",
    "aeron:ipc?=1",
    "aeron:ipc?a|b=1",
    "aeron:ipc?alias=" + "x" * 4080,
    "aeron:ipcx",
    "aeron:tcp",
    "udp:localhost",
    "",
]

REFUSED_SUBSCRIPTIONS = [
    "aeron:ipc?session-id=abc",
    "aeron:ipc?init-term-id=5",
    "aeron:ipc?init-term-id=5|term-id=5|term-offset=33",
    "aeron:ipc?init-term-id=5|term-id=x|term-offset=32",
    "aeron:ipc?init-term-id=5|term-id=5|term-offset=1073741856",
    "aeron:ipc?init-term-id=5|term-id=4|term-offset=0",
    "aeron:ipc?untethered-resting-timeout=10h",
    "aeron-spy:aeron:ipc",
    "aeron:tcp",
]

ACCEPTED_PUBLICATIONS = [
    "aeron:ipc?alias=odd|linger=0|eos=xyz|sparse=xyz|ssc=xyz|reliable=xyz|tether=xyz",
    "aeron:ipcx?alias=a",
    "aeron:ipc?control-mode=manual|endpoint=nowhere:1",
    "aeron:ipc?control-mode=response|response-correlation-id=4711",
    "aeron:ipc?response-correlation-id=prototype",
    "aeron:ipc?tags=abc",
    "aeron:ipc?tags=,55",
    "aeron:ipc?session-id=tag:55|alias=tagged",
    "aeron:ipc?term-length=128k|init-term-id=2147483647|term-id=-2147483648|term-offset=65536",
    # Its session is given, since the length of a random one would show where the label is cut.
    "aeron:ipc?session-id=123456789|alias=" + "y" * 500,
]


def everyday(client, note):
    """Adding, sharing, linking and removing publications, subscriptions and counters."""
    first = client.next_id() + 1
    note("publication", client.do(pub("aeron:ipc?term-length=64k")))
    note("the same again", client.do(pub("aeron:ipc?alias=other")))
    second = client.next_id() + 1
    note("subscription", client.do(sub("aeron:ipc")))
    third = client.next_id() + 1
    note("exclusive", client.do(exclusive("aeron:ipc?alias=mine")))
    note("wrong mtu", client.do(pub("aeron:ipc?mtu=4096")))
    note("wrong term length", client.do(pub("aeron:ipc?term-length=128k")))
    note("wrong session", client.do(pub("aeron:ipc?session-id=77")))
    note("wrong position", client.do(
        pub("aeron:ipc?init-term-id=5|term-id=5|term-offset=64|term-length=64k")))  # fmt: skip
    note("session of its own", client.do(exclusive("aeron:ipc?session-id=4242|alias=four", 1002)))
    note("clashing session", client.do(exclusive("aeron:ipc?session-id=4242|alias=five", 1002)))
    note("session subscription", client.do(sub("aeron:ipc?session-id=4242", 1002)))
    note("other session", client.do(sub("aeron:ipc?session-id=4243", 1002)))
    note("long channel", client.do(sub("aeron:ipc?alias=" + "z" * 400, 1002)))
    counter_id = client.next_id() + 1
    note("counter", client.do(counter(1500, b"key", "label of a counter")))
    note("no key", client.do(counter(1500, b"", "")))
    note("long counter", client.do(counter(1501, b"k" * 150, "l" * 500)))
    note("static counter", client.do(static_counter(99, 1600, b"abc", "static")))
    note("static again", client.do(static_counter(99, 1600, b"xyz", "other")))
    note("not static", client.do(static_counter(counter_id, 1500, b"", "clash")))
    client_lines = client.counters()
    note("remove counter", client.do(remove_counter(counter_id)))
    note("remove it again", client.do(remove_counter(counter_id)))
    note("remove subscription", client.do(remove_sub(second)))
    note("remove it again", client.do(remove_sub(second)))
    note("remove publication", client.do(remove_pub(first)))
    note("remove it again", client.do(remove_pub(first)))
    note("keepalive", client.do(c.ClientKeepalive))
    note("remove exclusive", client.do(remove_pub(third)))
    return client_lines


def refusals(client, note):
    """Every kind of channel that is refused, and some that are not."""
    for channel in REFUSED_PUBLICATIONS:
        note(f"publication {channel[:80]}", client.do(pub(channel)))
    for channel in REFUSED_SUBSCRIPTIONS:
        note(f"subscription {channel[:80]}", client.do(sub(channel)))
    for channel in ACCEPTED_PUBLICATIONS:
        note(f"publication {channel[:80]}", client.do(exclusive(channel, 1003)))
    note("tag in use", client.do(pub("aeron:ipc?tags=1,55", 1003)))
    note("tag and mtu", client.do(exclusive("aeron:ipc?session-id=tag:55|mtu=4096", 1004)))
    note("tag and term", client.do(exclusive("aeron:ipc?session-id=tag:55|term-length=1m", 1004)))
    note("tag elsewhere", client.do(exclusive("aeron:ipc?session-id=tag:55", 1004)))
    for name, make in {
        "add destination": lambda i, n: c.AddDestination(i, n, 4711, "aeron:udp?endpoint=a:1"),
        "remove destination": lambda i, n: c.RemoveDestination(i, n, 4711, "aeron:udp"),
        "by id": lambda i, n: c.RemoveDestinationById(i, n, 4711, 1),
        "add receive destination": lambda i, n: c.AddReceiveDestination(i, n, 4711, "aeron:ipc"),
        "remove receive destination": (
            lambda i, n: c.RemoveReceiveDestination(i, n, 4711, "aeron:ipc")
        ),
        "reject": lambda i, n: c.RejectImage(i, n, 4711, 0, "because"),
        "long reason": lambda i, n: c.RejectImage(i, n, 4711, 0, "r" * 1024),
    }.items():
        note(name, client.do(make))
    return client.counters()


def malformed(client, note):
    """Commands whose lengths do not hold together, or of unknown types."""
    prefix = struct.pack("<qq", client.client_id, 12345)
    cases = {
        "unknown type": (99, prefix),
        "empty": (0x01, b""),
        "no stream": (0x01, prefix),
        "channel too long": (0x01, prefix + struct.pack("<ii", 7, 100) + b"aeron:ipc"),
        "short subscription": (0x04, prefix + bytes(12)),
        "short counter": (0x09, prefix + bytes(8)),
        "key too long": (0x09, prefix + struct.pack("<ii", 7, 1000) + bytes(16)),
        "label too long": (
            0x09, prefix + struct.pack("<ii", 7, 4) + b"key!" + struct.pack("<i", 1000),
        ),
        "short removal": (0x05, prefix + bytes(4)),
        "token too long": (0x0E, prefix + struct.pack("<i", 1000)),
        "reason too long": (0x10, prefix + struct.pack("<qqi", 1, 2, 1000)),
        "short next session": (0x12, prefix),
        "terminate": (0x0E, prefix + struct.pack("<i", 0)),
    }  # fmt: skip
    for name, (type_id, message) in cases.items():
        note(name, client.do_bytes(type_id, message))
    return client.counters()


def reject_and_revoke(client, note):
    """A rejected image, a revoked publication, a response channel, and the end of a client."""
    publication = client.next_id() + 1
    note("publication", client.do(pub("aeron:ipc")))
    subscription = client.next_id() + 1
    note("subscription", client.do(sub("aeron:ipc?tether=false")))
    note("second subscription", client.do(sub("aeron:ipc?rejoin=false")))
    reject = lambda i, n: c.RejectImage(i, n, publication, 0, "not good enough")  # noqa: E731
    note("reject", client.do(reject))
    note("reject again", client.do(reject))
    note("joining meanwhile", client.do(sub("aeron:ipc")))
    note("available again", client.until(
        lambda m: isinstance(m, r.AvailableImage)
        and m.subscription_registration_id == subscription)
        + client.settle())  # fmt: skip
    note("revoke", client.do(remove_pub(publication, flags=1)))
    note("unavailable", client.until(lambda m: isinstance(m, r.UnavailableImage)))
    note("settled", client.settle())
    asking = client.next_id() + 1
    note("response subscription", client.do(sub("aeron:ipc?control-mode=response", 1005)))
    request = client.next_id() + 1
    note("request", client.do(exclusive(f"aeron:ipc?response-correlation-id={asking}", 1006)))
    note("somebody else", client.do(exclusive("aeron:ipc", 1005)))
    note("response", client.do(exclusive(
        f"aeron:ipc?control-mode=response|response-correlation-id={request}", 1005)))  # fmt: skip
    note("second response", client.do(exclusive(
        f"aeron:ipc?control-mode=response|response-correlation-id={request}", 1005)))  # fmt: skip
    lines = client.counters()
    note("counter", client.do(counter(1500, b"", "mine")))
    note("another", client.do(counter(1500, b"", "mine too")))
    client.heartbeat = False
    note("close", client.do(c.ClientClose))
    note("gone", client.until(lambda m: isinstance(m, r.UnavailableCounter)))
    note("all of it", client.settle())
    return lines


@pytest.mark.parametrize("script", [everyday, refusals, malformed, reject_and_revoke])
def test_both_drivers_answer_alike(both_drivers, raw_client, transcript, script):
    transcripts = []
    for server in both_drivers(PROPERTIES | {"aeron.image.liveness.timeout": "3s"}):
        noted = transcript(server.aeron_dir)
        client = raw_client(server.aeron_dir)
        counters = script(client, noted.note)
        # The reference tells errors apart by its own frames, so that it has some lines twice.
        logged = dict.fromkeys(e.text.splitlines()[0] for e in ErrorLog(server.aeron_dir))
        transcripts.append(noted.lines + noted.mask(counters) + noted.mask(list(logged)))
    ours, reference = transcripts
    assert ours == reference, "\n".join(difflib.unified_diff(reference, ours, "reference", "ours"))
