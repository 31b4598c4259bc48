"""Runs the command line as processes, against servers of either implementation."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import signal

DEADLINE_S = 60.0


class Command:
    """One run of ``aerolog``, its output collected as it comes."""

    def __init__(self, arguments: list[str], environ: dict[str, str], stdin: bytes | None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "aerolog.tools.main", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
        )
        self.stdout = b""
        self.stderr = b""
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._readers = [
            threading.Thread(target=self._read_stdout, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        assert self.process.stdin is not None
        if stdin is not None:
            self.process.stdin.write(stdin)
            self.process.stdin.close()

    def _read_stdout(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.stdout += line
            self._lines.put(line)
        self._lines.put(None)

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.stderr += line

    def next_line(self) -> str:
        """The next line of standard output."""
        line = self._lines.get(timeout=DEADLINE_S)
        assert line is not None, f"no more output; stderr: {self.stderr.decode()}"
        return line.decode().rstrip("\n")

    def type(self, data: bytes) -> None:
        """Sends to the command's standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to it and to nobody else."""
        self.process.send_signal(number)

    def wait(self) -> int:
        """Its exit code, when it has ended and everything it wrote has been read."""
        assert self.process.stdin is not None
        code = self.process.wait(DEADLINE_S)
        for reader in self._readers:
            reader.join(DEADLINE_S)
        if not self.process.stdin.closed:
            self.process.stdin.close()
        return code

    def succeed(self) -> str:
        """Its standard output; it must end with 0."""
        code = self.wait()
        assert code == 0, f"exit {code}: {self.stderr.decode()}"
        return self.stdout.decode()

    def json(self) -> Any:
        """Its standard output as JSON."""
        return json.loads(self.succeed())

    def json_lines(self) -> list[Any]:
        """Its standard output as JSON, a document a line."""
        return [json.loads(line) for line in self.succeed().splitlines()]


Start = Callable[..., Command]


@pytest.fixture
def aerolog() -> Iterator[Start]:
    """``aerolog("publish", "aeron:ipc", 7, stdin=b"x", on=server)`` starts a command.

    What still runs when the test ends is killed, by its pid.
    """
    started: list[Command] = []

    def start(
        *arguments: object, on: Any = None, stdin: bytes | None = None, **variables: str
    ) -> Command:
        environ = variables | {
            key: value
            for key, value in os.environ.items()
            if not key.startswith("AERON_") and key != "FORCE_COLOR"
        }
        if on is not None:
            environ["AERON_DIR"] = str(on.aeron_dir)
        started.append(Command([str(argument) for argument in arguments], environ, stdin))
        return started[-1]

    yield start
    for command in started:
        if command.process.poll() is None:
            command.process.kill()
            command.wait()
