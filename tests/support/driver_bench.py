"""A driver that the test turns by hand, at the time the test says, and a client that sees all."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, Self

import pytest

from aerolog.testing import FakeFileSystem, FakeHost, FakeNetwork, ManualClock
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.driver import MediaDriver
from aerolog.transport.memory.broadcast import BroadcastReceiver
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.counters import CounterSnapshot
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

MS = 1_000_000
ROUNDS = 10_000
HERE = "10.0.0.1"
THERE = "10.0.0.2"


@dataclass(kw_only=True)
class RawBench:
    """A driver, its clock and disk, and one raw client that stays alive by itself."""

    STEP_NS: ClassVar[int] = 20 * MS  # of passing time

    driver: MediaDriver
    clock: ManualClock
    files: FakeFileSystem
    cnc: CncFile = field(init=False)
    receiver: BroadcastReceiver = field(init=False)
    client_id: int = field(init=False)
    alive: list[int] = field(init=False)
    last: list[r.Response] = field(default_factory=list)  # what `add` heard

    def __post_init__(self) -> None:
        self.cnc = CncFile.open(self.files, self.driver.aeron_dir, writable=True)
        self.client_id = self.cnc.to_driver.next_correlation_id()
        self.receiver = self.cnc.receiver()
        self.alive = [self.client_id]

    def turn(self) -> list[r.Response]:
        """Turns the driver until it finds nothing more to do at this time; what it said."""
        idle = rounds = 0
        while idle < 3:  # what one agent hands over, another one finds in the next round
            idle = 0 if self.driver.do_work() else idle + 1
            rounds += 1
            assert rounds < ROUNDS, "the driver finds work without end at one moment"
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
        """Sends a command; its answer, which must be no error."""
        correlation_id = self.send(make, client_id)
        self.last = self.turn()
        for message in self.last:
            if getattr(message, "correlation_id", None) == correlation_id:
                assert not isinstance(message, r.OnError), message
                return message
        raise AssertionError(f"no answer to {correlation_id}")

    def refused(self, make: Callable[[int, int], c.Command]) -> tuple[int, str]:
        """Sends a command that has to fail; code and text of the error."""
        (error,) = self.do(make)
        assert isinstance(error, r.OnError), error
        return error.code, error.message

    def pass_time(self, duration_ns: int, step_ns: int | None = None) -> list[r.Response]:
        """Turns the driver while time passes; what it said."""
        said = []
        step_ns = step_ns or self.STEP_NS
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

    def counters(self, type_id: int) -> list[CounterSnapshot]:
        return [k for k in self.cnc.counters if k.type_id == type_id]

    def counter(self, type_id: int) -> CounterSnapshot:
        (found,) = self.counters(type_id)
        return found

    def types(self) -> list[int]:
        """Types of the counters that are not the driver's own, in the order of their ids."""
        return [
            k.type_id
            for k in self.cnc.counters
            if k.type_id not in {CounterType.SYSTEM, CounterType.CLIENT_HEARTBEAT}
        ]

    def errors(self) -> list[str]:
        return [seen.text for seen in self.cnc.errors()]


@dataclass(kw_only=True)
class NetworkBench(RawBench):
    """A driver on a simulated network, and another host there."""

    OPTIONS: ClassVar[dict[str, object]]

    network: FakeNetwork
    here: FakeHost
    there: FakeHost

    @classmethod
    def start(cls, directory: str, **options: object) -> Self:
        clock = ManualClock()
        files = FakeFileSystem()
        network = FakeNetwork(clock, seed=3)
        here, there = network.host(HERE, "::1"), network.host(THERE)
        driver = MediaDriver(
            directory,
            clock=clock,
            file_system=files,
            random_source=Random(7),
            **{**cls.OPTIONS, "network": here, **options},
        )
        return cls(driver=driver, clock=clock, files=files, network=network, here=here, there=there)


@pytest.fixture
def start(bench_class, tmp_path) -> Iterator[Callable[..., RawBench]]:
    """Starts benches of the class that the folder's tests use."""
    benches: list[RawBench] = []

    def start_bench(**options: object) -> RawBench:
        benches.append(bench_class.start(str(tmp_path / f"aeron-{len(benches)}"), **options))
        return benches[-1]

    yield start_bench
    for bench in benches:
        bench.driver.close()


@pytest.fixture
def bench(start) -> RawBench:
    return start()
