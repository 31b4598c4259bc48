"""The command at a terminal, as a process: keys, signals, and the terminal afterwards."""

from __future__ import annotations

import fcntl
import os
import pty
import resource
import select
import signal
import subprocess
import sys
import termios
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from timed_recordings import make

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE_S = 60.0
AEROLOG = (sys.executable, "-m", "aerolog.tools.main")


def is_cooked(fd: int) -> bool:
    return bool(termios.tcgetattr(fd)[3] & termios.ICANON)


def _own_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Terminal:
    """A terminal with a replay in its foreground, whose next message is days away."""

    def __init__(self, folder: Path) -> None:
        self.leader, self.follower = pty.openpty()
        self.before = termios.tcgetattr(self.follower)
        self.shown = b""
        self.process = subprocess.Popen(
            [*AEROLOG, "replay", "0", "--archive-dir", str(folder), "--speed", "0.000001x"],
            stdin=self.follower,
            stdout=self.follower,
            stderr=self.follower,
            start_new_session=True,
            preexec_fn=_own_terminal,  # noqa: PLW1509 - no threads
        )

    def type(self, keys: bytes) -> None:
        os.write(self.leader, keys)

    def wait_for(self, text: bytes) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.shown:
            left = deadline - time.monotonic()
            assert left > 0, f"waited in vain for {text!r} in {self.shown!r}"
            if select.select([self.leader], [], [], left)[0]:
                self.shown += os.read(self.leader, 4096)

    def code(self) -> int:
        return self.process.wait(PATIENCE_S)


@contextmanager
def replaying(folder: Path) -> Iterator[Terminal]:
    make(folder, 3)
    terminal = Terminal(folder)
    try:
        terminal.wait_for(b"keys: space")
        terminal.wait_for(b"message 0")
        yield terminal
    finally:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait()
        os.close(terminal.leader)
        os.close(terminal.follower)


def test_keys_pause_change_the_speed_and_quit(tmp_path: Path) -> None:
    with replaying(tmp_path) as terminal:
        assert not is_cooked(terminal.leader)
        terminal.type(b" ")
        terminal.wait_for(b"paused")
        terminal.type(b" ")
        terminal.wait_for(b"goes on at 1e-06x")
        terminal.type(b"+")
        terminal.wait_for(b"speed 2e-06x")
        terminal.type(b"q")

        assert terminal.code() == 0
        assert termios.tcgetattr(terminal.follower) == terminal.before


def test_as_fast_as_can_be_all_the_rest_comes_at_once(tmp_path: Path) -> None:
    with replaying(tmp_path) as terminal:
        terminal.type(b"m")
        terminal.wait_for(b"message 2")

        assert terminal.code() == 0
        assert termios.tcgetattr(terminal.follower) == terminal.before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_and_the_terminal_is_as_before(
    tmp_path: Path, number: int, code: int
) -> None:
    with replaying(tmp_path) as terminal:
        if number == signal.SIGINT:
            terminal.type(b"\x03")
        else:
            terminal.process.send_signal(number)

        assert terminal.code() == code
        assert termios.tcgetattr(terminal.follower) == terminal.before


def test_a_quit_signal_leaves_the_terminal_as_before_too(tmp_path: Path) -> None:
    with replaying(tmp_path) as terminal:
        terminal.process.send_signal(signal.SIGQUIT)

        assert terminal.code() == -signal.SIGQUIT
        assert termios.tcgetattr(terminal.follower) == terminal.before


def test_a_reader_that_goes_ends_it_within_a_silence(tmp_path: Path) -> None:
    make(tmp_path, 3)
    with subprocess.Popen(
        [*AEROLOG, "replay", "0", "--archive-dir", str(tmp_path), "--speed", "0.000001x"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"message 0")
        process.stdout.close()

        assert process.wait(PATIENCE_S) == 0
        assert process.stderr.read() == b""
