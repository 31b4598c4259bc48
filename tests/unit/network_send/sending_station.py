"""A sender with scripted receivers, turned by hand: streams, their writers, their ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.testing.direct_log import DirectPublication
from aerolog.testing.network import FakeNetwork
from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.flow_control.flow_control import FlowControl, MaxFlowControl
from aerolog.transport.driver.send.retransmit_handler import RetransmitHandler
from aerolog.transport.driver.send.send_endpoint import SendDestinations, SendEndpoint
from aerolog.transport.driver.send.send_stream import SendStream
from aerolog.transport.driver.send.sender import Sender
from aerolog.transport.logbuffer.descriptor import LogBuffers, log_file_length
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType
from aerolog.transport.memory.counters import CountersManager
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.protocol.frame_codec import StatusMessage, encode_frame

if TYPE_CHECKING:
    from aerolog.transport.driver.send.sender_events import SenderEvent

MS = 1_000_000
TERM = 65536
FIRST = -127691276
SESSION = -188434806
STREAM = 1001
COUNTERS = 512
ADMIN_ACTION = -3
VALUE_LENGTH = 128
METADATA_LENGTH = 512
RECEIVER_ID = 0x1122334455667788


class Stream:
    """A publication with its writer, and what its receivers say."""

    def __init__(self, bench: Bench, endpoint: SendEndpoint, **options: Any) -> None:
        self.bench = bench
        term_length = options.pop("term_length", TERM)
        mtu = options.pop("mtu", 1408)
        self.session_id = options.pop("session_id", SESSION)
        self.stream_id = options.pop("stream_id", STREAM)
        self.initial_term_id = options.pop("initial_term_id", FIRST)
        position = options.get("initial_position", 0)
        exclusive = options.pop("exclusive", False)
        flow_control: FlowControl = options.pop("flow_control", None) or MaxFlowControl(term_length)
        metadata = LogMetadata(
            correlation_id=7,
            session_id=self.session_id,
            stream_id=self.stream_id,
            initial_term_id=self.initial_term_id,
            term_id=_int32(self.initial_term_id + position // term_length),
            term_offset=position % term_length,
            term_length=term_length,
            mtu_length=mtu,
            type=LogType.EXCLUSIVE_PUBLICATION if exclusive else LogType.PUBLICATION,
        )
        file = options.pop("file", None) or MappedFile.anonymous(
            log_file_length(term_length, metadata.page_size)
        )
        self.logs = LogBuffers.create(file, metadata)
        names = ("pub_pos_id", "pub_lmt_id", "snd_pos_id", "snd_lmt_id", "snd_bpe_id")
        self.ids = {
            name: bench.counters.allocate(CounterType.PUBLISHER_LIMIT, name)
            for name in (*names, "snd_naks_id")
        }
        retransmit = RetransmitHandler(term_length, is_group=endpoint.is_group)
        self.publication = SendStream(
            self.logs,
            bench.counters,
            endpoint,
            flow_control,
            options.pop("retransmit", retransmit),
            **self.ids,
            exclusive=exclusive,
            sparse=options.pop("sparse", False),
            initial_position=options.pop("initial_position", 0),
            window_length=options.pop("window_length", term_length // 2),
            unblock_timeout_ns=options.pop("unblock_timeout_ns", 15_000 * MS),
            now_ns=bench.clock.now_ns(),
            **options,
        )
        self.writer = DirectPublication(
            self.logs, bench.values, self.ids["pub_lmt_id"] * VALUE_LENGTH, exclusive=exclusive
        )
        bench.streams.append(self)
        bench.sender.add_publication(self.publication)

    def counter(self, name: str) -> int:
        """Value of one of its counters, such as ``snd_pos``."""
        return self.bench.counters.counter_value(self.ids[f"{name}_id"])

    def status(
        self,
        position: int,
        window: int,
        *,
        receiver_id: int = RECEIVER_ID,
        flags: int = 0,
        tag: int | None = None,
    ) -> bytes:
        """A status message of a receiver."""
        return encode_frame(
            StatusMessage(
                self.session_id,
                self.stream_id,
                _int32(self.initial_term_id + position // self.logs.term_length),
                position % self.logs.term_length,
                window,
                receiver_id,
                tag,
                flags,
            )
        )

    def offer(self, *messages: bytes) -> None:
        """Publish; every message must be taken."""
        for message in messages:
            result = self.writer.offer(message)
            if result == ADMIN_ACTION:
                result = self.writer.offer(message)
            assert result > 0


def _int32(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


class Bench:
    """A sender on a simulated network, turned by hand."""

    def __init__(self, clock: Any = None, **options: Any) -> None:
        self.clock = clock or ManualClock()
        # The values first, so that a writer finds its limit by the counter's id.
        values_length, metadata_length = COUNTERS * VALUE_LENGTH, COUNTERS * METADATA_LENGTH
        self.values = MappedFile.anonymous(values_length + metadata_length)
        self.counters = CountersManager(
            self.values, values_length, metadata_length, 0, values_length, self.clock
        )
        for counter in SystemCounter:
            self.counters.allocate(CounterType.SYSTEM, counter.name)
        self.network = FakeNetwork(self.clock)
        self.here = self.network.host("10.0.0.1")
        self.there = self.network.host("10.0.0.2")
        self.sender = Sender(self.clock, self.counters, **options)
        self.streams: list[Stream] = []
        self.events: list[SenderEvent] = []

    def count(self, counter: SystemCounter) -> int:
        """Value of a system counter."""
        return self.counters.counter_value(counter)

    def turn(self, times: int = 1) -> None:
        """The conductor's and the sender's duty cycles, and the conductor's share of events."""
        for _ in range(times):
            for stream in self.streams:
                stream.publication.on_cycle(self.clock.now_ns())
            self.sender.on_cycle()
            self.sender.flush()
            self.events += self.sender.events()

    def wait(self, milliseconds: float) -> None:
        """Turn once a millisecond for so long."""
        for _ in range(int(milliseconds)):
            self.clock.advance_ns(MS)
            self.turn()

    def endpoint(self, port: Any, **options: Any) -> SendEndpoint:
        """An endpoint that the sender has."""
        endpoint = SendEndpoint(port, **options)
        self.sender.add_endpoint(endpoint)
        return endpoint

    def unicast(self, **options: Any) -> tuple[Any, Stream]:
        """A receiver's port on the other host, and a publication to it."""
        receiver = self.there.open_receive_port((self.there.ipv4, 21001))
        remote = receiver.local_address
        port = self.here.open_send_port(remote, ("0.0.0.0", 0))
        return receiver, Stream(self, self.endpoint(port, remote=remote), **options)

    def multi(self, mode: int, **options: Any) -> tuple[SendEndpoint, int, Stream]:
        """A multi-destination endpoint, its counter and a publication of it."""
        counter_id = self.counters.allocate(CounterType.MDC_DESTINATIONS, "mdc-num-dest")
        destinations = SendDestinations(mode, counters=self.counters, counter_id=counter_id)
        port = self.here.open_send_port(None, (self.here.ipv4, 21000))
        endpoint = self.endpoint(port, destinations=destinations)
        return endpoint, counter_id, Stream(self, endpoint, **options)

    def address_of(self, endpoint: SendEndpoint) -> tuple[str, int]:
        """Where its control frames are sent to, from the other host."""
        return self.here.ipv4, endpoint.port.local_address[1]

    def answer(self, receiver: Any, stream: Stream, *frames: bytes) -> None:
        """A receiver sends control frames; the sender has heard them after this."""
        to = self.address_of(stream.publication.endpoint)
        assert receiver.send_datagrams(frames, to) == len(frames)
        self.turn(2)

    def heard(self, receiver: Any) -> list[bytes]:
        """All datagrams that came to a receiver since the last call."""
        found: list[bytes] = []
        while batch := receiver.receive_datagrams():
            found += [datagram for datagram, _, _ in batch]
        return found
