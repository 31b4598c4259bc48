"""One driver after the other on the same ports, told the same, and what they say."""

import re
import time
from collections.abc import Callable

import pytest
from peer.raw_client import RawClient, Transcript
from peer.streams import free_port

from aerolog.transport.logbuffer.descriptor import LogBuffers
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.protocol import responses as r

Note = Callable[[str, list[r.Response]], None]


class Script:
    """A raw client of one driver, with what is needed to tell both the same.

    Attributes:
        client: sees every message of the driver.
        ports: free UDP ports, the same ones for both drivers.
    """

    def __init__(self, aeron_dir: str, ports: list[int]) -> None:
        self.client = RawClient(aeron_dir)
        self.ports = ports
        self._transcript = Transcript(aeron_dir)

    def note(self, title: str, messages: list[r.Response]) -> list[r.Response]:
        """Writes messages down, but for those that only show that there is nothing more to come."""
        shown = [m for m in messages if not isinstance(m, r.NextAvailableSessionId)]
        self._transcript.note(self._numbered(title), shown)
        return messages

    def do(self, title: str, make: Callable[..., object]) -> list[r.Response]:
        """Sends a command and notes what the driver says."""
        return self.note(title, self.client.do(make))

    def do_until(
        self, title: str, make: Callable[..., object], kind: type[r.Response], count: int = 1
    ) -> list[r.Response]:
        """Sends a command and notes all up to so many messages of a kind; returns those."""
        said = self.client.do(make)
        while len(found := [m for m in said if isinstance(m, kind)]) < count:
            said += self.client.until(lambda m: isinstance(m, kind))
        self.note(title, said)
        return found

    def until(self, title: str, kind: type[r.Response]) -> r.Response:
        """Notes all up to the next message of a kind, which it returns."""
        return self.note(title, self.client.until(lambda m: isinstance(m, kind)))[-1]

    def note_counters(self, title: str) -> None:
        """Writes down the counters, in the order of their ids."""
        self._transcript.note(title, [])
        self._transcript.lines += self._transcript.mask(self.client.counters())

    def note_values(self, title: str, types: set[int], *, grown: int) -> None:
        """Writes down the values of counters of some types.

        Windows of congestion control grow with time: they are awaited up to ``grown`` bytes, and
        noted as that when they are beyond.
        """

        def values() -> list[tuple[int, bool, int]]:
            found = (k for k in self.client.cnc.counters if k.type_id in types)
            return [(k.counter_id, "cubic-wnd" in k.label, k.value) for k in found]

        deadline = time.monotonic() + 30
        while any(is_window and value < grown for _, is_window, value in values()):
            assert time.monotonic() < deadline, f"no window of {grown} bytes within 30 s"
            time.sleep(0.001)
        self._transcript.note(title, [])
        self._transcript.lines += [
            f"{counter_id} {min(value, grown) if is_window else value}"
            for counter_id, is_window, value in values()
        ]

    def note_window(self, title: str, log_file: str) -> None:
        """Writes down what the log of an image says of its window, and of its file."""
        metadata = LogBuffers.open(MappedFile.open(log_file)).metadata
        self._transcript.note(title, [])
        self._transcript.lines.append(f"{metadata.receiver_window_length} {metadata.sparse}")

    @property
    def lines(self) -> list[str]:
        """All that was noted, without what no two drivers have in common."""
        return [self._numbered(self._without_frames(line)) for line in self._transcript.lines]

    def _numbered(self, text: str) -> str:
        for index, port in enumerate(self.ports):
            # Not among the digits of bytes in hex, which look like many a port.
            text = re.sub(rf"(?<![0-9a-f]){port}(?![0-9a-f])", f"<port {index}>", text)
            text = text.replace(f"3a{str(port).encode().hex()}", f"3a<port {index}>")
        text = re.sub(r"(?<=(?:0\.1|0\.0|:1\]|0:1):)[1-9]\d{3,4}", "<any port>", text)
        return re.sub(r"3a(3\d){5}", "<any port>", text)

    @staticmethod
    def _without_frames(text: str) -> str:
        """The reference says where in its runtime a socket failed."""
        return re.sub(r" \(at [\w./$]+\(Native Method\)\)", "", text)


@pytest.fixture
def ports() -> list[int]:
    """Ports that nobody has now, five digits each so that texts of both drivers are as long."""
    return [free_port() for _ in range(12)]


@pytest.fixture
def both_say(start_server, ports) -> Callable[..., tuple[list[str], list[str]]]:
    """Runs a script on a driver of either kind, one after the other; what each of them said."""

    def run(
        script: Callable[[Script], None],
        properties: dict[str, str],
        kinds: tuple[str, str] = ("ours", "reference"),
    ) -> tuple[list[str], list[str]]:
        said = []
        for kind in kinds:
            server = start_server(kind, "driver", properties=properties)
            played = Script(server.aeron_dir, ports)
            script(played)
            said.append(played.lines)
            assert server.process.stop() == 0
        return said[0], said[1]

    return run
