"""A driver on a simulated network that the test turns by hand, and senders written by hand."""

from dataclasses import dataclass

import pytest
from driver_bench import THERE, NetworkBench, bench, start

from aerolog.transport.network.port import Address, DatagramPort
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import frame_codec as f
from aerolog.transport.protocol import responses as r

__all__ = ["bench", "start"]  # fixtures

S = 1_000_000_000
TERM = 64 * 1024
STREAM = 7
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


class Bench(NetworkBench):
    """A driver, the network it is on, and another host."""

    OPTIONS = OPTIONS

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


@pytest.fixture
def bench_class() -> type[Bench]:
    return Bench
