"""Commands on recordings as processes: interrupts, questions at a terminal, progress."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from peer.lifetimes import server_starter, stop_all
from peer.streams import free_port
from waits import wait_until

from .conftest import DEADLINE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module", params=["reference-to-ours", "ours-to-reference"])
def pair(
    request: pytest.FixtureRequest, reference: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Any, Any, str]]:
    """A source archive, a destination archive, and where the source listens."""
    del reference
    control = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    answers = {"aeron.archive.control.response.channel": "aeron:udp?endpoint=127.0.0.1:0"}
    listens = {
        "aeron.archive.control.channel": control,
        "aeron.archive.control.channel.enabled": "true",
    }
    source, _, destination = request.param.partition("-to-")
    servers: list[Any] = []
    folders: list[Any] = []
    start = server_starter(servers, folders, tmp_path_factory.mktemp("archives"))
    yield (
        start(source, "archiving-driver", properties=listens | answers),
        start(destination, "archiving-driver", properties=answers),
        control,
    )
    stop_all(servers, folders)


class Terminal:
    """A command with a terminal for its input and its errors."""

    def __init__(self, arguments: list[object], aeron_dir: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "aerolog.tools.main", *map(str, arguments)],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**os.environ, "AERON_DIR": aeron_dir, "TERM": "xterm", "COLUMNS": "120"},
        )
        os.close(theirs)
        self.seen = ""

    def read_until(self, text: str) -> None:
        """Returns when the command has shown a text."""
        deadline = time.monotonic() + DEADLINE_S
        while text not in self.seen:
            left = deadline - time.monotonic()
            assert left > 0, f"not in {DEADLINE_S} s: {text!r} in {self.seen!r}"
            if select.select([self._ours], [], [], left)[0]:
                try:
                    self.seen += os.read(self._ours, 4096).decode()
                except OSError as gone:  # how a terminal says that the other side is gone
                    raise AssertionError(f"{text!r} not in {self.seen!r}") from gone

    def type(self, text: str) -> None:
        """Types at the terminal."""
        os.write(self._ours, text.encode())

    def end(self) -> tuple[int, str]:
        """Its exit code and what it has written to standard output."""
        out, _ = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, out.decode()

    def close(self) -> None:
        """Ends what still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        os.close(self._ours)


@pytest.fixture
def terminal() -> Iterator[Any]:
    """``terminal(server, "recordings", "purge", 7)`` starts a command at a terminal."""
    started: list[Terminal] = []

    def start(server: Any, *arguments: object) -> Terminal:
        started.append(Terminal(list(arguments), server.aeron_dir))
        return started[-1]

    yield start
    for one in started:
        one.close()


def recorded_line(aerolog: Any, server: Any, stream_id: int) -> tuple[int, Any]:
    """A live recording with one message, and its publisher."""
    recorder = aerolog("record", "aeron:ipc", stream_id, "--until-end", on=server)
    publisher = aerolog("publish", "aeron:ipc", stream_id, on=server)
    publisher.type(b"one\n")
    return int(recorder.next_line()), publisher


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_replication_is_stopped_and_can_go_on(
    aerolog: Any,
    our_archive_client: Any,
    pair: tuple[Any, Any, str],
    stream_id: int,
    number: signal.Signals,
    code: int,
) -> None:
    source, destination, control = pair
    archive = our_archive_client(destination.aeron_dir)
    source_id, publisher = recorded_line(aerolog, source, stream_id)
    replicate = ["recordings", "replicate", source_id, control, "--json"]
    replicating = aerolog(*replicate, on=destination)

    def copied() -> list[int]:
        return [
            one.recording_id
            for one in archive.recordings(stream_id=stream_id)
            if archive.recording_position(one.recording_id) == 64
        ]

    (copy,) = wait_until(copied, "the message to be copied")
    replicating.signal(number)

    assert replicating.wait() == code
    assert replicating.stderr.decode() == f"recording {copy}: replicated, at position 64\n"
    assert archive.stop_position(copy) == 64
    publisher.type(b"two\n")
    publisher.process.stdin.close()
    publisher.succeed()
    again = aerolog(*replicate, "--into", copy, on=destination).json_lines()
    assert again[-1]["position"] == 128
    assert aerolog("replay", copy, on=destination).succeed() == "one\ntwo\n"


def test_a_tail_is_interrupted(aerolog: Any, any_archive: Any, stream_id: int) -> None:
    recording_id, publisher = recorded_line(aerolog, any_archive, stream_id)
    tail = aerolog("tail", recording_id, on=any_archive)
    assert tail.next_line() == "one"
    publisher.type(b"two\n")
    assert tail.next_line() == "two"

    tail.signal(signal.SIGINT)

    assert tail.wait() == 130
    assert tail.stderr == b""
    publisher.signal(signal.SIGINT)
    publisher.wait()


def stopped_recording(aerolog: Any, server: Any, stream_id: int) -> int:
    """A recording of two messages."""
    recorder = aerolog("record", "aeron:ipc", stream_id, "--until-end", on=server)
    aerolog("publish", "aeron:ipc", stream_id, stdin=b"a\nb\n", on=server).succeed()
    return int(recorder.succeed())


def test_a_question_is_asked_at_a_terminal(
    aerolog: Any, our_archive: Any, stream_id: int, terminal: Any
) -> None:
    recording_id = stopped_recording(aerolog, our_archive, stream_id)

    declined = terminal(our_archive, "recordings", "purge", recording_id)
    declined.read_until("Go on? [y/N]: ")
    declined.type("\n")
    declined.read_until("nothing is changed")
    assert declined.end() == (1, "")
    assert f"remove recording {recording_id} (aeron:ipc stream {stream_id}), 0 to 128" in (
        declined.seen
    )
    aerolog("recordings", "describe", recording_id, on=our_archive).succeed()

    agreed = terminal(our_archive, "recordings", "purge", recording_id, "--wait", "--json")
    agreed.read_until("Go on? [y/N]: ")
    agreed.type("y\n")
    code, out = agreed.end()
    assert (code, '"done": true' in out) == (0, True)
    gone = aerolog("recordings", "describe", recording_id, on=our_archive)
    assert gone.wait() == 1


def test_without_a_terminal_a_question_is_an_error_of_usage(
    aerolog: Any, our_archive: Any, stream_id: int
) -> None:
    recording_id = stopped_recording(aerolog, our_archive, stream_id)

    for command in (["purge", recording_id], ["truncate", recording_id, 64]):
        refused = aerolog("recordings", *command, stdin=b"y\n", on=our_archive)
        assert refused.wait() == 2
        assert b"--yes" in refused.stderr
        assert refused.stdout == b""
    aerolog("recordings", "describe", recording_id, on=our_archive).succeed()


def test_a_replication_shows_its_progress_at_a_terminal(
    aerolog: Any, pair: tuple[Any, Any, str], stream_id: int, terminal: Any
) -> None:
    source, destination, control = pair
    source_id, publisher = recorded_line(aerolog, source, stream_id)

    replicating = terminal(destination, "recordings", "replicate", source_id, control)
    replicating.read_until("64/64 bytes")
    publisher.process.stdin.close()
    publisher.succeed()

    code, out = replicating.end()
    assert code == 0
    assert "replicated" in out
