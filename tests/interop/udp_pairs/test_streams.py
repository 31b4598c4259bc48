"""One stream from driver to driver over every kind of channel: each byte arrives, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from peer import counters as types
from peer.streams import Receipt, checked_messages, free_port, transfer, wait_until

pytestmark = pytest.mark.interop
COUNT = 500
LOOPBACK = "127.0.0.1"
GROUP = "224.20.30.39"


@dataclass
class Row:
    """Channels of one kind, with ``{p}`` and ``{q}`` for free ports.

    Attributes:
        publication: channel of the publication.
        subscriptions: channels of the subscriptions.
        destinations: what is added to the publication.
        sources: what is added to each subscription.
        host: an address of the family that the ports are free in.
        longest: bytes of the longest message.
        count: messages.
    """

    publication: str
    subscriptions: tuple[str, ...]
    destinations: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    host: str = LOOPBACK
    longest: int = 5000
    count: int = COUNT


def unicast(
    parameters: str = "", *, sub: str = "", term_length: str = "64k", **options: Any
) -> Row:
    """A row over one endpoint; parameters of the publication and of the subscription."""
    return Row(
        f"aeron:udp?endpoint=127.0.0.1:{{p}}|term-length={term_length}" + parameters,
        ("aeron:udp?endpoint=127.0.0.1:{p}" + sub,),
        **options,
    )


def multicast(parameters: str = "", *, sub: str = "", group: str = GROUP) -> Row:
    """A row over a group on the loopback interface."""
    channel = f"aeron:udp?endpoint={group}:{{p}}|interface={LOOPBACK}"
    return Row(channel + "|term-length=64k" + parameters, (channel + sub,))


def dynamic(parameters: str = "", *, sub: str = "") -> Row:
    """A row in which two receivers register themselves."""
    return Row(
        "aeron:udp?control=127.0.0.1:{p}|control-mode=dynamic|term-length=64k" + parameters,
        (
            "aeron:udp?endpoint=127.0.0.1:{q}|control=127.0.0.1:{p}" + sub,
            "aeron:udp?endpoint=127.0.0.1:{r}|control=127.0.0.1:{p}" + sub,
        ),
    )


def manual(parameters: str = "", *, sub: str = "") -> Row:
    """A row in which the publisher adds two receivers."""
    return Row(
        "aeron:udp?control-mode=manual|term-length=64k" + parameters,
        ("aeron:udp?endpoint=127.0.0.1:{p}" + sub, "aeron:udp?endpoint=127.0.0.1:{q}" + sub),
        ("aeron:udp?endpoint=127.0.0.1:{p}", "aeron:udp?endpoint=127.0.0.1:{q}"),
    )


ROWS = {
    "unicast": unicast(),
    "unicast with an interface": unicast("|interface=127.0.0.1", sub="|interface=127.0.0.0/8"),
    "unicast to a host name": Row(
        "aeron:udp?endpoint=localhost:{p}|term-length=64k", ("aeron:udp?endpoint=localhost:{p}",)
    ),
    "unicast from an explicit control address": Row(
        "aeron:udp?endpoint=127.0.0.1:{p}|control=127.0.0.1:{q}|term-length=64k",
        ("aeron:udp?endpoint=127.0.0.1:{p}|control=127.0.0.1:{q}",),
    ),
    "unicast over IPv6": Row(
        "aeron:udp?endpoint=[::1]:{p}|term-length=64k",
        ("aeron:udp?endpoint=[::1]:{p}",),
        host="::1",
    ),
    "unicast with two subscribers of one driver": Row(
        "aeron:udp?endpoint=127.0.0.1:{p}|term-length=64k",
        ("aeron:udp?endpoint=127.0.0.1:{p}", "aeron:udp?endpoint=127.0.0.1:{p}|alias=two"),
    ),
    "small frames": unicast("|mtu=64", longest=200),
    "large frames": unicast("|mtu=8192", longest=8192),
    "largest frames": unicast("|mtu=65504", term_length="1m", longest=131_072, count=60),
    "fragmented up to the maximum": unicast(longest=8192),
    "preset positions": unicast("|init-term-id=-5|term-id=2147|term-offset=61440"),
    "term ids that wrap": unicast("|init-term-id=2147483645|term-id=2147483646|term-offset=0"),
    "small publication window": unicast("|pub-wnd=8k", sub="|rcv-wnd=4k"),
    "large socket buffers": unicast("|so-sndbuf=256k", sub="|so-rcvbuf=180k"),
    "cubic": unicast(sub="|cc=cubic"),
    "group semantics by request": unicast(sub="|group=true"),
    "a delay of NAKs": unicast(sub="|nak-delay=200us"),
    "many resends": unicast("|max-resend=64"),
    "unreliable without loss": unicast(sub="|reliable=false"),
    "aliases and dense files": unicast("|sparse=false|alias=x", sub="|sparse=false|alias=y"),
    "session-specific subscription": unicast("|session-id=-77", sub="|session-id=-77"),
    "multicast": multicast(),
    "multicast with a time to live": multicast("|ttl=3", sub="|ttl=3"),
    "multicast with min flow control": multicast("|fc=min"),
    "multicast with tagged flow control": multicast("|fc=tagged,g:77/1,t:5s", sub="|gtag=77"),
    "multicast with cubic": multicast(sub="|cc=cubic"),
    "dynamic destinations": dynamic("|fc=min,g:/2"),
    "dynamic destinations with tags": dynamic("|fc=tagged,g:5/2", sub="|gtag=5"),
    "manual destinations": manual("|fc=min,g:/2"),
    "manual destinations with min": manual("|fc=min,g:/2,t:5s,rrwm:8", sub="|cc=cubic"),
    "manual destinations with a control address": Row(
        "aeron:udp?control=127.0.0.1:{q}|control-mode=manual|term-length=64k|fc=min,g:/1",
        ("aeron:udp?endpoint=127.0.0.1:{p}",),
        ("aeron:udp?endpoint=127.0.0.1:{p}",),
    ),
    "a subscription with two destinations": Row(
        "aeron:udp?control-mode=manual|term-length=64k|fc=min,g:/1",
        ("aeron:udp?control-mode=manual",),
        ("aeron:udp?endpoint=127.0.0.1:{p}", "aeron:udp?endpoint=127.0.0.1:{q}"),
        ("aeron:udp?endpoint=127.0.0.1:{p}", "aeron:udp?endpoint=127.0.0.1:{q}"),
    ),
    "a subscription that asks a dynamic source": Row(
        "aeron:udp?control=127.0.0.1:{p}|control-mode=dynamic|term-length=64k|fc=min,g:/1",
        ("aeron:udp?control-mode=manual",),
        (),
        ("aeron:udp?endpoint=127.0.0.1:{q}|control=127.0.0.1:{p}",),
    ),
}


# A driver treats both kinds alike but for what a publisher writes: a few rows are enough.
EXCLUSIVE = ("unicast", "fragmented up to the maximum", "multicast")
CASES = [(name, "shared") for name in ROWS] + [(name, "exclusive") for name in EXCLUSIVE]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_message_arrives_in_order(link, stream_id, name, kind):
    row = ROWS[name]
    before = [side.all_system() for side in link.counters()]
    publication, subscriptions = join(link, row, stream_id, kind)
    receipts = [Receipt(subscription) for subscription in subscriptions]
    messages = checked_messages(row.count, longest=row.longest, seed=stream_id)
    end = transfer(publication, receipts, messages)
    assert [r.count for r in receipts] == [row.count] * len(receipts)
    assert [r.position for r in receipts] == [end] * len(receipts)
    check_rest(link, publication, subscriptions, end)
    for old, side in zip(before, link.counters(), strict=True):
        new = side.all_system()
        grown = {n: new[n] - old[n] for n in ("errors", "invalid_packets") if new[n] != old[n]}
        assert not grown


def join(link, row, stream_id, kind):
    """The publication and the subscriptions of a row, connected."""
    ports = {name: free_port(row.host) for name in "pqr"}
    subscriptions = []
    for channel in row.subscriptions:
        subscription = link.subscriber.add_subscription(channel.format(**ports), stream_id)
        for source in row.sources:
            subscription.add_destination(source.format(**ports))
        subscriptions.append(subscription)
    add = {
        "shared": link.publisher.add_publication,
        "exclusive": link.publisher.add_exclusive_publication,
    }[kind]
    publication = add(row.publication.format(**ports), stream_id)
    for destination in row.destinations:
        publication.add_destination(destination.format(**ports))
    for subscription in subscriptions:
        wait_until(lambda s=subscription: s.is_connected, f"an image of {subscription.channel}")
    wait_until(lambda: publication.is_connected, "the publication to be connected")
    return publication, subscriptions


def check_rest(link, publication, subscriptions, end):
    """At rest every position of the stream, on both drivers, is the end."""
    key = (publication.session_id, publication.stream_id)
    sending, receiving = link.counters()
    for side, kind in (
        (sending, types.PUBLISHER_POSITION),
        (sending, types.SENDER_POSITION),
        (receiving, types.RECEIVER_HWM),
        (receiving, types.RECEIVER_POSITION),
        (receiving, types.SUBSCRIBER_POSITION),
    ):
        wait_until(
            lambda s=side, k=kind: set(s.values(k, *key)) == {end},
            f"counters of type {kind} at {end}",
        )
    assert len(receiving.values(types.SUBSCRIBER_POSITION, *key)) == len(subscriptions)
    assert sending.value(types.SENDER_LIMIT, *key) >= end
