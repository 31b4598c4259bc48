"""Whatever comes in whatever order, nothing is left of it in the end."""

from random import Random

import pytest

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

MS = 1_000_000
S = 1_000_000_000
STEPS = 150
PORTS = (24401, 24402)
OPTIONS = (
    "", "|tether=false", "|session-id=71", "|cc=cubic", "|group=true", "|rejoin=false",
    "|reliable=false|session-id=72", "|rcv-wnd=16k", "|alias=another",
)  # fmt: skip
# What may be refused, and what may go wrong without a command, on the way.
EXPECTED = (
    "option conflicts with existing subscription",
    "Address already in use",
    "unknown",
    "channel does not allow manual control",
)


class Life:
    """Random subscriptions, destinations and senders on one driver."""

    def __init__(self, bench, seed):
        self.bench = bench
        self.random = Random(seed)
        self.subscriptions = []
        self.destinations = []
        self.sources = []
        self.images = {}
        self.made = 0

    def step(self):
        action = self.random.choice(
            [self.subscribe] * 2
            + [self.leave, self.multi, self.destination, self.no_destination, self.reject]
            + [self.begin, self.talk, self.talk, self.talk, self.end, self.read, self.wait]
        )
        action()
        self.hear(self.bench.turn())

    def hear(self, said):
        for message in said:
            if isinstance(message, r.OnError):
                assert any(text in message.message for text in EXPECTED), message
            elif isinstance(message, r.AvailableImage):
                self.images[message.position_counter_id] = message
                self.made += 1
            elif isinstance(message, r.UnavailableImage):
                self.images = {
                    k: image
                    for k, image in self.images.items()
                    if (image.correlation_id, image.subscription_registration_id)
                    != (message.correlation_id, message.subscription_registration_id)
                }

    def subscribe(self):
        text = f"aeron:udp?endpoint=10.0.0.1:{self.random.choice(PORTS)}"
        text += self.random.choice(OPTIONS)
        stream_id = self.random.choice([1, 2])
        self.subscriptions.append(
            self.bench.send(lambda i, n: c.AddSubscription(i, n, stream_id, text))
        )

    def multi(self):
        channel = "aeron:udp?control-mode=manual"
        self.subscriptions.append(self.bench.send(lambda i, n: c.AddSubscription(i, n, 1, channel)))

    def leave(self):
        if self.subscriptions:
            gone = self.subscriptions.pop(self.random.randrange(len(self.subscriptions)))
            self.bench.send(lambda i, n: c.RemoveSubscription(i, n, gone))
            self.images = {
                k: image
                for k, image in self.images.items()
                if image.subscription_registration_id != gone
            }

    def destination(self):
        if self.subscriptions:
            to = self.random.choice(self.subscriptions)
            text = f"aeron:udp?endpoint=10.0.0.1:{self.random.choice(PORTS) + 10}"
            self.bench.send(lambda i, n: c.AddReceiveDestination(i, n, to, text))

    def no_destination(self):
        if self.subscriptions:
            of = self.random.choice(self.subscriptions)
            text = f"aeron:udp?endpoint=10.0.0.1:{self.random.choice(PORTS) + 10}"
            self.bench.send(lambda i, n: c.RemoveReceiveDestination(i, n, of, text))

    def reject(self):
        if self.images and self.random.random() < 0.3:
            image = self.random.choice(list(self.images.values()))
            self.bench.send(lambda i, n: c.RejectImage(i, n, image.correlation_id, 0, "no"))

    def begin(self):
        port = self.random.choice(PORTS) + self.random.choice([0, 10])
        source = self.bench.source(
            ("10.0.0.1", port),
            session_id=self.random.choice([71, 72, 73]),
            stream_id=self.random.choice([1, 2]),
            is_heard=False,
        )
        source.setup()
        self.sources.append([source, 0])

    def talk(self):
        for entry in self.sources:
            if self.random.random() < 0.3:
                entry[0].setup(entry[1])
            for _ in range(self.random.randrange(4)):
                length = self.random.choice([0, 32, 992])
                if self.random.random() < 0.9:
                    entry[1] = entry[0].data(entry[1], bytes(length))
                else:
                    entry[1] += 32 + length  # lost on the way
            entry[0].heartbeat(entry[1])

    def end(self):
        if self.sources:
            source, position = self.sources.pop(self.random.randrange(len(self.sources)))
            if self.random.random() < 0.7:
                source.heartbeat(position, self.random.choice([0xE0, 0xF0]))

    def read(self):
        counters = self.bench.cnc.counters
        received = {
            k.registration_id: k.value for k in self.bench.counters(CounterType.RECEIVER_POSITION)
        }
        for counter_id, image in self.images.items():
            if image.correlation_id in received and self.random.random() < 0.7:
                counters.set_value(counter_id, received[image.correlation_id])

    def wait(self):
        self.hear(self.bench.pass_time(self.random.choice([20, 150, 1500]) * MS, 50 * MS))


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_left_in_the_end(start, seed):
    bench = start(untethered_window_limit_timeout="300ms", untethered_resting_timeout="200ms")
    mapped = bench.value(SystemCounter.BYTES_CURRENTLY_MAPPED)
    life = Life(bench, seed)
    for _ in range(STEPS):
        life.step()
    assert life.made
    while life.subscriptions:
        life.leave()
    life.hear(bench.turn())
    bench.pass_time(8 * S, 50 * MS)
    assert bench.types() == []
    assert bench.value(SystemCounter.BYTES_CURRENTLY_MAPPED) == mapped
    assert list(bench.files.list_dir(f"{bench.driver.aeron_dir}/images")) == []
    assert [t for t in bench.errors() if not any(text in t for text in EXPECTED)] == []
