"""Text made fit for a line: what other processes wrote into it steers nothing and forges nothing.

Anybody writes aliases, labels, channels, reasons, error texts and payloads. A terminal obeys the
control characters in them, and shows what stands around direction marks in another order; what
reads a pipe takes each line for a record, and often ends on a terminal as well. All text passes
through here where it is printed, wherever it goes: by ``console``, by ``schedule``, and by the
writers of messages and of classic forms. A text that stands in the middle of several lines passes
through here by itself before. Commands need not think of it otherwise.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

_DIRECTIONS: Final = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_STEERS: Final = re.compile(f"[\x00-\x1f\x7f-\x9f{_DIRECTIONS}]")
_STEERS_BUT_TABS: Final = re.compile(f"[\x00-\x08\x0a-\x1f\x7f-\x9f{_DIRECTIONS}]")
_STEERS_IN_LINES: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_DIRECTIONS}]")
#: A line break in an error's text before a line that no trace of the stack has, neither of Java
#: (frames, causes) nor of C (places in brackets).
_BREAK_IN_ERROR: Final = re.compile(r"\n(?!\s|\[|Caused by: |Suppressed: |\Z)")


def fit(text: str, *, tabs: bool = False, lines: bool = False) -> str:
    r"""Text without what a terminal would obey: an escape, such as ``\x1b``, stands for each.

    Args:
        text: any text.
        tabs: whether tabs stay; without, they are escaped as well.
        lines: whether line breaks and tabs stay, as in a text of several lines.
    """
    if text.isprintable():
        return text
    steers = _STEERS_IN_LINES if lines else _STEERS_BUT_TABS if tabs else _STEERS
    return steers.sub(_escape, text)


def fit_error(text: str) -> str:
    """The text of an error in an error log: its trace keeps its lines, and nothing else has any."""
    return fit(_BREAK_IN_ERROR.sub(r"\\n", text), lines=True)


def fit_json(text: str) -> str:
    """A JSON document that is the same to programs, with escapes for what ``fit`` replaces.

    The encoder escapes the characters below 32 by itself, also where it leaves others as they are.
    """
    return _STEERS_IN_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write_fit(lines: Iterable[str], out: TextIO | None = None) -> None:
    """Writes lines as they are, but for secrets and what would steer or forge; tabs stay.

    Args:
        lines: without their line breaks.
        out: the stream to write to; standard output when None.
    """
    (out or sys.stdout).write(
        "".join([f"{fit(without_secrets(line), tabs=True)}\n" for line in lines])
    )


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
