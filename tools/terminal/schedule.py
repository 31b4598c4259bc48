"""Looking once, or again and again: a terminal is repainted, a pipe gets one look after another."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Final, Self

from aerolog.tools.terminal.terminal_text import fit

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
    text = fit(line)[:columns]
    if not styled or not isinstance(line, StyledLine):
        return text
    return f"\x1b[{line.style}m{text[: line.length]}{_PLAIN}{text[line.length :]}"


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
        _write(_HIDE_CURSOR + _CLEAR)
        try:
            self._repeat(lambda: _write(_painted(list(look()))))
        finally:
            _write(_SHOW_CURSOR)

    def _repeat(self, once: Callable[[], None]) -> None:
        looks = 0
        while True:
            once()
            looks += 1
            if looks == self.updates:
                return
            time.sleep(self.interval_s)


def _painted(lines: Sequence[str]) -> str:
    """A screen over the one before: cut to the terminal, nothing of the old one left."""
    import shutil

    styled = _has_styles()
    columns, height = shutil.get_terminal_size()
    room = max(1, height - 1)
    if len(lines) > room:
        left = len(lines) - room + 1
        lines = [*lines[: room - 1], f"... {left} more lines: filter, or print them to a pipe"]
    return (
        _HOME
        + "".join(f"{_shown(line, columns, styled=styled)}{_REST_OF_LINE}\n" for line in lines)
        + _REST_OF_SCREEN
    )


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
