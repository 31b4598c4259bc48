"""Keys of a terminal, and the terminal as it was."""

from __future__ import annotations

import os
import pty
import queue
import signal
import termios
import threading
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.tools.terminal.keyboard import Keyboard, keys_can_be_read, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 30.0


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """What types and shows, and the terminal."""
    leader, follower = pty.openpty()
    yield leader, follower
    os.close(leader)
    os.close(follower)


def modes(fd: int) -> list[Any]:
    return termios.tcgetattr(fd)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def is_cooked(fd: int) -> bool:
    return bool(modes(fd)[3] & termios.ICANON) and bool(modes(fd)[3] & termios.ECHO)


def test_keys_come_at_once_and_the_terminal_is_put_back(terminal: tuple[int, int]) -> None:
    leader, follower = terminal
    before = modes(follower)
    keys: queue.Queue[str] = queue.Queue()

    with Keyboard(keys.put, follower):
        assert not is_cooked(follower)
        os.write(leader, b" q")
        assert [keys.get(timeout=PATIENCE_S) for _ in range(2)] == [" ", "q"]

    assert modes(follower) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_the_terminal_is_put_back_whatever_ends_the_block(
    terminal: tuple[int, int], error: type[BaseException]
) -> None:
    before = modes(terminal[1])
    with pytest.raises(error), Keyboard(print, terminal[1]):
        assert not is_cooked(terminal[1])
        raise error

    assert modes(terminal[1]) == before


def test_an_exception_of_the_function_ends_the_block(terminal: tuple[int, int]) -> None:
    leader, follower = terminal
    before = modes(follower)

    def refuse(key: str) -> None:
        raise ValueError(key)

    with pytest.raises(ValueError, match="^q$"), Keyboard(refuse, follower):
        os.write(leader, b"q")
        threading.Event().wait(PATIENCE_S)

    assert modes(follower) == before
    assert "keyboard" not in threads()


def test_handlers_of_signals_are_put_back_as_well(terminal: tuple[int, int]) -> None:
    numbers = (signal.SIGTSTP, signal.SIGQUIT, signal.SIGCONT)
    before = [signal.getsignal(number) for number in numbers]
    with Keyboard(print, terminal[1]):
        assert [signal.getsignal(number) for number in numbers] != before

    assert [signal.getsignal(number) for number in numbers] == before


def test_a_process_that_is_continued_has_its_keys_again(terminal: tuple[int, int]) -> None:
    with Keyboard(print, terminal[1]) as keyboard:
        keyboard.put_back()  # as when it is suspended
        assert is_cooked(terminal[1])
        signal.raise_signal(signal.SIGCONT)
        assert not is_cooked(terminal[1])


def test_a_terminal_that_is_gone_is_no_error() -> None:
    leader, follower = pty.openpty()
    with Keyboard(print, follower):
        assert "keyboard" in threads()
        os.close(leader)
    assert "keyboard" not in threads()
    os.close(follower)


def test_no_terminal_is_refused() -> None:
    reading, writing = os.pipe()
    with pytest.raises(termios.error), Keyboard(print, reading):
        pass
    os.close(reading)
    os.close(writing)


def test_no_keys_without_a_terminal_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert not keys_can_be_read()
    assert not keys_can_be_read()  # closed
    os.close(writing)


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b" ", [" "]),
        (b"+-q", ["+", "-", "q"]),
        (b"\x1b[A\x1b[B", ["up", "down"]),
        (b"\x1bOC\x1b[D", ["right", "left"]),
        (b"\x1b[5~\x1b[6~q", ["page up", "page down", "q"]),
        (b"\x1b[H\x1b[4~", ["home", "end"]),
        (b"\x1b[19~q", ["q"]),
        (b"\x1b[1;5C ", [" "]),
        (b"\x1b", []),
        (b"\x1b[", []),
        ("é".encode(), []),
        (b"", []),
    ],
)
def test_what_a_terminal_sends_for_a_key(data: bytes, keys: list[str]) -> None:
    assert keys_of(data) == keys
