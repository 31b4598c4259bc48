"""A driver on a simulated network that the test turns by hand, and receivers written by hand."""

from dataclasses import dataclass, field

import pytest
from driver_bench import MS, THERE, NetworkBench, bench, start

from aerolog.testing.direct_log import DirectPublication
from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.network.port import Address, DatagramPort
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import frame_codec as f
from aerolog.transport.protocol import responses as r

__all__ = ["bench", "start"]  # fixtures

S = 1_000_000_000
TERM = 64 * 1024
STREAM = 7
PORT = 4000
CHANNEL = f"aeron:udp?endpoint={THERE}:{PORT}"

OPTIONS = {
    "threading_mode": "INVOKER",
    "counters_buffer_length": "1m",
    "ipc_term_buffer_length": "64k",
    "term_buffer_length": "64k",
    "publication_linger_timeout": "2s",
    "timer_interval": "100ms",
    "driver_async_executor_enabled": False,
}


@dataclass
class Listener:
    """The receiving side of one channel, frame by frame."""

    port: DatagramPort
    receiver_id: int = 4711
    window: int = 32 * 1024
    seen: list[tuple[f.AnyFrame, Address]] = field(default_factory=list)

    def heard(self, kind: type[f.Frame] | None = None) -> list[f.AnyFrame]:
        """What came since the last call, of one kind or of any; `seen` has where it came from."""
        self.seen = [
            (frame, source)
            for datagram, source, _ in self.port.receive_datagrams()
            for frame in f.decode_frames(datagram)
        ]
        return [frame for frame, _ in self.seen if kind is None or isinstance(frame, kind)]

    def setup(self) -> f.SetupFrame:
        """The latest SETUP of those that came since the last call; there must be one."""
        return self.heard(f.SetupFrame)[-1]

    @property
    def source(self) -> Address:
        """Where the last frame came from."""
        return self.seen[-1][1]

    def send(self, frame: f.AnyFrame, to: Address | None = None) -> None:
        destination = self.source if to is None else to
        assert self.port.send_datagrams([f.encode_frame(frame)], destination) == 1

    def status(
        self, setup: f.SetupFrame, position: int = 0, flags: int = 0, to: Address | None = None
    ) -> None:
        """Tells the sender of a setup how far it was received."""
        self.send(
            f.StatusMessage(
                setup.session_id,
                setup.stream_id,
                setup.initial_term_id + position // TERM,
                position % TERM,
                self.window,
                self.receiver_id,
                flags=flags,
            ),
            to,
        )


class Bench(NetworkBench):
    """A driver and two hosts: where it is, and another."""

    OPTIONS = OPTIONS

    def publication(
        self, channel: str = CHANNEL, stream_id: int = STREAM, **options: int
    ) -> r.PublicationReady:
        return self.add(lambda i, n: c.AddPublication(i, n, stream_id, channel), **options)

    def exclusive(
        self, channel: str = CHANNEL, stream_id: int = STREAM, **options: int
    ) -> r.PublicationReady:
        return self.add(lambda i, n: c.AddExclusivePublication(i, n, stream_id, channel), **options)

    def spy(
        self, channel: str = CHANNEL, stream_id: int = STREAM, **options: int
    ) -> r.SubscriptionReady:
        channel = f"aeron-spy:{channel}"
        return self.add(lambda i, n: c.AddSubscription(i, n, stream_id, channel), **options)

    def remove(self, ready: r.PublicationReady, flags: int = 0) -> list[r.Response]:
        return self.do(lambda i, n: c.RemovePublication(i, n, ready.correlation_id, flags))

    def destination(self, ready: r.PublicationReady, channel: str) -> int:
        """Adds a destination; its id."""
        added = self.add(lambda i, n: c.AddDestination(i, n, ready.registration_id, channel))
        return added.correlation_id

    def listener(self, address: Address = (THERE, PORT), **options: int) -> Listener:
        """A receiver at another host that has not said anything yet."""
        return Listener(self.there.open_receive_port(address), **options)

    def connect(self, listener: Listener) -> f.SetupFrame:
        """Has a listener answer the setup of the publication; the setup."""
        self.pass_time(200 * MS)
        setup = listener.setup()
        listener.status(setup)
        self.turn()
        return setup

    def log(self, ready: r.PublicationReady) -> LogBuffers:
        return LogBuffers.open(self.files.open_mapped(ready.log_file))

    def writer(self, ready: r.PublicationReady) -> DirectPublication:
        lengths = self.cnc.header.lengths
        values = 128 + lengths.to_driver + lengths.to_clients + lengths.counter_metadata
        return DirectPublication(
            self.log(ready),
            self.cnc.mapped,
            values + 128 * ready.limit_counter_id,
            exclusive=isinstance(ready, r.ExclusivePublicationReady),
        )

    def position_of(self, ready: r.PublicationReady, type_id: int) -> int:
        """The value of a publication's counter of some type."""
        counter_id = self.cnc.counters.find_by_registration_id(ready.registration_id, type_id)
        assert counter_id >= 0
        return self.value(counter_id)


@pytest.fixture
def bench_class() -> type[Bench]:
    return Bench
