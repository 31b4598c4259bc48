"""A client that writes commands byte by byte and notes every message of the driver."""

import re
import struct
import time
from collections.abc import Callable
from dataclasses import fields

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.memory.cnc import CncFile
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

DEADLINE_S = 30.0
SENTINEL_STREAM = -1


class RawClient:
    """Sends commands to a driver and returns what it answers, in order.

    After each command another one is sent, whose answer shows that there is nothing more to come.
    """

    def __init__(self, aeron_dir: str) -> None:
        self.aeron_dir = aeron_dir
        self.cnc = CncFile.connect(aeron_dir)
        self.receiver = self.cnc.receiver()
        self.client_id = self.next_id()
        while self.receiver.receive_next() is not None:
            pass
        self.heartbeat = True
        self.companions: list[RawClient] = []  # kept alive while this one waits

    def next_id(self) -> int:
        return self.cnc.to_driver.next_correlation_id()

    def beat(self) -> None:
        """Keeps this client alive, as long as it wants to be."""
        if self.heartbeat:
            counter = self.cnc.counters.find_by_key_i64(
                CounterType.CLIENT_HEARTBEAT, self.client_id
            )
            if counter >= 0:
                self.cnc.counters.set_value(counter, int(time.time() * 1000))

    def beat_all(self) -> None:
        """Keeps this client and its companions alive."""
        for client in (self, *self.companions):
            client.beat()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Waits for something that no message tells of."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, self.counters()
            self.beat_all()
            time.sleep(0.001)

    def registration_of(self, label: str) -> int:
        """Registration id of the counter with a label."""
        return next(k.registration_id for k in self.cnc.counters if k.label == label)

    def counter_types(self) -> set[int]:
        """Type ids of the counters that are allocated."""
        return {k.type_id for k in self.cnc.counters}

    def write(self, type_id: int, message: bytes) -> None:
        assert self.cnc.to_driver.write(type_id, message)

    def send(self, make: Callable[[int, int], c.Command]) -> int:
        """Sends a command; returns its correlation id."""
        correlation_id = self.next_id()
        command = make(self.client_id, correlation_id)
        self.write(command.TYPE_ID, c.encode_command(command))
        return correlation_id

    def do(self, make: Callable[[int, int], c.Command]) -> list[r.Response]:
        """Sends a command; returns all messages up to the end of its handling."""
        self.send(make)
        return self.settle()

    def do_bytes(self, type_id: int, message: bytes) -> list[r.Response]:
        """As `do`, with a message that need not make sense."""
        self.write(type_id, message)
        return self.settle()

    def settle(self) -> list[r.Response]:
        """All messages that the driver sends for what it was sent so far."""
        sentinel = self.send(lambda i, n: c.GetNextAvailableSessionId(i, n, SENTINEL_STREAM))
        return self.until(lambda m: getattr(m, "correlation_id", None) == sentinel)[:-1]

    def until(self, last: Callable[[r.Response], bool]) -> list[r.Response]:
        """All messages up to one that is wanted, that one included."""
        found: list[r.Response] = []
        deadline = time.monotonic() + DEADLINE_S
        while not found or not last(found[-1]):
            received = self.receiver.receive_next()
            if received is not None:
                message = r.decode_response(*received)
                assert message is not None
                found.append(message)
                continue
            assert time.monotonic() < deadline, f"still waiting; so far {found}"
            self.beat_all()
            time.sleep(0.001)
        return found

    def counters(self) -> list[str]:
        """Every counter but the system's, as text."""
        return [
            f"{k.counter_id} {k.type_id} [{k.label}] {k.key.hex()} {k.registration_id} "
            f"{k.owner_id} {k.reference_id}"
            for k in self.cnc.counters
            if k.type_id != CounterType.SYSTEM
        ]


class Transcript:
    """Messages as text, with what differs from driver to driver masked."""

    def __init__(self, aeron_dir: str) -> None:
        self.lines: list[str] = []
        self._aeron_dir = aeron_dir
        self._sessions: dict[int, str] = {}

    def note(self, title: str, messages: list[r.Response]) -> None:
        self.lines.append(f"-- {title}")
        self.lines += [self._text(message) for message in messages]

    def _text(self, message: r.Response) -> str:
        shown = [type(message).__name__]
        for field in fields(message):
            value = getattr(message, field.name)
            if field.name == "session_id":
                value = self._sessions.setdefault(value, f"session-{len(self._sessions)}")
            if isinstance(value, str):
                value = self._masked(value)
            shown.append(f"{field.name}={value!r}")
        return " ".join(shown)

    def mask(self, lines: list[str]) -> list[str]:
        """Other lines of text, masked alike."""
        return [self._masked(line) for line in lines]

    def _masked(self, text: str) -> str:
        for session, name in self._sessions.items():
            text = text.replace(struct.pack("<i", session).hex(), f"<{name}>")
            text = text.replace(str(session), name)
        text = re.sub(r"(?<='init-term-id': existing=)-?\d+", "<random>", text)
        return text.replace(self._aeron_dir, "<dir>")
