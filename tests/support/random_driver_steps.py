"""Steps on a pair of drivers, drawn at random: what is right, what is nearly right, what is not.

What is drawn follows from the seed and from what both have answered. Streams of commands alone have
ports of their own, so that no image of theirs comes at a time of its own.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from peer.raw_client import RawClient
from waits import wait_until

from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from driver_pair import DriverPair, Side

STEPS = 30
TERM = 64 * 1024
NOBODY = (-1, 0, 987_654, 2**63 - 1)
COMMAND_PORTS, STREAM_PORTS = range(6), range(6, 16)
#: ``{p}`` is a port, ``{s}`` a session id that no other has.
GOOD_PUBLICATIONS = (
    "aeron:ipc?term-length=64k|session-id={s}|{at}",
    "aeron:ipc?term-length=128k|session-id={s}|{at}|mtu=2048|pub-wnd=16k|linger=0|tags=1{s},2{s}",
    (
        "aeron:ipc?session-id={s}|{at}|alias=odd|eos=xyz|sparse=false|max-resend=3|ssc=true"
        "|term-length=64k"
    ),
    "aeron:udp?endpoint=localhost:{p}|session-id={s}|{at}|term-length=64k|linger=0",
    (
        "aeron:udp?endpoint=localhost:{p}|session-id={s}|{at}|term-length=64k|fc=min,g:/2,t:1s"
        "|so-sndbuf=64k"
    ),
    (
        "aeron:udp?control=localhost:{p}|control-mode=dynamic|session-id={s}|{at}|term-length=64k"
        "|fc=max"
    ),
    "aeron:udp?control=localhost:{p}|control-mode=dynamic|session-id={s}|{at}|fc=min,g:/2,t:1s",
    "aeron:udp?control-mode=manual|session-id={s}|{at}|term-length=64k|ttl=3",
    "aeron:udp?control-mode=manual|control=localhost:{p}|session-id={s}|{at}|term-length=64k",
)
GOOD_SUBSCRIPTIONS = (
    "aeron:ipc",
    "aeron:ipc?tether=false|rejoin=false",
    "aeron:udp?endpoint=localhost:{p}",
    "aeron:udp?endpoint=localhost:{p}|session-id={s}|rcv-wnd=32k|so-rcvbuf=64k|cc=cubic",
    "aeron:udp?control-mode=manual",
    "aeron:udp?control=localhost:{p}|control-mode=dynamic|endpoint=localhost:0",
    "aeron-spy:aeron:udp?endpoint=localhost:{p}",
)
BAD = (
    "aeron:ipc?term-length=100k", "aeron:ipc?term-length=", "aeron:ipc?mtu=70000",
    "aeron:ipc?mtu=8224|term-length=64k", "aeron:ipc?init-term-id=5", "aeron:ipc?linger=-1",
    "aeron:ipc?init-term-id=5|term-id=4|term-offset=0", "aeron:ipc?session-id=2147483648",
    "aeron:ipc?session-id=tag:77", "aeron:ipc?tags=1,abc", "aeron:ipc?max-resend=257",
    "aeron:udp", "aeron:udp?alias=x", "aeron:udp?endpoint=localhost", "aeron:udp?endpoint=:1",
    "aeron:udp?endpoint=localhost:99999", "aeron:udp?endpoint=no.such.host.invalid:1",
    "aeron:udp?control=localhost:{p}", "aeron:udp?control-mode=dynamic",
    "aeron:udp?endpoint=localhost:{p}|fc=nothing", "aeron:udp?endpoint=localhost:{p}|ttl=256",
    "aeron:udp?endpoint=localhost:{p}|mtu=100", "aeron:udp?endpoint=224.0.0.2:1",
    "aeron:udp?endpoint=localhost:{p}|interface=192.0.2.1", "aeron-spy:aeron:ipc",
    "aeron:udp?endpoint=localhost:{p}|so-sndbuf=abc", "aeron:tcp", "", "aeron:ipc?a|b=1",
    "aeron:udp?endpoint=localhost:{p}|session-id=x", "aeron:udp?endpoint=localhost:{p}|gtag=x",
    "aeron:udp?endpoint=localhost:{p}|response-correlation-id=x", "udp:localhost",
)  # fmt: skip


@dataclass
class Thing:
    """What a client has: a publication, a subscription or a counter.

    Attributes:
        registration_id: with which it is removed, and has destinations.
        client: who has it.
        channel: its channel, with ``{p}`` for its port.
        destinations: their registration ids.
    """

    registration_id: int
    client: int
    channel: str = ""
    destinations: list[tuple[int, str]] = field(default_factory=list)


class DriverScript:
    """Draws one step after the other."""

    def __init__(self, pair: DriverPair, dice: Random) -> None:
        self.pair = pair
        self.dice = dice
        self.sessions = iter(range(5001, 6000))
        self.stream_ports = iter(STREAM_PORTS)
        self.stream_ids = iter(range(2001, 3000))
        self.publications: list[Thing] = []
        self.subscriptions: list[Thing] = []
        self.counters: list[Thing] = []
        self.clients = 1
        self.living = [0]
        self.images: list[int] = []

    # -- commands ---------------------------------------------------------------------------------

    def ask(self, make: Callable[[Side], Callable[[int, int], c.Command]]) -> r.Response | None:
        """Send a command to both; what ours has answered, or None where it refused."""
        client = self.client = self.dice.choice(self.living)
        said = self.pair.each(lambda side: side.do(client, make(side)))
        self.pair.alike("a command", lambda side: {"answers": side.answers})
        return None if isinstance(said[1], r.OnError) else said[1]

    def channel(self, channels: tuple[str, ...]) -> Callable[[Side], str]:
        """A channel, with a port of each side."""
        index = self.dice.choice(COMMAND_PORTS)
        term_id = self.dice.choice((0, -7, 2**31 - 1))
        offset = self.dice.choice((0, 96, 1024))
        at = f"init-term-id={term_id}|term-id={term_id}|term-offset={offset}"
        session_id = next(self.sessions)
        form = self.dice.choice(channels)
        return lambda side: form.format(p=side.ports[index], s=session_id, at=at)

    def publication(self) -> None:
        channel = self.channel(BAD if self.dice.random() < 0.3 else GOOD_PUBLICATIONS)
        kind = self.dice.choice((c.AddPublication, c.AddExclusivePublication))
        stream_id = self.dice.choice((1001, 1001, 1002, -5))
        said = self.ask(lambda side: lambda i, n: kind(i, n, stream_id, channel(side)))
        if isinstance(said, r.PublicationReady):
            shown = channel(self.pair.ours)
            self.publications.append(Thing(said.correlation_id, self.client, shown))

    def subscription(self) -> None:
        channel = self.channel(BAD if self.dice.random() < 0.3 else GOOD_SUBSCRIPTIONS)
        stream_id = self.dice.choice((1001, 1001, 1002, -5))
        said = self.ask(lambda side: lambda i, n: c.AddSubscription(i, n, stream_id, channel(side)))
        if isinstance(said, r.SubscriptionReady):
            shown = channel(self.pair.ours)
            self.subscriptions.append(Thing(said.correlation_id, self.client, shown))

    def counter(self) -> None:
        key = self.dice.randbytes(self.dice.choice((0, 4, 112, 150)))
        label = "l" * self.dice.choice((0, 5, 380, 500)) + "é"
        type_id = self.dice.choice((1500, 1501, -1))
        if self.dice.random() < 0.3:
            static_id = self.dice.choice((99, 100))
            self.ask(
                lambda _: lambda i, n: c.AddStaticCounter(i, n, static_id, type_id, key, label)
            )
            return
        said = self.ask(lambda _: lambda i, n: c.AddCounter(i, n, type_id, key, label))
        if isinstance(said, r.CounterReady):
            self.counters.append(Thing(said.correlation_id, self.client))

    def destination(self) -> None:
        """Add or remove one, of a manual channel or of another."""
        publishes = self.dice.random() < 0.5
        manual = [
            thing
            for thing in (self.publications if publishes else self.subscriptions)
            if "manual" in thing.channel or self.dice.random() < 0.2
        ]
        registration_id = self.dice.choice(NOBODY)
        kinds: Any = (
            (c.AddDestination, c.RemoveDestination, c.RemoveDestinationById)
            if publishes
            else (c.AddReceiveDestination, c.RemoveReceiveDestination)
        )
        if manual:
            registration_id = self.dice.choice(manual).registration_id
        channel = self.channel(
            (
                "aeron:udp?endpoint=localhost:{p}",
                "aeron:udp?endpoint=localhost:{p}|interface=localhost",
                "aeron:ipc",
                "aeron-spy:aeron:udp?endpoint=localhost:{p}",
                "aeron:udp?endpoint=localhost:{p}|mtu=1408",
                "aeron:udp?endpoint=localhost:0",
                *BAD,
            )
        )
        kind = self.dice.choice((kinds[0], *kinds))
        if kind is c.RemoveDestinationById:
            number = self.dice.randrange(60)
            self.ask(lambda _: lambda i, n: kind(i, n, registration_id, number))
        else:
            self.ask(lambda side: lambda i, n: kind(i, n, registration_id, channel(side)))

    def remove(self) -> None:
        """Remove something that there is, or is not, or is of another kind or client's."""
        kind, things = self.dice.choice(
            (
                (c.RemovePublication, self.publications),
                (c.RemoveSubscription, self.subscriptions),
                (c.RemoveCounter, self.counters),
            )
        )
        registration_id = self.dice.choice(NOBODY)
        if things and self.dice.random() < 0.85:
            registration_id = self.dice.choice(things).registration_id
        self.ask(lambda _: lambda i, n: kind(i, n, registration_id))
        things[:] = [thing for thing in things if thing.registration_id != registration_id]

    def client_comes(self) -> None:
        self.pair.each(lambda side: side.raw.append(RawClient(side.server.aeron_dir)))
        self.living.append(self.clients)
        self.clients += 1

    def client_goes(self) -> None:
        if len(self.living) > 1:
            client = self.living.pop(self.dice.randrange(len(self.living)))
            # Without a further command, which would make the driver know the client again.
            self.pair.each(lambda side: side.raw[client].send(c.ClientClose))
            self.pair.each(lambda side: wait_until(lambda: side.knows(client) < 0, "its end"))
            for things in (self.publications, self.subscriptions, self.counters):
                things[:] = [thing for thing in things if thing.client != client]

    # -- streams ----------------------------------------------------------------------------------

    def stream(self) -> None:
        """A publication and subscriptions to it, with data."""
        is_udp = self.dice.random() < 0.6
        port = next(self.stream_ports, None) if is_udp else None
        stream_id, session_id = next(self.stream_ids), next(self.sessions)
        mtu = self.dice.choice((1408, 2048))
        spies = self.dice.random() < 0.3
        count, lengths = self.dice.randrange(1, 60), (10, 800, 5000)
        messages = [self.dice.randbytes(self.dice.choice(lengths)) for _ in range(count)]
        closes = self.dice.random() < 0.5

        def play(side: Side) -> None:
            channel = "aeron:ipc"
            if port is not None:
                channel = f"aeron:udp?endpoint=localhost:{side.ports[port]}"
            subscriptions = [side.aeron.add_subscription(channel, stream_id)]
            publication = side.aeron.add_exclusive_publication(
                f"{channel}{'|' if port is not None else '?'}session-id={session_id}|mtu={mtu}"
                "|term-length=64k|init-term-id=3|term-id=4|term-offset=64",
                stream_id,
            )
            wait_until(lambda: publication.is_connected, "the connection")
            wait_until(lambda: subscriptions[0].images, "the image")
            if port is not None and spies:
                subscriptions.append(side.aeron.add_subscription(f"aeron-spy:{channel}", stream_id))
                wait_until(lambda: subscriptions[1].images, "the spy's image")

            def poll() -> bool:
                for subscription in subscriptions:
                    subscription.poll(lambda *_: None, 10)
                return all(
                    image.position == publication.position
                    for subscription in subscriptions
                    for image in subscription.images
                )

            for message in messages:
                wait_until(
                    lambda m=message: publication.offer(m) > 0 or (not poll() and False), "room"
                )
            wait_until(poll, "all that was sent")
            side.streams.append((publication, subscriptions))

        self.pair.each(play)
        self.pair.alike("a stream")
        if closes:

            def close(side: Side) -> None:
                publication, subscriptions = side.streams.pop()
                publication.close()
                wait_until(lambda: not any(s.images for s in subscriptions), "the end of images")
                for subscription in subscriptions:
                    subscription.close()

            self.pair.each(close)

    def lose(self) -> None:
        """A publisher of our own leaves something out, and sends it later or never."""
        port = next(self.stream_ports, None)
        if port is None:
            return
        stream_id, session_id = next(self.stream_ids), next(self.sessions)
        first, gap = self.dice.randrange(1, 5), self.dice.randrange(1, 4)
        options = self.dice.choice(("", "|reliable=false", "|alias=lossy"))
        fills = "reliable" not in options and self.dice.random() < 0.6
        self.pair.each(
            lambda side: Publisher(side, port, stream_id, session_id, options).play(
                first, gap, fills=fills
            )
        )

    def reject(self) -> None:
        """Reject an image that there is, or an id that is none's."""
        images = [
            image.correlation_id
            for _, subscriptions in self.pair.ours.streams
            for subscription in subscriptions
            for image in subscription.images
        ]
        image_id = self.dice.choice((*images, self.dice.choice(NOBODY)))
        reason = "r" * self.dice.choice((1, 50, 1023, 1024))
        self.ask(lambda _: lambda i, n: c.RejectImage(i, n, image_id, 64, reason))

    def run(self) -> None:
        """All steps."""
        steps = (
            *(self.publication, self.publication, self.subscription, self.subscription),
            *(self.counter, self.destination, self.destination, self.remove, self.remove),
            *(self.client_comes, self.client_goes, self.stream, self.lose, self.reject),
        )
        for _ in range(STEPS):
            step = self.dice.choice(steps)
            step()
            self.pair.alike(step.__name__)


class Publisher:
    """A publisher without a driver, which sends to one what it likes."""

    MTU, FRAME = 1408, 1024

    def __init__(
        self, side: Side, port: int, stream_id: int, session_id: int, options: str
    ) -> None:
        self.side = side
        self.stream_id, self.session_id = stream_id, session_id
        self.to = ("127.0.0.1", side.ports[port])
        channel = f"aeron:udp?endpoint=localhost:{side.ports[port]}{options}"
        self.subscription = side.aeron.add_subscription(channel, stream_id)

    def play(self, first: int, gap: int, *, fills: bool) -> None:
        """Send frames but for a gap, and the gap once it was reported."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
            port.bind(("127.0.0.1", 0))
            setup = struct.pack(
                "<iBBHiiiiiiii",
                *(40, 0, 0, 5, 0, self.session_id, self.stream_id, 7, 7, TERM, self.MTU, 0),
            )
            port.sendto(setup, self.to)
            (image,) = wait_until(lambda: self.subscription.images, "the image")
            before = len(self.side.directory.left()["losses"])
            count = first + gap + 2
            for number in (*range(first), *range(first + gap, count)):
                port.sendto(self._frame(number), self.to)
            wait_until(
                lambda: len(self.side.directory.left()["losses"]) > before, "a loss in the report"
            )
            if fills:
                for number in range(first, first + gap):
                    port.sendto(self._frame(number), self.to)
            end = first if not fills and "reliable" not in self.subscription.channel else count

            def read() -> bool:
                self.subscription.poll(lambda *_: None, 10)
                return bool(image.position == end * self.FRAME)

            wait_until(read, "all that can be read")
            self.side.streams.append((None, [self.subscription]))

    def _frame(self, number: int) -> bytes:
        at = number * self.FRAME
        head = struct.pack(
            "<iBBHiiiiq",
            *(self.FRAME, 0, 0xC0, 1, at, self.session_id, self.stream_id, 7, 0),
        )
        return head + bytes([number % 250 + 1]) * (self.FRAME - len(head))
