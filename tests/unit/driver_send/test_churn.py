"""Whatever clients add and remove, in whatever order: nothing of it is left behind."""

from random import Random

import pytest

from aerolog.transport.counters.counter_types import CounterType as T
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

MS = 1_000_000
STEPS = 200
CHANNELS = (
    "aeron:udp?endpoint=10.0.0.2:4000|linger=100ms",
    "aeron:udp?endpoint=10.0.0.1:4001|linger=0",
    "aeron:udp?endpoint=10.0.0.1:4001|linger=0|ssc=true",
    "aeron:udp?endpoint=224.20.30.39:4002|interface=localhost|linger=0|fc=min",
    "aeron:udp?control=10.0.0.1:4003|control-mode=dynamic|linger=0",
    "aeron:udp?control=10.0.0.1:0|control-mode=dynamic|linger=0",
    "aeron:udp?control-mode=manual|tags=5|linger=0",
    "aeron:udp?tags=5|linger=0",
    "aeron:udp?control=10.0.0.1:4004|control-mode=response|response-correlation-id=prototype",
    "aeron:udp?endpoint=10.0.0.2:0",
    "aeron:udp?endpoint=nowhere",
    "aeron:ipc",
)


class Client:
    """One client that does this and that, by a seed."""

    def __init__(self, bench, source):
        self.bench = bench
        self.source = source
        self.client_id = bench.cnc.to_driver.next_correlation_id()
        bench.alive.append(self.client_id)
        self.publications: dict[int, int] = {}  # own id -> registration id
        self.subscriptions: list[int] = []

    def step(self):
        act = self.source.choice(
            (self.publish, self.publish, self.subscribe, self.remove, self.destination, self.wait)
        )
        act()

    def publish(self):
        make = self.source.choice((c.AddPublication, c.AddExclusivePublication))
        said = self.add(make, self.source.choice(CHANNELS))
        if isinstance(said, r.PublicationReady):
            self.publications[said.correlation_id] = said.registration_id

    def subscribe(self):
        prefix = self.source.choice(("", "aeron-spy:"))
        channel = self.source.choice(CHANNELS)
        said = self.add(c.AddSubscription, channel if channel[6] == "i" else prefix + channel)
        if isinstance(said, r.SubscriptionReady):
            self.subscriptions.append(said.correlation_id)

    def add(self, make, channel):
        stream_id = self.source.randrange(3)
        correlation_id = self.bench.send(
            lambda i, n: make(i, n, stream_id, channel), self.client_id
        )
        said = [
            m for m in self.bench.turn() if getattr(m, "correlation_id", None) == correlation_id
        ]
        assert said, channel
        return said[0]

    def remove(self):
        if self.publications and self.source.random() < 0.6:
            own = self.source.choice(sorted(self.publications))
            del self.publications[own]
            flags = self.source.randrange(2)
            self.bench.do(lambda i, n: c.RemovePublication(i, n, own, flags), self.client_id)
        elif self.subscriptions:
            own = self.subscriptions.pop(self.source.randrange(len(self.subscriptions)))
            self.bench.do(lambda i, n: c.RemoveSubscription(i, n, own), self.client_id)

    def destination(self):
        if self.publications:
            of = self.source.choice(sorted(self.publications.values()))
            channel = f"aeron:udp?endpoint=10.0.0.2:{4100 + self.source.randrange(3)}"
            make = self.source.choice((c.AddDestination, c.RemoveDestination))
            self.bench.do(lambda i, n: make(i, n, of, channel), self.client_id)

    def wait(self):
        self.bench.pass_time(self.source.randrange(1, 300) * MS, step_ns=50 * MS)

    def leave(self):
        while self.publications or self.subscriptions:
            self.remove()


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_left_behind(start, seed):
    bench = start(
        image_liveness_timeout="1s", client_liveness_timeout="1s", publication_unblock_timeout="2s"
    )
    mapped = bench.value(SystemCounter.BYTES_CURRENTLY_MAPPED)
    source = Random(seed)
    clients = [Client(bench, source) for _ in range(3)]
    for _ in range(STEPS):
        source.choice(clients).step()
    polite, *silent = clients
    polite.leave()
    for client in silent:
        bench.alive.remove(client.client_id)
    bench.pass_time(12_000 * MS, step_ns=50 * MS)
    bench.alive.remove(polite.client_id)
    bench.do(c.ClientClose, polite.client_id)
    bench.pass_time(500 * MS, step_ns=50 * MS)

    assert bench.types() == []
    assert bench.counters(T.CLIENT_HEARTBEAT) == []
    assert bench.value(SystemCounter.BYTES_CURRENTLY_MAPPED) == mapped
    assert bench.value(SystemCounter.FREE_FAILS) == 0
    for folder in ("publications", "images"):
        assert bench.files.list_dir(f"{bench.driver.aeron_dir}/{folder}") == []
    for port in (4001, 4003, 4004):
        bench.here.open_receive_port(("10.0.0.1", port)).close()
