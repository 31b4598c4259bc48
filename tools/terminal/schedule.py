"""Looking once, or again and again: a terminal is repainted, a pipe gets one look after another."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Final, Self

from aerolog.tools.terminal.terminal_text import fit
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.secrets import without_secrets
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_CLEAR: Final = "\x1b[2J"
_HOME: Final = "\x1b[H"
_REST_OF_LINE: Final = "\x1b[K"
_REST_OF_SCREEN: Final = "\x1b[J"
_HIDE_CURSOR: Final = "\x1b[?25l"
_SHOW_CURSOR: Final = "\x1b[?25h"
#: The style of headings.
BOLD: Final = "1"
_PLAIN: Final = "\x1b[0m"


class StyledLine(str):
    """A line whose beginning has a style, where the terminal can show one."""

    __slots__ = ("length", "style")

    style: str
    length: int

    def __new__(cls, text: str, style: str = BOLD, length: int | None = None) -> Self:
        """Make a line.

        Args:
            text: the line.
            style: a number or numbers of the terminal's graphic renditions.
            length: how many characters have the style; all when None.
        """
        line = super().__new__(cls, text)
        line.style = style
        line.length = len(text) if length is None else length
        return line


def write_lines(lines: Iterable[str]) -> None:
    """Writes lines to standard output, fit for a terminal."""
    styled = _has_styles()
    _write("".join([f"{_shown(line, styled=styled)}\n" for line in lines]))


def _has_styles() -> bool:
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def _shown(line: str, columns: int | None = None, *, styled: bool) -> str:
    """A line fit for a terminal, cut to a number of columns, with its style."""
    text = fit(without_secrets(line))[:columns]
    if not styled or not isinstance(line, StyledLine):
        return text
    return f"\x1b[{line.style}m{text[: line.length]}{_PLAIN}{text[line.length :]}"


class Screen:
    """The part of the last look's lines that a terminal shows; keys move it.

    Keys may come on a thread of their own. `changed` is set by each that does something.
    """

    def __init__(self, *, has_keys: bool) -> None:
        self.changed = threading.Event()
        self.ended = False
        self._has_keys = has_keys
        self._first = 0
        self._room = 1
        self._lines: Sequence[str] = ()

    def press(self, key: str) -> None:
        """Do what a key says; others are passed over."""
        steps = {
            "up": -1, "k": -1, "down": 1, "j": 1, "page up": -self._room, "b": -self._room,
            "page down": self._room, " ": self._room, "home": -self._first, "g": -self._first,
            "end": len(self._lines), "G": len(self._lines),
        }  # fmt: skip
        if key in {"q", "Q"}:
            self.ended = True
        elif key in steps:
            self._first += steps[key]
        else:
            return
        self.changed.set()

    def painted(self, lines: Sequence[str] | None = None) -> str:
        """The text that paints a look over the one before, None for the same one again.

        Lines are cut to the terminal, and nothing of the old ones is left.
        """
        import shutil

        if lines is not None:
            self._lines = lines
        lines = self._lines
        styled = _has_styles()
        columns, height = shutil.get_terminal_size()
        room = self._room = max(1, height - 1)
        total = len(lines)
        if total > room:
            self._room = max(1, room - 1)
            self._first = first = min(max(self._first, 0), total - self._room)
            lines = [*lines[first : first + self._room], self._place(first, total)]
        else:
            self._first = 0
        return (
            _HOME
            + "".join(f"{_shown(line, columns, styled=styled)}{_REST_OF_LINE}\n" for line in lines)
            + _REST_OF_SCREEN
        )

    def _place(self, first: int, total: int) -> str:
        if not self._has_keys:
            return f"... {total - self._room} more lines: filter, or print them to a pipe"
        last = first + self._room
        return f"{first + 1}-{last} of {total}: up, down, space, b, g, G scroll, q quits"


class Schedule:
    """How often to look.

    Attributes:
        watch: again and again, else once.
        interval_s: between two looks.
        updates: looks at most, None for ever.
    """

    def __init__(self, *, watch: bool, interval_s: float, updates: int | None) -> None:
        self.watch = watch or updates is not None
        self.interval_s = interval_s
        self.updates = updates

    def show(self, look: Callable[[], Iterable[str]]) -> None:
        """Prints the lines of each look."""
        if not self.watch:
            write_lines(look())
        elif sys.stdout.isatty():
            self._repaint(look)
        else:
            self._repeat(lambda: write_lines([*look(), ""]))

    def show_json(self, look: Callable[[], object]) -> None:
        """Prints a document, or one a line while watching."""
        from aerolog.tools.terminal.console import print_json, print_json_line

        if self.watch:
            self._repeat(lambda: print_json_line(look()))
        else:
            print_json(look())

    def _repaint(self, look: Callable[[], Iterable[str]]) -> None:
        from contextlib import ExitStack

        from aerolog.tools.terminal.keyboard import Keyboard, keys_can_be_read

        has_keys = keys_can_be_read()
        screen = Screen(has_keys=has_keys)
        with ExitStack() as stack:
            stack.callback(_write, _SHOW_CURSOR)
            if has_keys:
                stack.enter_context(Keyboard(screen.press))
            _write(_HIDE_CURSOR + _CLEAR)
            self._repeat(
                lambda: _write(screen.painted(list(look()))),
                lambda seconds: _scroll(screen, seconds) if has_keys else time.sleep(seconds),
            )

    def _repeat(
        self, once: Callable[[], None], wait: Callable[[float], object] | None = None
    ) -> None:
        """Look until all looks are done, or until a wait returns true."""
        looks = 0
        while True:
            once()
            looks += 1
            if looks == self.updates or (wait or time.sleep)(self.interval_s):
                return


def _scroll(screen: Screen, seconds: float) -> bool:
    """Repaint when a key has moved the screen, until it is time; whether a key has ended it."""
    clock = SystemClock()
    deadline_ns = clock.now_ns() + round(seconds * NS_PER_S)
    while not screen.ended:
        left = (deadline_ns - clock.now_ns()) / NS_PER_S
        if left <= 0 or not screen.changed.wait(left):
            break
        screen.changed.clear()
        _write(screen.painted())
    return screen.ended


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
