"""A receiver on a network in memory, a conductor in a few lines, a sender that is scripted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.transport.driver.conductor.subscriber_positions import SubscriberPositions
from aerolog.transport.driver.congestion_control.congestion_control import StaticWindow
from aerolog.transport.driver.counters.system_allocation import allocate_system_counters
from aerolog.transport.driver.receive import receive_stream as states
from aerolog.transport.driver.receive.loss_detector import StaticDelay
from aerolog.transport.driver.receive.receive_endpoint import ReceiveEndpoint
from aerolog.transport.driver.receive.receive_stream import ReceiveStream
from aerolog.transport.driver.receive.receive_transport import ReceiveTransport
from aerolog.transport.driver.receive.receiver import Receiver
from aerolog.transport.driver.receive.receiver_events import CreateImage, ImageReleased
from aerolog.transport.logbuffer.descriptor import LogBuffers, log_file_length
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType
from aerolog.transport.memory.counters import CountersManager
from aerolog.transport.memory.loss_report import LossReport
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.protocol.frame_codec import (
    DataFrame,
    PadFrame,
    SetupFrame,
    decode_frame,
    encode_frame,
)

if TYPE_CHECKING:
    from aerolog.transport.counters.system_counters import SystemCounter
    from aerolog.transport.network.port import Address, DatagramPort
    from aerolog.transport.protocol.frame_codec import AnyFrame

MS = 1_000_000
S = 1_000 * MS
TERM = 65536
MTU = 1408
FIRST = 0x10
SESSION = 0x01020304
STREAM = 1001
RECEIVER_ID = -8574284853424707855
WINDOW = 32768
COUNTERS = 512
METADATA_LENGTH = COUNTERS * 512
VALUES_LENGTH = COUNTERS * 128
IMAGE_TIMER_NS = 1 * S


class Station:
    """What receives: agent, conductor and subscribers of every image, turned by `cycle`."""

    def __init__(self, clock: Any, host: Any) -> None:
        self.clock = clock
        self.host = host
        mapped = MappedFile.anonymous(METADATA_LENGTH + VALUES_LENGTH)
        self.counters = CountersManager(
            mapped, 0, METADATA_LENGTH, METADATA_LENGTH, VALUES_LENGTH, clock
        )
        allocate_system_counters(
            self.counters, mode="INVOKER", commit="", threshold_ns=lambda _: 0, driver_name=None
        )
        self.losses = LossReport(MappedFile.anonymous(65536))
        self.receiver = Receiver(clock, self.counters)
        self.images: list[ReceiveStream] = []
        self.events: list[Any] = []
        self.released: list[ReceiveStream] = []
        self.image_options: dict[str, Any] = {}
        self.refuses = False
        self.rejoin = True
        self.conductor_sleeps = False
        self.endpoint_of: dict[ReceiveStream, ReceiveEndpoint] = {}
        self._subscribers: dict[ReceiveStream, list[int]] = {}
        self._timer_ns = clock.now_ns() + IMAGE_TIMER_NS

    # ---- what it has ------------------------------------------------------------------------

    def count(self, counter: SystemCounter) -> int:
        return self.counters.counter_value(counter)

    def port(self, port: int = 4000, **options: Any) -> DatagramPort:
        return self.host.open_receive_port((self.host.ipv4, port), **options)

    def endpoint(self, *transports: ReceiveTransport, **options: Any) -> ReceiveEndpoint:
        """Known to the receiver from here on; one transport on port 4000 by default."""
        if not transports and not options.get("multi_destination"):
            transports = (ReceiveTransport(0, self.port()),)
        made = ReceiveEndpoint(RECEIVER_ID, transports, **options)
        self.receiver.add_endpoint(made)
        return made

    def listen(self, stream_id: int = STREAM, **options: Any) -> ReceiveEndpoint:
        """An endpoint with a subscription to all sessions of a stream."""
        endpoint = self.endpoint(**options)
        self.receiver.add_subscription(endpoint, stream_id)
        self.cycle()
        return endpoint

    @property
    def image(self) -> ReceiveStream:
        (image,) = self.images
        return image

    # ---- time -------------------------------------------------------------------------------

    def cycle(self, advance_ns: int = 0) -> None:
        """Time passes, then receiver, conductor and receiver once each."""
        if advance_ns:
            self.clock.advance_ns(advance_ns)
        self.receiver.on_cycle()
        if not self.conductor_sleeps:
            self.conduct()
        self.receiver.on_cycle()

    def run(self, duration_ns: int, step_ns: int = MS) -> None:
        for _ in range(duration_ns // step_ns):
            self.cycle(step_ns)

    def conduct(self) -> None:
        now_ns = self.clock.now_ns()
        self.receiver.flush()
        for event in self.receiver.events():
            self.events.append(event)
            if isinstance(event, CreateImage):
                self._create(event)
            elif isinstance(event, ImageReleased):
                self.released.append(event.image)
        for image in self.images:
            image.on_cycle(now_ns)
        if now_ns >= self._timer_ns:
            self._timer_ns = now_ns + IMAGE_TIMER_NS
            self._on_timer(now_ns)

    def _on_timer(self, now_ns: int) -> None:
        for image in list(self.images):
            if image.linger_is_due(now_ns):
                image.enter(states.LINGER, now_ns)
                if self.rejoin:
                    self.receiver.remove_cool_down(
                        self.endpoint_of[image], image.session_id, image.stream_id
                    )
                self.receiver.remove_image(image)
                self.images.remove(image)
            else:
                image.on_timer(now_ns)

    # ---- images -----------------------------------------------------------------------------

    def _create(self, event: CreateImage) -> None:
        if self.refuses:
            self.receiver.refuse_image(event.endpoint, event.session_id, event.stream_id)
            return
        image = self.make_image(event, **self.image_options)
        self.images.append(image)
        self.receiver.add_image(event.endpoint, image)

    def counter(self, value: int = 0) -> int:
        return self.counters.allocate(99, "test", value=value)

    def make_image(
        self, event: CreateImage, *, file: MappedFile | None = None, **options: Any
    ) -> ReceiveStream:
        metadata = LogMetadata(
            correlation_id=7,
            session_id=event.session_id,
            stream_id=event.stream_id,
            initial_term_id=event.initial_term_id,
            term_id=event.active_term_id,
            term_offset=event.term_offset,
            term_length=event.term_length,
            mtu_length=event.mtu,
            type=LogType.IMAGE,
        )
        if file is None:
            file = MappedFile.anonymous(log_file_length(event.term_length, metadata.page_size))
        terms = (event.active_term_id - event.initial_term_id) & 0xFFFFFFFF
        position = terms * event.term_length + event.term_offset
        subscribers = SubscriberPositions(
            self.counters,
            window_limit_timeout_ns=5 * S,
            linger_timeout_ns=5 * S,
            resting_timeout_ns=10 * S,
        )
        ids = [self.counter(position)]
        for counter_id in ids:
            subscribers.add(counter_id, True, self.clock.now_ns())
        image = ReceiveStream(
            LogBuffers.create(file, metadata),
            self.counters,
            event.endpoint,
            self.clock,
            **{
                "transport_index": event.transport_index,
                "control": event.control,
                "rcv_hwm_id": self.counter(),
                "rcv_pos_id": self.counter(),
                "rcv_naks_sent_id": self.counter(),
                "initial_position": position,
                "subscribers": subscribers,
                "feedback_delay": StaticDelay.unicast(),
                "congestion": StaticWindow(131072, event.term_length),
                "loss_report": self.losses,
                "channel": "aeron:udp?endpoint=receiver:4000",
                "source": f"{event.source[0]}:{event.source[1]}",
                "image_liveness_timeout_ns": 2 * S,
                "sparse": False,
                **options,
            },
        )
        self._subscribers[image] = ids
        self.endpoint_of[image] = event.endpoint
        return image

    # ---- subscribers ------------------------------------------------------------------------

    def consumed(self, image: ReceiveStream) -> int:
        return self.counters.counter_value(self._subscribers[image][0])

    def consume_to(self, image: ReceiveStream, position: int) -> None:
        """What a client says, whatever is there."""
        self.counters.set_value(self._subscribers[image][0], position)

    def consume(self, image: ReceiveStream) -> bytes:
        """Read on as a client does; the payloads that were there, joined."""
        position = self.consumed(image)
        found = b""
        while True:
            term = image.logs.term(position // TERM % 3)
            offset = position % TERM
            length = int.from_bytes(term[offset : offset + 4], "little", signed=True)
            if length <= 0:
                break
            if int.from_bytes(term[offset + 6 : offset + 8], "little") == DataFrame.TYPE:
                found += bytes(term[offset + 32 : offset + length])
            position += (length + 31) & ~31
        self.consume_to(image, position)
        return found


class Source:
    """A scripted sender: frames out of one session, and what it hears."""

    def __init__(
        self,
        port: DatagramPort,
        target: Address | None,
        *,
        session_id: int = SESSION,
        stream_id: int = STREAM,
        initial_term_id: int = FIRST,
    ) -> None:
        self.port = port
        self.target = target
        self.session_id = session_id
        self.stream_id = stream_id
        self.initial_term_id = initial_term_id

    def send(self, *datagrams: bytes) -> None:
        assert self.port.send_datagrams(list(datagrams), self.target) == len(datagrams)

    def term_id(self, position: int) -> int:
        term = (self.initial_term_id + position // TERM + 2**31) % 2**32
        return term - 2**31

    def setup(self, position: int = 0, **changes: int) -> None:
        values = {
            "term_offset": position % TERM,
            "session_id": self.session_id,
            "stream_id": self.stream_id,
            "initial_term_id": self.initial_term_id,
            "active_term_id": self.term_id(position),
            "term_length": TERM,
            "mtu": MTU,
            **changes,
        }
        self.send(encode_frame(SetupFrame(**values)))

    def frame(
        self, position: int, length: int, *, fill: int | None = None, **changes: Any
    ) -> bytes:
        """A DATA frame of a length with its header, padded to the alignment."""
        payload = bytes([position // 32 % 251 if fill is None else fill]) * (length - 32)
        data = encode_frame(
            DataFrame(
                position % TERM,
                self.session_id,
                self.stream_id,
                self.term_id(position),
                payload,
                **changes,
            )
        )
        return data + bytes(-len(data) % 32)

    def data(self, position: int, length: int = 64, **changes: Any) -> None:
        self.send(self.frame(position, length, **changes))

    def heartbeat(self, position: int, flags: int = 0xC0) -> None:
        self.send(
            encode_frame(
                DataFrame(
                    position % TERM,
                    self.session_id,
                    self.stream_id,
                    self.term_id(position),
                    flags=flags,
                    frame_length=0,
                )
            )
        )

    def pad(self, position: int, length: int) -> bytes:
        return encode_frame(
            PadFrame(
                position % TERM,
                self.session_id,
                self.stream_id,
                self.term_id(position),
                frame_length=length,
            )
        )

    def heard(self) -> list[AnyFrame]:
        found = []
        while batch := self.port.receive_datagrams():
            found += [decode_frame(data) for data, _, _ in batch]
        return found
