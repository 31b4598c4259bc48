"""A driver on a simulated network that the test turns by hand, and senders written by hand."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

import pytest

from aerolog.testing import FakeFileSystem, FakeHost, FakeNetwork, ManualClock
from aerolog.transport.driver import MediaDriver
from aerolog.transport.driver.stream_counters import CounterType
from aerolog.transport.memory.broadcast import BroadcastReceiver
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.memory.counters import CounterSnapshot
from aerolog.transport.network import frame_codec as f
from aerolog.transport.network.port import Address, DatagramPort
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

MS = 1_000_000
S = 1_000_000_000
TERM = 64 * 1024
STREAM = 7
HERE = "10.0.0.1"
THERE = "10.0.0.2"
ROUNDS = 10_000

OPTIONS = {
    "threading_mode": "INVOKER",
    "counters_buffer_length": "1m",
    "ipc_term_buffer_length": "64k",
    "term_buffer_length": "64k",
    "image_liveness_timeout": "2s",
    "timer_interval": "100ms",
    "driver_async_executor_enabled": False,
}


@dataclass
class Source:
    """The sending side of one session, frame by frame."""

    port: DatagramPort
    session_id: int = 77
    stream_id: int = STREAM
    initial_term_id: int = 5
    mtu: int = 1408
    is_heard: bool = True  # somebody listens where it sends to

    def send(self, frame: f.AnyFrame) -> None:
        self._send(f.encode_frame(frame))

    def _send(self, datagram: bytes) -> None:
        assert self.port.send_datagrams([datagram]) == 1 or not self.is_heard

    def setup(self, position: int = 0, flags: int = 0) -> None:
        self.send(
            f.SetupFrame(
                position % TERM,
                self.session_id,
                self.stream_id,
                self.initial_term_id,
                self.initial_term_id + position // TERM,
                TERM,
                self.mtu,
                flags=flags,
            )
        )

    def data(self, position: int, payload: bytes = b"", flags: int = 0xC0) -> int:
        """Sends one frame, aligned as it travels; returns the position behind it."""
        frame = f.DataFrame(
            position % TERM,
            self.session_id,
            self.stream_id,
            self.initial_term_id + position // TERM,
            payload,
            flags,
        )
        encoded = f.encode_frame(frame)
        encoded += bytes(-len(encoded) % 32)
        self._send(encoded)
        return position + len(encoded)

    def heartbeat(self, position: int, flags: int = 0xC0) -> None:
        self.send(
            f.DataFrame(
                position % TERM,
                self.session_id,
                self.stream_id,
                self.initial_term_id + position // TERM,
                flags=flags,
                frame_length=0,
            )
        )

    def heard(self, kind: type[f.Frame] | None = None) -> list[f.AnyFrame]:
        """What came back since the last call, of one kind or of any."""
        frames = [f.decode_frame(datagram) for datagram, *_ in self.port.receive_datagrams()]
        return [frame for frame in frames if kind is None or isinstance(frame, kind)]


@dataclass
class Bench:
    """A driver, the network it is on, and one raw client that stays alive by itself."""

    driver: MediaDriver
    clock: ManualClock
    files: FakeFileSystem
    network: FakeNetwork
    there: FakeHost
    cnc: CncFile
    receiver: BroadcastReceiver
    client_id: int
    alive: list[int] = field(default_factory=list)
    last: list[r.Response] = field(default_factory=list)  # what `add` heard

    @classmethod
    def start(cls, directory: str, **options: object) -> "Bench":
        clock = ManualClock()
        files = FakeFileSystem()
        network = FakeNetwork(clock, seed=3)
        here, there = network.host(HERE, "::1"), network.host(THERE)
        driver = MediaDriver(
            directory,
            clock=clock,
            file_system=files,
            network=here,
            random_source=Random(7),
            **{**OPTIONS, **options},
        )
        cnc = CncFile.open(files, driver.aeron_dir, writable=True)
        client_id = cnc.to_driver.next_correlation_id()
        return cls(
            driver, clock, files, network, there, cnc, cnc.receiver(), client_id, [client_id]
        )

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

    def pass_time(self, duration_ns: int, step_ns: int = 20 * MS) -> list[r.Response]:
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

    def counters(self, type_id: int) -> list[CounterSnapshot]:
        return [k for k in self.cnc.counters if k.type_id == type_id]

    def counter(self, type_id: int) -> CounterSnapshot:
        (found,) = self.counters(type_id)
        return found

    def types(self) -> list[int]:
        """Types of the counters that are not the driver's own, in the order of their ids."""
        return [k.type_id for k in self.cnc.counters if k.type_id not in {0, 11}]

    def subscription(
        self, channel: str, stream_id: int = STREAM, **options: int
    ) -> r.SubscriptionReady:
        return self.add(lambda i, n: c.AddSubscription(i, n, stream_id, channel), **options)

    def remove(self, subscription: r.SubscriptionReady) -> list[r.Response]:
        return self.do(lambda i, n: c.RemoveSubscription(i, n, subscription.correlation_id))

    def destination(self, subscription: r.SubscriptionReady, channel: str) -> r.Response:
        return self.add(
            lambda i, n: c.AddReceiveDestination(i, n, subscription.correlation_id, channel)
        )

    def source(self, to: Address, *, local: Address = (THERE, 0), **options: int) -> Source:
        """A sender at another host, not yet heard of."""
        return Source(self.there.open_send_port(to, local), **options)

    def image(self, source: Source, position: int = 0, flags: int = 0) -> r.AvailableImage:
        """Has a source begin; the image that the driver tells one subscription of."""
        source.setup(position, flags)
        (available,) = self.turn()
        assert isinstance(available, r.AvailableImage), available
        return available

    def consume(self, image: r.AvailableImage, position: int) -> list[r.Response]:
        """Says that the subscriber has read to a position."""
        self.cnc.counters.set_value(image.position_counter_id, position)
        return self.turn()

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
