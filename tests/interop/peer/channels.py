"""Channels of the kinds that the tests of pairs use, and how their two ends meet."""

from dataclasses import dataclass
from typing import Any

from waits import wait_until

from peer import counters as types
from peer.streams import free_port

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


def join(link: Any, row: Row, stream_id: int, kind: str = "shared") -> tuple[Any, list[Any]]:
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


def check_rest(link: Any, publication: Any, subscriptions: list[Any], end: int) -> None:
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
