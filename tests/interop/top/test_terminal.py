"""The dashboard in a pseudo-terminal, on drivers of either implementation that live and die."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING, Self

import pytest

from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from pathlib import Path

    from peer.lifetimes import Start

pytestmark = pytest.mark.interop

PATIENCE_S = 60.0
_ESCAPES = re.compile(rb"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[=>c]|P[^\x1b]*\x1b\\)")
_OWN_SCREEN, _SCREEN_BACK = b"\x1b[?1049h", b"\x1b[?1049l"


class Terminal:
    """A terminal of 80 x 24 with ``aerolog top`` in it."""

    def __init__(self, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.modes = termios.tcgetattr(theirs)
        environ = {key: text for key, text in os.environ.items() if not key.startswith("AERON_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "aerolog.tools.main", "top", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environ | {"TERM": "xterm-256color", "PYTHONUTF8": "1"},
            start_new_session=True,
        )
        self._theirs = theirs
        self.written = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)
        os.close(self._theirs)
        os.close(self._ours)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def shows(self, text: str) -> None:
        """Waits until this is written; what was before it counts no more."""
        deadline = time.monotonic() + PATIENCE_S
        while text.encode() not in _ESCAPES.sub(b"", self.written):
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} is not in {_ESCAPES.sub(b'', self.written)[-3000:]!r}"
            self._read(left)
        self.written = b""

    def _read(self, seconds: float) -> None:
        if select.select([self._ours], [], [], seconds)[0]:
            self.written += os.read(self._ours, 65_536)

    def ended(self) -> int:
        """Waits for the end; what was written until then is read."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "top does not end"
            self._read(0.05)
        while select.select([self._ours], [], [], 0)[0]:
            self.written += os.read(self._ours, 65_536)
        assert termios.tcgetattr(self._theirs) == self.modes
        return self.process.returncode


@pytest.mark.parametrize("implementation", ["ours", "reference"])
def test_a_running_stream_is_watched(
    start_server: Start, stream_id: int, implementation: str
) -> None:
    server = start_server(implementation, "driver")
    with (
        Aeron(server.aeron_dir) as aeron,
        aeron.add_subscription("aeron:ipc", stream_id),
        aeron.add_publication("aeron:ipc?alias=watched", stream_id) as publication,
        Terminal("--aeron-dir", server.aeron_dir, "--interval", "200ms") as terminal,
    ):
        terminal.shows(f"pid {server.pid} up")
        terminal.shows("ipc alias=watc")
        publication.wait_connected(30, writable=True)
        publication.send(bytes(1000), timeout=30)
        terminal.type("\r")
        terminal.shows(f"stream {stream_id}  session {publication.session_id}")
        terminal.shows(f"{publication.position:,}")
        terminal.type("\x7f")
        terminal.shows("LIMITED BY")
        terminal.type("3")
        terminal.shows("Conductor")
        terminal.type("q")
        assert terminal.ended() == 0
        assert terminal.written.count(_SCREEN_BACK) == 1


def test_a_killed_driver_is_told_and_the_next_one_followed(
    start_server: Start, aeron_dir: Path
) -> None:
    first = start_server("ours", "driver", aeron_dir=aeron_dir)
    with Terminal("--aeron-dir", str(aeron_dir), "--interval", "200ms") as terminal:
        terminal.shows(f"pid {first.pid} up")
        first.process.kill()
        terminal.shows(f"the driver, pid {first.pid}, has fallen silent")
        second = start_server("reference", "driver", aeron_dir=aeron_dir)
        terminal.shows(f"another driver, pid {second.pid}: history begins anew")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.ended() == 143
        assert _SCREEN_BACK in terminal.written


def test_an_interrupt_gives_the_terminal_back(start_server: Start) -> None:
    server = start_server("ours", "driver")
    with Terminal("--aeron-dir", server.aeron_dir) as terminal:
        terminal.shows(f"pid {server.pid} up")
        terminal.type("\x03")
        assert terminal.ended() == 130
        assert _SCREEN_BACK in terminal.written


def test_without_a_driver_it_says_so_before_it_takes_the_screen(tmp_path: Path) -> None:
    with Terminal("--aeron-dir", str(tmp_path / "none")) as terminal:
        assert terminal.ended() == 1
        told = terminal.written.decode()
    assert told.count("\n") == 1
    assert "none: no such directory: start a driver there" in told
    assert _OWN_SCREEN not in terminal.written


def test_without_a_terminal_it_names_what_there_is_instead(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "aerolog.tools.main", "top", "--aeron-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "top needs a terminal" in done.stderr
    assert "aerolog streams" in done.stderr
