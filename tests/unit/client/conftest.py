"""A driver that a test plays itself, and clients of it that are turned by hand."""

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.logbuffer.descriptor import LogBuffers, log_file_length
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType
from aerolog.transport.memory.cnc import CncFile, CncHeader, CncLengths
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.protocol import commands, responses

TERM_LENGTH = 65536
LENGTHS = CncLengths(65536 + 768, 16384 + 128, 512 * 256, 128 * 256, 65536)


class PlayedDriver:
    """Answers commands as a driver does, unless ``answers`` says otherwise.

    Attributes:
        received: commands in order.
        answers: functions by command class, from a command to the answers.
        silent: answer nothing.
    """

    def __init__(self, folder: Path, clock: ManualClock, liveness_timeout_ns: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.clock = clock
        header = CncHeader(LENGTHS, liveness_timeout_ns, clock.now_epoch_ms(), os.getpid())
        self.cnc = CncFile.create(RealFileSystem(), str(folder), header)
        self.beat()
        self.cnc.publish()
        self.counters = self.cnc.counters_manager(clock)
        self.transmitter = self.cnc.transmitter()
        self.received: list[commands.Command] = []
        self.silent = False
        self.beating = True
        self.logs: dict[int, LogBuffers] = {}
        self.limits: dict[int, int] = {}
        self.images: dict[int, int] = {}
        self._sessions = itertools.count(1000)
        self.answers: dict[type, Callable[[Any], list[responses.Response]]] = {
            commands.AddPublication: self.add_publication,
            commands.AddExclusivePublication: self.add_publication,
            commands.AddSubscription: lambda c: [responses.SubscriptionReady(c.correlation_id, -1)],
            commands.AddCounter: self.add_counter,
        }

    def beat(self) -> None:
        """Store the driver's heartbeat."""
        self.cnc.to_driver.consumer_heartbeat_ms = self.clock.now_epoch_ms()

    def turn(self) -> None:
        """Beat, and answer what was asked."""
        if self.beating:
            self.beat()
        self.cnc.to_driver.read(self._take)

    def _take(self, type_id: int, data: bytes) -> None:
        command = commands.decode_command(type_id, data)
        self.received.append(command)
        if not self.silent and not isinstance(command, commands.ClientClose):
            answer = self.answers.get(
                type(command), lambda c: [responses.OperationSuccess(c.correlation_id)]
            )
            for response in answer(command):
                self.send(response)

    def send(self, response: responses.Response) -> None:
        """Broadcast a message."""
        self.transmitter.send(response.TYPE_ID, responses.encode_response(response))

    def asked(self, kind: type) -> list[Any]:
        """Commands of one kind, in order."""
        return [command for command in self.received if isinstance(command, kind)]

    def make_log(self, registration_id: int, stream_id: int, kind: LogType) -> str:
        """A log file as of a publication."""
        path = str(self.folder / f"{registration_id}.logbuffer")
        mapped = MappedFile.create(path, log_file_length(TERM_LENGTH))
        metadata = LogMetadata(
            correlation_id=registration_id,
            session_id=next(self._sessions),
            stream_id=stream_id,
            initial_term_id=7,
            term_length=TERM_LENGTH,
            mtu_length=1408,
            type=kind,
        )
        self.logs[registration_id] = LogBuffers.create(mapped, metadata)
        return path

    def add_publication(self, command: Any) -> list[responses.Response]:
        """A publication that is connected, with a window of half a term."""
        exclusive = isinstance(command, commands.AddExclusivePublication)
        kind = LogType.EXCLUSIVE_PUBLICATION if exclusive else LogType.PUBLICATION
        number = command.correlation_id
        path = self.make_log(number, command.stream_id, kind)
        logs = self.logs[number]
        logs.is_connected = True
        self.limits[number] = self.counters.allocate(
            CounterType.PUBLISHER_LIMIT, "pub-lmt", registration_id=number, value=TERM_LENGTH // 2
        )
        ready = responses.ExclusivePublicationReady if exclusive else responses.PublicationReady
        ids = (number, number, logs.session_id, command.stream_id, self.limits[number], -1)
        return [ready(*ids, path)]

    def add_counter(self, command: Any) -> list[responses.Response]:
        """A counter, as it was asked for."""
        counter_id = self.counters.allocate(
            command.type_id,
            command.label,
            command.key,
            registration_id=command.correlation_id,
            owner_id=command.client_id,
        )
        return [responses.CounterReady(command.correlation_id, counter_id)]

    def add_heartbeat(self, client_id: int) -> int:
        """The client's heartbeat counter."""
        return self.counters.allocate(
            CounterType.CLIENT_HEARTBEAT,
            f"client-heartbeat: id={client_id}",
            client_id.to_bytes(8, "little", signed=True),
            registration_id=client_id,
            owner_id=client_id,
            value=0,
        )

    def available_image(self, subscription: Any, log_id: int, **changes: Any) -> None:
        """Tell of an image of a log."""
        self.images[log_id] = self.counters.allocate(
            CounterType.SUBSCRIBER_POSITION,
            "sub-pos",
            registration_id=subscription.registration_id,
            reference_id=log_id,
            value=0,
        )
        logs = self.logs[log_id]
        values = {
            "correlation_id": log_id,
            "session_id": logs.session_id,
            "stream_id": logs.stream_id,
            "subscription_registration_id": subscription.registration_id,
            "position_counter_id": self.images[log_id],
            "log_file": logs.file.path,
            "source_identity": "aeron:ipc",
            **changes,
        }
        self.send(responses.AvailableImage(**values))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def driver(tmp_path: Path, clock: ManualClock) -> PlayedDriver:
    return PlayedDriver(tmp_path / "aeron", clock, 5_000_000_000)


@pytest.fixture
def errors() -> list[BaseException]:
    """What the clients reported."""
    return []


@pytest.fixture
def connect(
    driver: PlayedDriver, clock: ManualClock, errors: list[BaseException]
) -> Iterator[Callable[..., Aeron]]:
    """``connect(**options)`` gives a client without a thread that turns the played driver."""
    clients: list[Aeron] = []

    def make(**options: Any) -> Aeron:
        def turn() -> None:
            driver.turn()
            clock.advance_ns(1_000_000)

        values = {"driver_invoker": turn, "clock": clock, "on_error": errors.append, **options}
        clients.append(Aeron(driver.folder, invoker=True, **values))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def aeron(connect: Callable[..., Aeron]) -> Aeron:
    return connect()
