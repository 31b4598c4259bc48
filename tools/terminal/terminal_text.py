"""Text made fit for a terminal: what other processes wrote into it steers nothing.

Anybody writes aliases, labels, channels, reasons, error texts and payloads. A terminal obeys the
control characters in them, and shows what stands around direction marks in another order. All text
passes through here where it is printed: by ``console``, by ``schedule``, and by the writers of
messages and of classic forms. Commands need not think of it.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import TextIO

_SHOWN: Final = "\ufffd"  # the replacement character
_DIRECTIONS: Final = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_STEERS: Final = re.compile(f"[\x00-\x1f\x7f-\x9f{_DIRECTIONS}]")
_STEERS_IN_LINES: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_DIRECTIONS}]")


def fit(text: str, *, lines: bool = False) -> str:
    """Text without what a terminal would obey: a replacement character stands for each.

    Args:
        text: any text.
        lines: whether line breaks and tabs stay; without, they are replaced as well.
    """
    if text.isprintable():
        return text
    return (_STEERS_IN_LINES if lines else _STEERS).sub(_SHOWN, text)


def fit_json(text: str) -> str:
    """A JSON document that is the same to programs, with escapes for what ``fit`` replaces.

    The encoder escapes the characters below 32 by itself, also where it leaves others as they are.
    """
    return _STEERS_IN_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write_exact(text: str, out: TextIO | None = None) -> None:
    """Writes text that programs compare: exact to files and pipes, fit on a terminal.

    Args:
        text: lines of text.
        out: the stream to write to; standard output when None.
    """
    out = out or sys.stdout
    out.write(fit(text, lines=True) if out.isatty() else text)
