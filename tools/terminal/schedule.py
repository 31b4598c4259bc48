"""Looking once, or again and again: a terminal is repainted, a pipe gets one look after another."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_CLEAR: Final = "\x1b[2J"
_HOME: Final = "\x1b[H"
_REST_OF_LINE: Final = "\x1b[K"
_REST_OF_SCREEN: Final = "\x1b[J"
_HIDE_CURSOR: Final = "\x1b[?25l"
_SHOW_CURSOR: Final = "\x1b[?25h"
_BOLD: Final = "\x1b[1m"
_PLAIN: Final = "\x1b[0m"
#: Control characters in labels and channels, which any client may have written.
_CONTROLS: Final = dict.fromkeys((*range(32), *range(127, 160)), "\N{REPLACEMENT CHARACTER}")


def harmless(text: str) -> str:
    """Text of other processes without what a terminal would obey."""
    return text if text.isprintable() else text.translate(_CONTROLS)


def bold(text: str) -> str:
    """A heading, where the terminal can show one."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"{_BOLD}{text}{_PLAIN}"


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
            _write("".join(f"{line}\n" for line in look()))
        elif sys.stdout.isatty():
            self._repaint(look)
        else:
            self._repeat(lambda: _write("".join(f"{line}\n" for line in [*look(), ""])))

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

    columns, height = shutil.get_terminal_size()
    room = max(1, height - 1)
    if len(lines) > room:
        left = len(lines) - room + 1
        lines = [*lines[: room - 1], f"... {left} more lines: filter, or print them to a pipe"]
    return (
        _HOME
        + "".join(f"{_cut(line, columns)}{_REST_OF_LINE}\n" for line in lines)
        + _REST_OF_SCREEN
    )


def _cut(line: str, columns: int) -> str:
    if line.startswith(_BOLD):
        return _BOLD + line[len(_BOLD) : -len(_PLAIN)][:columns] + _PLAIN
    return line[:columns]


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
