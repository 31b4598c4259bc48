"""Two drivers, the reference's and ours, that are asked the same, and are alike after each step.

Which driver is further ahead when one looks depends on the machine. What both leave is therefore
looked at until it is equal, and a difference is one that stays.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from left_driver import DriverDirectory
from left_files import Run, assert_same_lines
from peer.raw_client import RawClient
from peer.servers import Server, ServerSpec, start
from peer.streams import free_port
from shared_memory import memory_path
from waits import wait_until

from aerolog.transport.client import Aeron
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

if TYPE_CHECKING:
    from collections.abc import Callable


# Nothing but commands and datagrams changes what there is: no time runs out while a script plays.
LONG = "1000s"
PROPERTIES = {
    "aeron.client.liveness.timeout": LONG,
    "aeron.publication.unblock.timeout": "1001s",
    "aeron.counters.free.to.reuse.timeout": LONG,
    "aeron.image.liveness.timeout": LONG,
    "aeron.publication.connection.timeout": LONG,
    "aeron.timer.interval": "20ms",
    "aeron.counters.buffer.length": "1m",
    "aeron.nak.unicast.delay": "1ms",
}
PORTS = 16
CLIENT_HEARTBEAT = CounterType.CLIENT_HEARTBEAT
ALIKE_S = 30.0
#: Said when time has come, in no certain order among the answers.
EVENTS = (
    r.AvailableImage,
    r.UnavailableImage,
    r.UnavailableCounter,
    r.ClientTimeout,
    r.OnPublicationError,
)


class Side:
    """One of the drivers.

    Attributes:
        server: the process.
        run: what is its own.
        raw: clients that send commands and never poll.
        aeron: a client for streams.
        answers: all that was answered, in order.
        events: all that the driver has said by itself.
    """

    def __init__(self, implementation: str, ports: list[int], opened: ExitStack) -> None:
        aeron_dir = memory_path()
        opened.callback(shutil.rmtree, aeron_dir, ignore_errors=True)
        self.ports = ports
        self.server: Server = start(
            implementation, ServerSpec("driver", aeron_dir, properties=PROPERTIES)
        )
        opened.callback(self.server.process.stop)
        self.run = Run(pids={self.server.pid}, texts={str(aeron_dir): "<directory>"})
        for index, port in enumerate(ports):
            for host in ("localhost", "127.0.0.1"):
                self.run.texts[f"{host}:{port}"] = f"{host}:<{index}>"
        self._receiver = CncFile.connect(str(aeron_dir)).receiver()
        self.raw = [RawClient(str(aeron_dir))]
        self.aeron = opened.enter_context(Aeron(str(aeron_dir), driver_timeout=60.0, name="data"))
        self._copy = Path(f"{aeron_dir}-copy")
        self._copy.mkdir()
        opened.callback(shutil.rmtree, self._copy)
        self.directory = DriverDirectory(aeron_dir, self.run)
        self.streams: list[Any] = []
        self.answers: list[str] = []
        self.events: list[str] = []

    def listen(self) -> list[r.Response]:
        """What was said since the last call; it is written down."""
        found = []
        while (received := self._receiver.receive_next()) is not None:
            message = r.decode_response(*received)
            if isinstance(message, r.NextAvailableSessionId):
                continue
            assert message is not None, received
            found.append(message)
            lines = self.events if isinstance(message, EVENTS) else self.answers
            lines.append(self._text(message))
        return found

    def _text(self, message: r.Response) -> str:
        # Whose id a receiver has, and which port the kernel gave, each driver chooses.
        shown = [
            f"{field.name}={getattr(message, field.name)!r}"
            for field in fields(message)
            if field.name not in {"receiver_id", "port"}
        ]
        return self.run.text(" ".join([type(message).__name__, *shown]))

    def do(self, client: int, make: Callable[[int, int], c.Command]) -> r.Response:
        """Send a command; its answer."""
        asked: list[c.Command] = []

        def make_and_keep(client_id: int, correlation_id: int) -> c.Command:
            asked.append(make(client_id, correlation_id))
            return asked[0]

        correlation_id = self.raw[client].send(make_and_keep)
        self.answers.append(f"-- {self.run.text(str(asked[0]))}")

        def answer() -> r.Response | None:
            for message in self.listen():
                is_answer = not isinstance(message, EVENTS)
                if is_answer and getattr(message, "correlation_id", None) == correlation_id:
                    return message
            return None

        found: r.Response = wait_until(answer, f"an answer to {make}")
        return found

    def knows(self, client: int) -> int:
        """The counter with a client's heartbeat; negative when the driver does not know it."""
        raw = self.raw[client]
        return raw.cnc.counters.find_by_key_i64(CLIENT_HEARTBEAT, raw.client_id)

    def stop(self) -> None:
        """End clients and driver in good order."""
        self.streams.clear()
        self.aeron.close()
        for client in self.raw:
            client.send(c.ClientClose)
        counters = self.raw[0].cnc.counters
        wait_until(
            lambda: not any(each.type_id == CLIENT_HEARTBEAT for each in counters), "their ends"
        )
        assert self.server.process.stop() == 0

    def copied(self) -> DriverDirectory:
        """The directory as it is now, for tools that look at it one after the other."""
        for name in ("cnc.dat", "loss-report.dat"):
            shutil.copyfile(Path(self.server.aeron_dir, name), self._copy / name)
        return DriverDirectory(self._copy, self.run)

    def left(self) -> dict[str, list[str]]:
        """What the driver has said and has in its directory."""
        self.listen()
        said = {"answers": self.answers, "events": sorted(self.events)}
        return {**said, **self.directory.left()}


class DriverPair:
    """Both drivers; a context manager that ends them."""

    def __init__(self) -> None:
        self._opened = ExitStack()
        self.sides: list[Side] = []

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            for implementation in ("reference", "ours"):
                ports = [free_port() for _ in range(PORTS)]
                self.sides.append(Side(implementation, ports, opened))
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    @property
    def theirs(self) -> Side:
        """The reference's."""
        return self.sides[0]

    @property
    def ours(self) -> Side:
        """Ours."""
        return self.sides[1]

    def each(self, step: Callable[[Side], Any]) -> list[Any]:
        """Take a step on both; what each has given."""
        return [step(side) for side in self.sides]

    def alike(self, step: str, left: Callable[[Side], dict[str, list[str]]] = Side.left) -> None:
        """Wait until both have left the same; fails with the first subject that stays different."""

        def is_alike() -> bool:
            nonlocal last
            last = self.each(left)
            return bool(last[0] == last[1])

        last: list[dict[str, list[str]]] = []
        try:
            wait_until(is_alike, "the same", ALIKE_S)
        except AssertionError:
            theirs, ours = last
            for subject, lines in theirs.items():
                assert_same_lines(ours[subject], lines, f"{subject} after {step}")
            raise
