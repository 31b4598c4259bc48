"""The keys, once: what Textual binds, what the help shows, what the documentation lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Key:
    """A thing to do.

    Attributes:
        names: Textual's names of the keys that do it.
        shown: how they are written for people.
        action: name of the application's method, ``action_`` left out, with its arguments.
        does: what the key does, in words.
        hint: the short word in the bottom line, empty when it is not there.
    """

    names: tuple[str, ...]
    shown: str
    action: str
    does: str
    hint: str = ""


KEYS: Final = (
    Key(("1",), "1", "page(0)", "streams: rate, position, what limits each now"),
    Key(("2",), "2", "page(1)", "loss and back pressure of each stream"),
    Key(("3",), "3", "page(2)", "duty cycles of driver and archive"),
    Key(("4",), "4", "page(3)", "errors"),
    Key(("5",), "5", "page(4)", "recordings and replays"),
    Key(("6",), "6", "page(5)", "clusters: state, log, sessions, services of each node"),
    Key(("tab",), "Tab", "turn(1)", "next page"),
    Key(("shift+tab",), "Shift-Tab", "turn(-1)", "page before"),
    Key(("up", "k"), "Up k", "move(-1)", "one line up"),
    Key(("down", "j"), "Down j", "move(1)", "one line down"),
    Key(("pageup",), "PgUp", "leaf(-1)", "a screen up"),
    Key(("pagedown",), "PgDn", "leaf(1)", "a screen down"),
    Key(("home", "g"), "Home g", "first", "first line"),
    Key(("end", "G"), "End G", "last", "last line"),
    Key(("enter",), "Enter", "open", "everything about the chosen line", "open"),
    Key(("escape", "backspace"), "Esc", "leave", "back; or clear the filter", "back"),
    Key(("slash",), "/", "filter", "show only lines with all of these words", "filter"),
    Key(("s",), "s", "sort(1)", "sort by the next column", "sort"),
    Key(("S",), "S", "sort(-1)", "sort by the column before"),
    Key(("r",), "r", "reverse", "turn the order round", "reverse"),
    Key(("space",), "Space", "pause", "hold the picture still, and go on", "pause"),
    Key(("plus", "equals_sign"), "+", "faster", "look more often"),
    Key(("minus",), "-", "slower", "look less often"),
    Key(("question_mark", "f1"), "?", "help", "this help", "help"),
    Key(("q",), "q", "quit", "quit", "quit"),
)
