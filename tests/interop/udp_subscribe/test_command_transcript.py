"""The same UDP commands on fresh drivers of both kinds get the same answers, in the same order."""

import difflib

import pytest

from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

pytestmark = pytest.mark.interop

PROPERTIES = {
    "aeron.timer.interval": "100ms",
    "aeron.image.liveness.timeout": "2s",
    "aeron.publication.linger.timeout": "200ms",
    "aeron.counters.free.to.reuse.timeout": "10s",
    "aeron.media.receive.timestamps": "false",  # as the Java driver
}


def sub(channel, stream_id=1001):
    return lambda i, n: c.AddSubscription(i, n, stream_id, channel)


def remove(registration_id):
    return lambda i, n: c.RemoveSubscription(i, n, registration_id)


def pub(channel, stream_id=1001):
    return lambda i, n: c.AddPublication(i, n, stream_id, channel)


def remove_pub(registration_id, flags=0):
    return lambda i, n: c.RemovePublication(i, n, registration_id, flags)


def add_destination(registration_id, channel):
    return lambda i, n: c.AddReceiveDestination(i, n, registration_id, channel)


def remove_destination(registration_id, channel):
    return lambda i, n: c.RemoveReceiveDestination(i, n, registration_id, channel)


def sharing(s):
    """Endpoints that are shared, and what is refused on them."""
    a, b, other = s.ports[:3]
    channel = f"aeron:udp?endpoint=127.0.0.1:{a}"
    small = f"aeron:udp?endpoint=127.0.0.1:{b}|rcv-wnd=16k|so-rcvbuf=16k"
    s.do("first", sub(channel))
    s.do("same again", sub(channel))
    s.do("another text, same port", sub(f"aeron:udp?endpoint=localhost:{a}"))
    s.do("large window", sub(f"{channel}|rcv-wnd=1m|alias=x"))
    s.do("buffer too small", sub(f"aeron:udp?endpoint=127.0.0.1:{b}|rcv-wnd=32k|so-rcvbuf=16k"))
    s.do("other buffer", sub(f"{channel}|so-rcvbuf=16k"))
    s.do("small", sub(small))
    s.do("window too large", sub(f"aeron:udp?endpoint=127.0.0.1:{b}|rcv-wnd=32k"))
    s.do("other send buffer", sub(f"{channel}|so-sndbuf=64k"))
    for option in ("reliable=false", "rejoin=false", "channel-rcv-ts-offset=0"):
        s.do(option, sub(f"{channel}|{option}"))
        s.do(f"{option} and buffer", sub(f"{channel}|{option}|so-rcvbuf=64k"))
        s.do(f"{option} elsewhere", sub(f"{channel}|{option}|session-id=987654320", 1002))
    s.do("rejoin and window", sub(f"aeron:udp?endpoint=127.0.0.1:{b}|rejoin=false|rcv-wnd=32k"))
    s.do("one session", sub(f"{channel}|session-id=5|reliable=false"))
    s.do("that session again", sub(f"{channel}|session-id=987654320"))
    s.do("tether, group, tag", sub(f"{channel}|tether=false|group=true|nak-delay=1ms|gtag=5"))
    s.do("tagged", sub(f"aeron:udp?endpoint=127.0.0.1:{other}|tags=9"))
    s.do("by tag", sub("aeron:udp?tags=9"))
    s.do("by tag, other endpoint", sub(f"aeron:udp?tags=9|endpoint=127.0.0.1:{a}"))
    s.do("by tag, other mode", sub(f"aeron:udp?control-mode=dynamic|tags=9|control=127.0.0.1:{a}"))
    s.do("other tag", sub(f"aeron:udp?endpoint=127.0.0.1:{other}|tags=10"))
    s.note_counters("counters")


def refusals(s):
    """Channels that are refused, and some that are not."""
    a, b, group, wild = s.ports[:4]
    for channel in (
        f"aeron:udp?endpoint=192.0.2.99:{a}",
        f"aeron:udp?endpoint=224.0.1.1:{group}|interface=127.0.0.1|ttl=300",
        f"aeron:udp?endpoint=224.0.1.2:{group}|interface=127.0.0.1",
        f"aeron:udp?endpoint=127.0.0.1:{a}|interface=203.0.113.0/24",
        f"aeron:udp?endpoint=127.0.0.1:{a}|media-rcv-ts-offset=8",
        f"aeron:udp?endpoint=127.0.0.1:{a}|session-id=abc",
        f"aeron:udp?endpoint=127.0.0.1:{a}|session-id=tag:7",
        f"aeron:udp?endpoint=127.0.0.1:{a}|init-term-id=5",
        f"aeron:udp?endpoint=127.0.0.1:{a}|init-term-id=5|term-id=5|term-offset=33",
        f"aeron:udp?endpoint=127.0.0.1:{a}|untethered-resting-timeout=10h",
        f"aeron:udp?endpoint=127.0.0.1:{a}|so-rcvbuf=2g",
        f"aeron:udp?endpoint=127.0.0.1:{a}|rcv-wnd=12x",
        f"aeron:udp?endpoint=127.0.0.1:{a}|tags=x",
        f"aeron:udp?endpoint=127.0.0.1:{a}|gtag=x",
        "aeron:udp?control=127.0.0.1:0",
        "aeron:udp?control-mode=dynamic",
        "aeron:udp?endpoint=localhost",
        "aeron:udp?endpoint=127.0.0.1:70000",
        "aeron:udp",
        "aeron-spy:aeron:udp",
    ):
        s.do(f"refused {channel}", sub(channel))
    for channel in (
        f"aeron:udp?endpoint=127.0.0.1:{a}|cc=reno|rcv-wnd=64|alias=odd",
        f"aeron:udp?endpoint=[::1]:{b}",
        f"aeron:udp?endpoint=224.0.1.1:{group}|interface=127.0.0.1|ttl=3",
        "aeron:udp?tags=10",
        "aeron:udp?control-mode=manual",
        "aeron:udp?control-mode=manual|tags=11",
        f"aeron:udp?endpoint=127.0.0.1:{wild}|alias=" + "z" * 400,
    ):
        s.do(f"taken {channel[:80]}", sub(channel, 1003))
    s.do("unknown", remove(4711))
    s.note_counters("counters")


def images(s):
    """Images come, more subscribers join, some leave, the publisher leaves."""
    client = s.client
    channel = f"aeron:udp?endpoint=127.0.0.1:{s.ports[0]}"
    first = client.next_id() + 1
    s.do("subscription", sub(channel))
    s.do("of another session", sub(f"{channel}|session-id=987654320"))
    second = client.next_id() + 1
    s.do("of this session", sub(f"{channel}|session-id=987654321|alias=this"))
    publication = client.next_id() + 1
    this = f"{channel}|term-length=64k|session-id=987654321"
    s.do_until("publication", pub(this), r.AvailableImage, 2)
    late = client.next_id() + 1
    s.do("late", sub(f"{channel}|alias=late"))
    s.note_counters("with an image")
    s.do("first leaves", remove(first))
    s.do("second leaves", remove(second))
    s.do("publisher leaves", remove_pub(publication))
    s.until("end", r.UnavailableImage)
    client.wait_for(lambda: 3 not in client.counter_types())
    s.note_counters("without it")
    s.do("late leaves", remove(late))
    s.do("late again", remove(late))


def revoked(s):
    """A revoked publication ends its image, and a new one begins."""
    client = s.client
    channel = f"aeron:udp?endpoint=127.0.0.1:{s.ports[0]}"
    s.do("subscription", sub(channel))
    publication = client.next_id() + 1
    start = "init-term-id=-3|term-id=-1|term-offset=128"
    this = f"{channel}|term-length=64k|session-id=987654321"
    (image,) = s.do_until("publication", pub(f"{this}|{start}"), r.AvailableImage)
    s.do("revoke", remove_pub(publication, 1))
    s.until("end", r.UnavailableImage)
    s.do("reject", lambda i, n: c.RejectImage(i, n, image.correlation_id, 0, "late"))
    client.wait_for(lambda: client.counter_types() == {0, 7, 11, 14})
    s.do("reject", lambda i, n: c.RejectImage(i, n, image.correlation_id, 0, "too late"))
    s.do_until("publication", pub(this), r.AvailableImage)
    s.note_counters("counters")


def rejected(s):
    """A rejected image: the publisher hears of it, the image ends, another one comes."""
    client = s.client
    channel = f"aeron:udp?endpoint=127.0.0.1:{s.ports[0]}"
    s.do("subscription", sub(channel))
    this = f"{channel}|term-length=64k|session-id=987654321"
    (image,) = s.do_until("publication", pub(this), r.AvailableImage)
    said = client.do(lambda i, n: c.RejectImage(i, n, image.correlation_id, 0, "because"))
    said += client.until(lambda m: isinstance(m, r.OnPublicationError))
    errors = [m for m in said if isinstance(m, r.OnPublicationError)]
    assert [(m.code, m.message) for m in errors] == [(13, "because")]
    s.note("rejected", [m for m in said if m not in errors])
    s.until("end", r.UnavailableImage)
    s.until("again", r.AvailableImage)
    s.do("unknown", lambda i, n: c.RejectImage(i, n, 4711, 0, "why"))


def over_ipv6(s):
    """Addresses of the other family, in counters and as sources."""
    port, wild, group = s.ports[:3]
    channel = f"aeron:udp?endpoint=[::1]:{port}"
    s.do("subscription", sub(channel))
    s.do("wildcard port", sub("aeron:udp?endpoint=[::1]:0"))
    s.do("wildcard address", sub(f"aeron:udp?endpoint=[::]:{wild}"))
    s.do("group", sub(f"aeron:udp?endpoint=[ff02::3]:{group}|interface=[::1]"))
    start = "session-id=987654321|init-term-id=1|term-id=1|term-offset=0"
    s.do_until("publication", pub(f"{channel}|term-length=64k|{start}"), r.AvailableImage)
    s.note_counters("counters")


def responses(s):
    """A response channel from the asking to the answering side and back, over one driver."""
    client = s.client
    a, b, c_ = s.ports[:3]
    asked = f"aeron:udp?endpoint=127.0.0.1:{a}|term-length=64k"
    answered = f"aeron:udp?control=127.0.0.1:{b}|control-mode=response"
    s.do("nobody asks", pub(f"{asked}|response-correlation-id=4711"))
    waiting = client.next_id() + 1
    s.do("waiting for answers", sub(answered, 1002))
    s.do("likewise, otherwise", sub(f"{answered}|reliable=false", 1002))
    s.do("not for answers", sub(f"aeron:udp?control=127.0.0.1:{b}|endpoint=127.0.0.1:{c_}", 1002))
    s.do("requests", sub(f"aeron:udp?endpoint=127.0.0.1:{a}"))
    request = pub(f"{asked}|response-correlation-id={waiting}|session-id=987654321")
    (image,) = s.do_until("request", request, r.AvailableImage)
    s.do("no image said", pub(f"{answered}|term-length=64k", 1002))
    s.do("unknown image", pub(f"{answered}|term-length=64k|response-correlation-id=4711", 1002))
    answer = f"{answered}|term-length=64k|session-id=987654322"
    answer += f"|response-correlation-id={image.correlation_id}"
    (image,) = s.do_until("answer", pub(answer, 1002), r.AvailableImage)
    assert image.subscription_registration_id == waiting
    s.note_counters("counters")
    s.do("waits no more", remove(waiting))
    client.wait_for(lambda: [k.type_id for k in client.cnc.counters].count(3) == 1)
    s.note_counters("afterwards")


def first_come(s):
    """What an image takes from its endpoint's channel, and what from its first subscription."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{s.ports[0]}"
    s.do("makes the endpoint", sub(f"{channel}|cc=cubic|rcv-wnd=20k|gtag=7|alias=a", 1002))
    s.do("first of the stream", sub(f"{channel}|sparse=false|alias=b|rcv-wnd=8k"))
    s.do("second of the stream", sub(f"{channel}|cc=static|alias=c"))
    said = pub(f"{channel}|term-length=64k|session-id=987654321")
    (first, _) = s.do_until("publication", said, r.AvailableImage, 2)
    s.note_counters("counters")
    # Cubic begins with ten segments of 1,408 bytes and has twelve after the first round trip.
    s.note_values("values", {3, 5, 10}, grown=12 * 1408)
    s.note_window("window", first.log_file)


def destinations(s):
    """Destinations of a multi-destination subscription, on all media."""
    client = s.client
    a, b, c_, d, e, group = s.ports[:6]
    local = "aeron:udp?endpoint=127.0.0.1:"
    m = client.next_id() + 1
    s.do("subscription", sub("aeron:udp?control-mode=manual"))
    for channel in (
        f"{local}{a}",
        f"{local}{a}",
        f"{local}0",
        f"aeron:udp?control=127.0.0.1:{b}",
        f"{local}{c_}|mtu=1408",
        "aeron:udp",
        "aeron:ipc",
        f"aeron-spy:{local}{a}",
        f"{local}{c_}|control-mode=response",
        "aeron:ipc?mtu=128",
        f"aeron:udp?endpoint=224.0.1.1:{group}|interface=127.0.0.1",
        f"{local}{c_}|so-rcvbuf=64k",
        f"{local}{c_}|rcv-wnd=64k",
        f"{local}{c_}|session-id=4",
        "aeron:tcp?endpoint=localhost:1",
        "aeron:udp?tags=4,5",
        "aeron:ipc?session-id=abc",
        "aeron-spy:aeron:udp",
        f"{local}{d}|media-rcv-ts-offset=8",
        "aeron:udp?control-mode=manual",
        f"{local}{e}|term-length=64k|alias=x",
    ):
        s.do(f"add {channel}", add_destination(m, channel))
    udp = f"{local}{a}|term-length=64k|session-id=987654321"
    s.do_until("udp", pub(udp), r.AvailableImage, 2)
    s.do("ipc", pub("aeron:ipc?term-length=64k|session-id=987654322"))
    s.note_counters("counters")
    for channel in (
        f"{local}{a}",
        f"{local}{a}",
        "aeron:ipc",
        "aeron:ipc?a=b",
        f"aeron-spy:{local}{a}",
        f"aeron-spy:{local}{a}",
        "aeron:udp",
    ):
        s.do(f"remove {channel}", remove_destination(m, channel))
    s.do("subscription goes", remove(m))
    for channel in (f"{local}{a}", "aeron:ipc", f"aeron-spy:{local}{a}"):
        s.do("unknown", add_destination(4711, channel))
        s.do("unknown", remove_destination(4711, channel))
    plain = client.next_id() + 1
    s.do("plain", sub(f"{local}{b}"))
    for channel in (f"{local}{a}", "aeron:ipc", f"aeron-spy:{local}{a}"):
        s.do("plain", add_destination(plain, channel))
        s.do("plain", remove_destination(plain, channel))


@pytest.mark.parametrize(
    "script",
    [sharing, refusals, images, revoked, rejected, over_ipv6, responses, first_come, destinations],
)
def test_both_drivers_answer_alike(both_say, script):
    ours, reference = both_say(script, PROPERTIES)
    assert ours == reference, "\n".join(difflib.unified_diff(reference, ours, "reference", "ours"))
