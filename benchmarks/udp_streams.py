"""A thousand streams on one channel: what they cost idle, what they carry, what memory they take.

Two drivers, so that the sending one is measured alone; both are of the kind that is measured.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.network.sockets import open_receive_port, open_send_port
from benchmarks.loop_threads import measured_rate
from benchmarks.native_loops import native
from benchmarks.result import BenchmarkFailedError, Peer, PeerUnavailableError, Result
from benchmarks.udp import FRAGMENT_LIMIT, HOST, STREAM_ID, free_port
from benchmarks.udp_drivers import OURS, PEERS, DriverProcess, driver, peer_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.transport.client import ExclusivePublication, Image

STREAMS = 1000
LENGTH = 1024
BURST = 8
IDLE_S = 10.0
# Setups, first status messages and pages that are touched for the first time are not idleness.
QUIET_S = 10.0
CONNECT_S = 60.0
# What the protocol sends for a silent stream (spec wire-protocol 5.5), and how often.
HEARTBEAT_LENGTH = 32
HEARTBEAT_S = 0.1
STATUS_LENGTH = 36
STATUS_S = 0.2
BARE_S = 5.0
BARE_ROUND = 64
# Everything on one thread: 1,000 streams are many wake-ups.
MODE = "SHARED"
# The widest windows that 64 KiB terms have; all of them together are eight socket buffers.
PROPERTIES = {
    "aeron.term.buffer.length": "64k",
    "aeron.counters.values.buffer.length": "4m",
    "aeron.rcv.initial.window.length": "32k",
    "aeron.socket.so_rcvbuf": "4m",
}


def streams() -> list[Result]:
    """Idle cost, memory and throughput of 1,000 streams."""
    ours = _measure(OURS)
    if ours.idle is None or ours.memory is None or ours.single is None or ours.many is None:
        raise BenchmarkFailedError(ours.failure)
    (java, java_name), (c, c_name) = map(_measure_peer, PEERS)
    calls = "the same datagrams by bare system calls, 64 at a time"

    def beside(name: str, unit: str, field: str, *, smaller_is_better: bool) -> Result:
        figure, peer, more = (getattr(each, field) for each in (ours, java, c))
        others = (Peer(more, c_name),)
        return Result(name, unit, figure, peer, java_name, smaller_is_better, others)

    return [
        beside("udp-streams-idle", "% of a core", "idle", smaller_is_better=True),
        Result("udp-streams-idle-bare", "% of a core", ours.idle, _bare_cost(), calls, True),
        beside("udp-streams-memory", "KiB/stream", "memory", smaller_is_better=True),
        beside("udp-streams-1", "messages/s", "single", smaller_is_better=False),
        beside("udp-streams-1000", "messages/s", "many", smaller_is_better=False),
    ]


def _measure_peer(kind: str) -> tuple[Figures, str]:
    """What could be measured of a peer, and its name with the reason why the rest is missing."""
    name = peer_name(kind, MODE)
    try:
        found = _measure(kind)
    except PeerUnavailableError as error:
        return Figures(), f"{peer_name(kind, '')}: {error}"
    except BenchmarkFailedError as error:
        return Figures(), f"{name} failed: {error}"
    return found, f"{name} failed: {found.failure}" if found.failure else name


@dataclass(slots=True)
class Figures:
    """What was measured before something failed.

    Attributes:
        idle: CPU time of the sending driver with all streams connected and silent, % of a core.
        memory: anonymous KiB of the sending driver a stream.
        single: messages a second over one stream.
        many: messages a second over all streams together.
        failure: why the rest is missing.
    """

    idle: float | None = None
    memory: float | None = None
    single: float | None = None
    many: float | None = None
    failure: str = ""


def _measure(kind: str) -> Figures:
    found = Figures()
    with _two_drivers(kind) as (sending, receiving):
        channel = f"aeron:udp?endpoint={HOST}:{free_port()}"
        try:
            with _connected(sending, receiving, channel, 1) as (publications, images):
                found.single = _throughput(kind, publications, images)
            before = sending.anonymous_bytes
            with _connected(sending, receiving, channel, STREAMS) as (publications, images):
                time.sleep(QUIET_S)
                found.memory = (sending.anonymous_bytes - before) / STREAMS / 1024
                busy = sending.cpu_seconds
                time.sleep(IDLE_S)
                found.idle = (sending.cpu_seconds - busy) / IDLE_S * 100
                found.many = _throughput(kind, publications, images)
        except BenchmarkFailedError as error:
            found.failure = str(error)
    return found


def _bare_cost() -> float:
    """Processor time that the datagrams of idle streams take without a driver, % of a core.

    The sender of 1,000 silent streams sends a heartbeat each a tenth of a second, and hears a
    status message each a fifth; here in rounds as long as one system call takes.
    """
    bare = native("bare")
    with ExitStack() as stack:
        ports = []
        for _ in range(2):
            receiving = stack.enter_context(open_receive_port((HOST, 0)))
            sending = stack.enter_context(open_send_port(receiving.local_address, (HOST, 0)))
            ports.append((sending, receiving))
        (beat_out, beat_in), (status_out, status_in) = ports
        beats = _beat(bare, beat_out, status_in, HEARTBEAT_LENGTH, STREAMS / HEARTBEAT_S)
        statuses = _beat(bare, status_out, beat_in, STATUS_LENGTH, STREAMS / STATUS_S)
        other = threading.Thread(target=statuses.run, args=(BARE_S,))
        other.start()
        busy = time.thread_time()
        beats.run(BARE_S)
        busy = time.thread_time() - busy
        other.join()
    wanted = BARE_S * STREAMS / STATUS_S
    if beats.received < 0.9 * wanted:
        raise BenchmarkFailedError(f"{beats.received} of {wanted:.0f} status messages came")
    return busy / BARE_S * 100


def _beat(bare: Any, sending: Any, receiving: Any, length: int, rate: float) -> Any:
    interval_ns = int(BARE_ROUND / rate * 1e9)
    return bare.Beat(
        sending, receiving, length=length, each_turn=BARE_ROUND, interval_ns=interval_ns
    )


@contextmanager
def _two_drivers(kind: str) -> Iterator[tuple[DriverProcess, DriverProcess]]:
    with driver(kind, MODE, PROPERTIES) as sending, driver(kind, MODE, PROPERTIES) as receiving:
        yield sending, receiving


@contextmanager
def _connected(
    sending: DriverProcess, receiving: DriverProcess, channel: str, count: int
) -> Iterator[tuple[list[ExclusivePublication], list[Image]]]:
    """Publications of as many sessions of one stream, and their images in the same order."""
    with ExitStack() as stack:
        sender = stack.enter_context(Aeron(sending.aeron_dir))
        receiver = stack.enter_context(Aeron(receiving.aeron_dir))
        subscription = stack.enter_context(receiver.add_subscription(channel, STREAM_ID + count))
        publications = [
            stack.enter_context(sender.add_exclusive_publication(channel, STREAM_ID + count))
            for _ in range(count)
        ]
        deadline = time.monotonic() + CONNECT_S
        while len(subscription.images) < count or not all(p.is_connected for p in publications):
            if time.monotonic() > deadline:
                raise BenchmarkFailedError(f"{len(subscription.images)} of {count} images")
            time.sleep(0.05)
        images = {image.session_id: image for image in subscription.images}
        yield publications, [images[each.session_id] for each in publications]


def _throughput(kind: str, publications: list[ExclusivePublication], images: list[Image]) -> float:
    loops = native("many")
    publisher = loops.ManyPublisher(publications, LENGTH, BURST, idle_strategy("backoff"))
    subscriber = loops.ManySubscriber(images, LENGTH, FRAGMENT_LIMIT, idle_strategy("backoff"))
    return measured_rate(f"{kind}, {len(publications)} streams", publisher, subscriber)
