"""Pieces of text that several tables have in common."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from aerolog.tools.top import number_text
from aerolog.tools.top.glyphs import sparkline
from aerolog.tools.top.text_lines import Piece, Style, clean
from aerolog.tools.views.stream_limits import LimitKind

if TYPE_CHECKING:
    from aerolog.tools.top.glyphs import Glyphs
    from aerolog.tools.top.series import Series
    from aerolog.tools.top.top_model import StreamTrack

_KNOWN_MAX: Final = 8_192

#: What is no fault: shown without colour.
_CALM = frozenset({LimitKind.NOTHING, LimitKind.NO_SUBSCRIBER})


def plain(text: str) -> Piece:
    """Text as it is."""
    return text, Style.PLAIN


def channel(text: str) -> Piece:
    """A channel: where it goes first, then its other parameters."""
    return short_channel(text), Style.PLAIN


@lru_cache(_KNOWN_MAX)
def short_channel(text: str) -> str:
    """``10.0.0.7:40123 mtu=8k`` of ``aeron:udp?mtu=8k|endpoint=10.0.0.7:40123``."""
    media, _, rest = text.removeprefix("aeron:").partition("?")
    given = [pair for pair in rest.split("|") if pair]
    for place in ("endpoint=", "control="):
        found = next((pair for pair in given if pair.startswith(place)), None)
        if found is not None and media == "udp":
            others = [pair for pair in given if pair is not found]
            return clean(" ".join([found.removeprefix(place), *others]))
    return clean(" ".join([media, *given]))


def rate(value: float | None) -> Piece:
    """Bytes a second; nothing moving is dim."""
    return number_text.rate(value), Style.PLAIN if value else Style.DIM


def curve(series: Series, width: int, glyphs: Glyphs) -> Piece:
    """The cell with a sparkline."""
    return sparkline(series.last(width), width, glyphs), Style.CURVE


def backlog(value: int | None) -> Piece:
    """Bytes that a reader is behind."""
    if value is None:
        return "-", Style.DIM
    return number_text.size(value), Style.PLAIN if value else Style.DIM


def trouble(value: float | None) -> Piece:
    """A figure that ought to be zero: events a second."""
    return number_text.events(value), Style.WARNING if value else Style.DIM


def limit(track: StreamTrack) -> Piece:
    """What limits a stream, in a word or two."""
    kind = track.limit.kind
    if kind is LimitKind.NOTHING:
        return "-", Style.DIM
    return str(kind), Style.DIM if kind in _CALM else Style.WARNING
