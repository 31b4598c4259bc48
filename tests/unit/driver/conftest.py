"""A driver that the test turns by hand, at the time the test says, and a client that sees all."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

import pytest

from aerolog.testing import FakeFileSystem, ManualClock
from aerolog.transport.driver import MediaDriver
from aerolog.transport.driver.stream_counters import CounterType
from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.logbuffer.direct import DirectPublication, DirectSubscription
from aerolog.transport.memory.broadcast import BroadcastReceiver
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

MS = 1_000_000
S = 1_000_000_000

OPTIONS = {
    "threading_mode": "INVOKER",
    "counters_buffer_length": "1m",
    "ipc_term_buffer_length": "64k",
    "driver_async_executor_enabled": False,
}


@dataclass
class Bench:
    """A driver, its clock and disk, and one raw client that stays alive by itself."""

    driver: MediaDriver
    clock: ManualClock
    files: FakeFileSystem
    cnc: CncFile
    receiver: BroadcastReceiver
    client_id: int
    alive: list[int] = field(default_factory=list)
    last: list[r.Response] = field(default_factory=list)  # what `add` heard

    @classmethod
    def start(cls, directory: str, **options: object) -> "Bench":
        clock = options.pop("clock", None) or ManualClock()
        files = options.pop("file_system", None) or FakeFileSystem()
        driver = MediaDriver(
            directory,
            clock=clock,
            file_system=files,
            random_source=Random(7),
            **{**OPTIONS, **options},
        )
        cnc = CncFile.open(files, driver.aeron_dir, writable=True)
        client_id = cnc.to_driver.next_correlation_id()
        return cls(driver, clock, files, cnc, cnc.receiver(), client_id, [client_id])

    def turn(self) -> list[r.Response]:
        """Turns the driver until it finds nothing more to do at this time; what it said."""
        while self.driver.do_work():
            pass
        return self.heard()

    def heard(self) -> list[r.Response]:
        said = []
        while (received := self.receiver.receive_next()) is not None:
            message = r.decode_response(*received)
            assert message is not None
            said.append(message)
        return said

    def send(self, make: Callable[[int, int], c.Command], client_id: int | None = None) -> int:
        correlation_id = self.cnc.to_driver.next_correlation_id()
        command = make(self.client_id if client_id is None else client_id, correlation_id)
        assert self.cnc.to_driver.write(command.TYPE_ID, c.encode_command(command))
        return correlation_id

    def do(
        self, make: Callable[[int, int], c.Command], client_id: int | None = None
    ) -> list[r.Response]:
        """Sends a command and turns the driver; what it said."""
        self.send(make, client_id)
        return self.turn()

    def add(
        self, make: Callable[[int, int], c.Command], client_id: int | None = None
    ) -> r.Response:
        """Sends a command that adds something; its answer, which must be no error."""
        correlation_id = self.send(make, client_id)
        self.last = self.turn()
        for message in self.last:
            if getattr(message, "correlation_id", None) == correlation_id:
                assert not isinstance(message, r.OnError), message
                return message
        raise AssertionError(f"no answer to {correlation_id}")

    def pass_time(self, duration_ns: int, step_ns: int = 100 * MS) -> list[r.Response]:
        """Turns the driver while time passes; what it said."""
        said = []
        while duration_ns > 0:
            self.clock.advance_ns(min(step_ns, duration_ns))
            duration_ns -= step_ns
            for client_id in self.alive:
                self.beat(client_id)
            said += self.turn()
        return said

    def beat(self, client_id: int) -> None:
        counter_id = self.cnc.counters.find_by_key_i64(CounterType.CLIENT_HEARTBEAT, client_id)
        if counter_id >= 0:
            self.cnc.counters.set_value(counter_id, self.clock.now_epoch_ms())

    def value(self, counter_id: int) -> int:
        return self.cnc.counters.counter_value(counter_id)

    def counters(self, type_id: int) -> list[int]:
        return [k.counter_id for k in self.cnc.counters if k.type_id == type_id]

    def publication(
        self, channel: str = "aeron:ipc", stream_id: int = 7, **options: int
    ) -> r.PublicationReady:
        return self.add(lambda i, n: c.AddPublication(i, n, stream_id, channel), **options)

    def exclusive(
        self, channel: str = "aeron:ipc", stream_id: int = 7, **options: int
    ) -> r.PublicationReady:
        return self.add(lambda i, n: c.AddExclusivePublication(i, n, stream_id, channel), **options)

    def subscription(
        self, channel: str = "aeron:ipc", stream_id: int = 7, **options: int
    ) -> r.SubscriptionReady:
        return self.add(lambda i, n: c.AddSubscription(i, n, stream_id, channel), **options)

    def remove_publication(self, registration_id: int, flags: int = 0) -> list[r.Response]:
        return self.do(lambda i, n: c.RemovePublication(i, n, registration_id, flags))

    def position_counter(self, subscription: r.SubscriptionReady) -> int:
        """The (first) position counter of a subscription."""
        return self.cnc.counters.find_by_registration_id(
            subscription.correlation_id, CounterType.SUBSCRIBER_POSITION
        )

    def log(self, ready: r.PublicationReady) -> LogBuffers:
        return LogBuffers.open(self.files.open_mapped(ready.log_file))

    def writer(self, ready: r.PublicationReady) -> DirectPublication:
        return DirectPublication(
            self.log(ready),
            self.cnc.mapped,
            self._values_offset + 128 * ready.limit_counter_id,
            exclusive=isinstance(ready, r.ExclusivePublicationReady),
        )

    def reader(
        self, ready: r.PublicationReady, subscription: r.SubscriptionReady
    ) -> DirectSubscription:
        offset = self._values_offset + 128 * self.position_counter(subscription)
        return DirectSubscription(self.log(ready), self.cnc.mapped, offset)

    @property
    def _values_offset(self) -> int:
        lengths = self.cnc.header.lengths
        return 128 + lengths.to_driver + lengths.to_clients + lengths.counter_metadata

    def errors(self) -> list[str]:
        return [seen.text for seen in self.cnc.errors()]


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[..., Bench]]:
    benches: list[Bench] = []

    def start_bench(**options: object) -> Bench:
        benches.append(Bench.start(str(tmp_path / f"aeron-{len(benches)}"), **options))
        return benches[-1]

    yield start_bench
    for bench in benches:
        bench.driver.close()


@pytest.fixture
def bench(start) -> Bench:
    return start()
