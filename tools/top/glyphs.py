"""Pictures made of characters: sparklines, bars, progress; in blocks or in plain ASCII."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Glyphs:
    """What a terminal can draw with.

    Attributes:
        levels: the characters of a sparkline, lowest first; the first one is zero.
        eighths: the characters of a bar's last cell, empty first, full last.
        track: an empty cell of a progress bar.
        down: marks a column sorted from the greatest.
        up: marks a column sorted from the least.
        rule: a horizontal line.
    """

    levels: str
    eighths: str
    track: str
    down: str
    up: str
    rule: str


BLOCKS: Final = Glyphs("▁▂▃▄▅▆▇█", " ▏▎▍▌▋▊▉█", "░", "▼", "▲", "─")
ASCII: Final = Glyphs("_.:-=+*#", " #", ".", "v", "^", "-")


def glyphs_for(encoding: str | None) -> Glyphs:
    """Blocks where the terminal's encoding has them."""
    try:
        f"{BLOCKS.levels}{BLOCKS.eighths}{BLOCKS.rule}".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def sparkline(
    values: Sequence[float | None], width: int, glyphs: Glyphs, *, top: float = 0.0
) -> str:
    """The last values, the newest to the right; blank where nothing was measured.

    Args:
        values: oldest first; None for a gap. Negative ones are drawn as zero.
        width: the width in characters.
        glyphs: the characters to draw with.
        top: the value of a full cell; the greatest of those shown when that is more.
    """
    shown = values[-width:] if width > 0 else []
    greatest = max((value for value in shown if value is not None), default=0.0)
    greatest = max(greatest, top)
    cells = [_level(value, greatest, glyphs.levels) for value in shown]
    return "".join(cells).rjust(width)


def _level(value: float | None, greatest: float, levels: str) -> str:
    if value is None:
        return " "
    if value <= 0 or greatest <= 0:
        return levels[0]
    # Anything above zero is seen to be.
    return levels[1 + min(int(value / greatest * (len(levels) - 1)), len(levels) - 2)]


def bar(value: float, greatest: float, width: int, glyphs: Glyphs) -> str:
    """A bar as long as the value's part of the greatest; something above zero is never nothing."""
    if greatest <= 0 or value <= 0:
        return " " * width
    steps = len(glyphs.eighths) - 1
    filled = max(1, min(round(value / greatest * width * steps), width * steps))
    whole, part = divmod(filled, steps)
    return (glyphs.eighths[-1] * whole + (glyphs.eighths[part] if part else "")).ljust(width)


def progress(part: float, whole: float, width: int, glyphs: Glyphs) -> str:
    """How much of the whole is done."""
    share = 0.0 if whole <= 0 else min(max(part / whole, 0.0), 1.0)
    # Full only when all of it is.
    filled = width if share >= 1.0 else min(math.floor(share * width), width - 1)
    return glyphs.eighths[-1] * filled + glyphs.track * (width - filled)
