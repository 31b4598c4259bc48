"""Keys of a terminal while a command runs, and the terminal as it was afterwards."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import stat
import sys
import termios
import threading
import tty
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

_ESCAPE: Final = 0x1B
#: Of cursor keys: what comes behind the escape and its bracket.
_CURSOR: Final = {
    b"A": "up", b"B": "down", b"C": "right", b"D": "left", b"H": "home", b"F": "end",
    b"1~": "home", b"4~": "end", b"5~": "page up", b"6~": "page down",
}  # fmt: skip
#: The process stops or ends there without a chance to put the terminal back.
_PUT_BACK_AT: Final = (signal.SIGTSTP, signal.SIGQUIT)
_BACKGROUND_LOOK_S: Final = 0.5


def keys_can_be_read() -> bool:
    """Whether somebody sits there to press keys that are for us.

    Standard input is a terminal whose foreground we are in, and standard output is no pipe: what
    reads that, as a pager, may want the keys.
    """
    try:
        if not sys.stdin.isatty() or os.tcgetpgrp(sys.stdin.fileno()) != os.getpgrp():
            return False
        return not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):
        return False


class Keyboard:
    """Calls a function for each key, on a thread of its own. A context manager.

    The terminal hands keys on at once and does not show them. It is as it was again at the end of
    the block, whatever ends it, and while the process is suspended. An exception of the function
    interrupts the main thread, and the block then raises it.
    """

    def __init__(self, on_key: Callable[[str], object], fd: int | None = None) -> None:
        """Make one.

        Args:
            on_key: called with a character, or with up, down, left, right, home, end, page up,
                page down.
            fd: the terminal; standard input when None.
        """
        self._on_key = on_key
        self._fd = sys.stdin.fileno() if fd is None else fd
        self._saved: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        self._fault: Exception | None = None
        self._ending, self._end = os.pipe()
        self._thread = threading.Thread(target=self._run, name="keyboard", daemon=True)

    def __enter__(self) -> Self:
        """Have keys handed on.

        Raises:
            termios.error: it is no terminal.
        """
        self._saved = termios.tcgetattr(self._fd)
        atexit.register(self.put_back)
        try:
            self._take_over()
            if threading.current_thread() is threading.main_thread():
                for number in _PUT_BACK_AT:
                    self._handlers[number] = signal.signal(number, self._put_back_and_go)
                self._handlers[signal.SIGCONT] = signal.signal(signal.SIGCONT, self._continue)
            self._thread.start()
        except BaseException:
            self._finish()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.put_back()
        finally:
            self._finish()
        if self._fault is not None:
            raise self._fault

    def put_back(self) -> None:
        """The terminal as it was; again is harmless."""
        if self._saved is not None and self._is_foreground():
            with contextlib.suppress(termios.error):  # a terminal that has gone
                termios.tcsetattr(self._fd, termios.TCSANOW, self._saved)

    def _finish(self) -> None:
        self.put_back()
        self._saved = None
        atexit.unregister(self.put_back)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers.clear()
        os.write(self._end, b"x")
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()
        for fd in (self._ending, self._end):
            with contextlib.suppress(OSError):  # closed before
                os.close(fd)

    def _take_over(self) -> None:
        if self._saved is not None and self._is_foreground():
            tty.setcbreak(self._fd, termios.TCSANOW)

    def _is_foreground(self) -> bool:
        """Whether the terminal is ours: another process group that sets it is stopped."""
        try:
            return os.tcgetpgrp(self._fd) == os.getpgrp()
        except OSError:
            return True  # not the terminal of this session: nobody minds

    def _put_back_and_go(self, number: int, _frame: FrameType | None) -> None:
        self.put_back()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
        # Here it has been continued.
        signal.signal(number, self._put_back_and_go)
        self._take_over()

    def _continue(self, _number: int, _frame: FrameType | None) -> None:
        self._take_over()

    def _run(self) -> None:
        try:
            self._read()
        except Exception as fault:  # noqa: BLE001 - the block raises it
            self._fault = fault
            # A signal to the main thread ends its wait, as a call of interrupt_main would not.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._fd, self._ending], [], [])
            if self._ending in ready:
                return
            if not self._is_foreground():
                # What is typed is for others; reading would stop the process.
                if select.select([self._ending], [], [], _BACKGROUND_LOOK_S)[0]:
                    return
                continue
            try:
                data = os.read(self._fd, 64)
            except OSError:
                return
            if not data:
                return
            for key in keys_of(data):
                self._on_key(key)


def keys_of(data: bytes) -> list[str]:
    """The keys in what a terminal has sent; other sequences of its are left out."""
    keys: list[str] = []
    at = 0
    while at < len(data):
        if data[at] == _ESCAPE:
            end = at + 1
            if data[end : end + 1] in {b"[", b"O"}:
                end += 1
                while end < len(data) and not 0x40 <= data[end] <= 0x7E:
                    end += 1
            name = _CURSOR.get(data[at + 2 : end + 1])
            if name is not None:
                keys.append(name)
            at = end + 1
        else:
            if data[at] < 0x80:
                keys.append(chr(data[at]))
            at += 1
    return keys
