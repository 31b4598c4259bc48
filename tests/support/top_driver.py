"""A driver that does not exist: its counters, as a scan of its files would give them."""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from aerolog.tools.top.measurement import (
    ArchiveFigures,
    CycleHistogram,
    DriverFigures,
    DriverState,
    Reading,
    RecordingFigures,
    ReplayFigures,
)
from aerolog.tools.top.stream_tracker import StreamsFollower
from aerolog.tools.views.counter_scan import ScannedCounters
from aerolog.tools.views.counters_snapshot import CountersSnapshot
from aerolog.transport.counters.counter_types import CounterType

if TYPE_CHECKING:
    from aerolog.tools.views.driver_view import LossEntry, ObservedError

START_MS = 1_795_300_000_000
SECOND_NS = 1_000_000_000

SYSTEM_LABELS = {
    0: "Bytes sent",
    1: "Bytes received",
    5: "NAKs sent",
    6: "NAKs received",
    11: "Retransmits sent",
    15: "Errors: version=1.51.0 commit=9773cba37e",
    18: "Sender flow control limits, i.e. back-pressure events",
    26: "Conductor max cycle time doing its work in ns: DEDICATED",
    27: "Conductor work cycle exceeded threshold count: threshold=100ms DEDICATED",
    28: "Sender max cycle time doing its work in ns: DEDICATED",
    29: "Sender work cycle exceeded threshold count: threshold=100ms DEDICATED",
    30: "Receiver max cycle time doing its work in ns: DEDICATED",
    31: "Receiver work cycle exceeded threshold count: threshold=100ms DEDICATED",
    32: "NameResolver max time in ns",
    33: "NameResolver exceeded threshold count: threshold=5s",
}


@dataclass
class MadeUpCounter:
    """One counter of the driver."""

    type_id: int
    label: str
    key: bytes = b""
    value: int = 0
    registration_id: int = 0
    owner_id: int = 0
    reference_id: int = 0


def stream_key(registration_id: int, session_id: int, stream_id: int, channel: str) -> bytes:
    text = channel.encode()[:92]
    return struct.pack("<qiii", registration_id, session_id, stream_id, len(text)) + text


@dataclass
class MadeUpDriver:
    """Counters that tests change, and the readings that they give."""

    counters: dict[int, MadeUpCounter] = field(default_factory=dict)
    aeron_dir: str = "/dev/shm/aeron"
    pid: int = 4711
    start_ms: int = START_MS - 184_000
    state: DriverState = DriverState.LIVE
    heartbeat_age_ms: int = 200
    errors: list[ObservedError] = field(default_factory=list)
    archive_errors: list[ObservedError] = field(default_factory=list)
    losses: list[LossEntry] = field(default_factory=list)
    cycles: list[CycleHistogram] = field(default_factory=list)
    recordings: list[RecordingFigures] = field(default_factory=list)
    replays: list[ReplayFigures] = field(default_factory=list)
    archive: ArchiveFigures | None = None
    stopped: list[RecordingFigures] = field(default_factory=list)
    at_ns: int = 5 * SECOND_NS
    closed: bool = False

    def __post_init__(self) -> None:
        self._follower = StreamsFollower()
        self._incarnation = (self.pid, self.start_ms)
        for counter_id in range(46):
            label = SYSTEM_LABELS.get(counter_id, f"system counter {counter_id}")
            key = struct.pack("<i", counter_id)
            self.counters[counter_id] = MadeUpCounter(0, label, key, 0, counter_id, -1)

    def add(self, counter: MadeUpCounter) -> int:
        counter_id = len(self.counters)
        self.counters[counter_id] = counter
        return counter_id

    def add_of_stream(
        self,
        type_id: int,
        name: str,
        registration_id: int,
        stream: tuple[int, int, str],
        **more: int,
    ) -> int:
        session_id, stream_id, channel = stream
        label = f"{name}: {registration_id} {session_id} {stream_id} {channel}"
        key = stream_key(registration_id, session_id, stream_id, channel)
        return self.add(MadeUpCounter(type_id, label, key, registration_id=registration_id, **more))

    def add_client(self, client_id: int, name: str = "") -> int:
        label = f"client-heartbeat: id={client_id}"
        if name:
            label += f" name={name} version=1.51.0 commit=9773cba37e"
        return self.add(
            MadeUpCounter(11, label, struct.pack("<q", client_id), 0, client_id, client_id)
        )

    def set(self, counter_id: int, value: int) -> None:
        self.counters[counter_id].value = value

    def grow(self, counter_id: int, by: int) -> None:
        self.counters[counter_id].value += by

    def pass_time(self, seconds: float = 1.0) -> None:
        self.at_ns += int(seconds * SECOND_NS)

    def snapshot(self) -> CountersSnapshot:
        ids = sorted(self.counters)
        counters = [self.counters[one] for one in ids]
        labels = [one.label.encode() for one in counters]
        offsets = array("q", [0])
        for label in labels:
            offsets.append(offsets[-1] + len(label))
        scanned = ScannedCounters(
            array("i", ids),
            array("i", [one.type_id for one in counters]),
            array("q", [one.value for one in counters]),
            array("q", [one.registration_id for one in counters]),
            array("q", [one.owner_id for one in counters]),
            array("q", [one.reference_id for one in counters]),
            b"".join(one.key.ljust(112, b"\0") for one in counters),
            offsets,
            b"".join(labels),
        )
        return CountersSnapshot(scanned, taken_ms=self.wall_ms, taken_ns=self.at_ns)

    @property
    def wall_ms(self) -> int:
        return START_MS + self.at_ns // 1_000_000

    def restart(self, pid: int) -> None:
        """Another driver in the same directory, without any stream."""
        self.counters.clear()
        self.pid, self.start_ms, self.state = pid, self.wall_ms, DriverState.LIVE
        self.__post_init__()

    def look(self) -> Reading:
        driver = DriverFigures(
            self.aeron_dir, self.state, self.pid, self.start_ms, self.heartbeat_age_ms
        )
        if self.state is DriverState.ABSENT:
            trouble = "/dev/shm/aeron: no such directory: start a driver there"
            return Reading(
                self.at_ns, self.wall_ms, replace(driver, pid=0, start_ms=0, trouble=trouble)
            )
        snapshot = self.snapshot()
        self._follower.take(snapshot)
        return Reading(
            self.at_ns,
            self.wall_ms,
            driver,
            snapshot,
            self._follower.streams,
            self._follower.before,
            sum(one.type_id == CounterType.CLIENT_HEARTBEAT for one in self.counters.values()),
            tuple(self.errors),
            tuple(self.losses),
            tuple(self.cycles),
            tuple(self.recordings),
            tuple(self.replays),
            self.archive,
            tuple(self.archive_errors),
            tuple(self.stopped),
        )

    def close(self) -> None:
        self.closed = True


@dataclass
class IpcStream:
    """A publication with subscribers in the same driver."""

    driver: MadeUpDriver
    stream_id: int
    session_id: int
    registration_id: int
    channel: str = "aeron:ipc?term-length=64k"
    subscribers: int = 1
    client_id: int = 1

    def __post_init__(self) -> None:
        driver, stream = self.driver, (self.session_id, self.stream_id, self.channel)
        number = self.registration_id
        self.position = driver.add_of_stream(
            12, "pub-pos (concurrent)", number, stream, owner_id=self.client_id
        )
        self.limit = driver.add_of_stream(1, "pub-lmt", number, stream, owner_id=self.client_id)
        self.readers = [
            driver.add_of_stream(
                4, "sub-pos", number + 1 + n, stream, owner_id=self.client_id, reference_id=number
            )
            for n in range(self.subscribers)
        ]
        driver.set(self.limit, 32_768)

    def publish(self, length: int, *, read_by: int | None = None) -> None:
        """Moves the publisher, and so many of the readers with it (all when None)."""
        self.driver.grow(self.position, length)
        moved = self.readers if read_by is None else self.readers[:read_by]
        for reader in moved:
            self.driver.grow(reader, length)
        slowest = min(
            (self.driver.counters[one].value for one in self.readers),
            default=self.driver.counters[self.position].value,
        )
        self.driver.set(self.limit, slowest + 32_768)


@dataclass
class NetworkStream:
    """A network publication, sent and not received in this driver."""

    driver: MadeUpDriver
    stream_id: int
    session_id: int
    registration_id: int
    channel: str = "aeron:udp?endpoint=10.0.0.7:40123"
    client_id: int = 1

    def __post_init__(self) -> None:
        stream = (self.session_id, self.stream_id, self.channel)

        def add(type_id: int, name: str) -> int:
            return self.driver.add_of_stream(
                type_id, name, self.registration_id, stream, owner_id=self.client_id
            )

        self.position = add(12, "pub-pos (exclusive)")
        self.limit = add(1, "pub-lmt")
        self.sent = add(2, "snd-pos")
        self.allowed = add(9, "snd-lmt")
        self.waits = add(13, "snd-bpe")
        self.naks = add(19, "snd-naks-received")
        self.driver.set(self.limit, 8_000_000)
        self.driver.set(self.allowed, 131_072)

    def publish(self, length: int, *, naks: int = 0, waits: int = 0) -> None:
        for counter in (self.position, self.limit, self.sent, self.allowed):
            self.driver.grow(counter, length)
        self.driver.grow(self.naks, naks)
        self.driver.grow(self.waits, waits)
