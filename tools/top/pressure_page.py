"""The page of loss and back pressure: where streams lose packets, and where they wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.tools.top import number_text, table_cells
from aerolog.tools.top.page import TablePage, TextPage
from aerolog.tools.top.stream_page import StreamPage, told_losses
from aerolog.tools.top.text_lines import Column, Line, Piece, Style, clean, column, flowing, line
from aerolog.transport.counters.system_counters import SystemCounter

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from aerolog.tools.top.glyphs import Glyphs
    from aerolog.tools.top.page import Page
    from aerolog.tools.top.top_model import Model, StreamTrack

_SYSTEM = (
    ("NAK out", SystemCounter.NAK_MESSAGES_SENT),
    ("NAK in", SystemCounter.NAK_MESSAGES_RECEIVED),
    ("retransmits", SystemCounter.RETRANSMITS_SENT),
    ("BPE", SystemCounter.SENDER_FLOW_CONTROL_LIMITS),
    ("gap fills", SystemCounter.LOSS_GAP_FILLS),
    ("over runs", SystemCounter.FLOW_CONTROL_OVER_RUNS),
    ("under runs", SystemCounter.FLOW_CONTROL_UNDER_RUNS),
    ("short sends", SystemCounter.SHORT_SENDS),
    ("invalid", SystemCounter.INVALID_PACKETS),
)


@dataclass(frozen=True, slots=True)
class Pressed:
    """A stream and what presses it; ``track`` is None when only the loss report still knows it."""

    session_id: int
    stream_id: int
    channel: str
    lost: int
    track: StreamTrack | None

    @property
    def key(self) -> Hashable:
        """What tells it from all others."""
        if self.track is not None:
            return self.track.view.identity
        return self.session_id, self.stream_id, self.channel

    @property
    def naks(self) -> float:
        """NAKs a second."""
        return (self.track.naks or 0.0) if self.track is not None else 0.0

    @property
    def back_pressure(self) -> float:
        """Events a second."""
        return (self.track.back_pressure or 0.0) if self.track is not None else 0.0

    @property
    def window(self) -> int | None:
        """Bytes that may still be published."""
        publisher = self.track.view.publisher if self.track is not None else None
        return None if publisher is None else publisher.window

    @property
    def is_full(self) -> bool:
        """Whether the publisher may not publish now."""
        return self.window is not None and self.window <= 0


def _rows(model: Model) -> Iterator[Pressed]:
    known: set[tuple[int, int]] = set()
    for track in model.streams.values():
        view = track.view
        known.add((view.session_id, view.stream_id))
        yield Pressed(view.session_id, view.stream_id, view.channel, track.lost, track)
    for entry in model.losses:
        if (entry.session_id, entry.stream_id) not in known:
            lost = entry.total_bytes_lost
            yield Pressed(entry.session_id, entry.stream_id, entry.channel, lost, None)


def _window(row: Pressed) -> Piece:
    window = row.window
    if window is None:
        return "-", Style.DIM
    return number_text.size(max(window, 0)), Style.WARNING if window <= 0 else Style.PLAIN


def _lost(row: Pressed) -> Piece:
    return number_text.size(row.lost) if row.lost else "-", Style.BAD if row.lost else Style.DIM


def _why(row: Pressed) -> Piece:
    if row.track is None:
        return "ended", Style.DIM
    short, style = table_cells.limit(row.track)
    if style is Style.DIM:
        return short, style
    return clean(row.track.limit.text), style


_COLUMNS: tuple[Column[Pressed], ...] = (
    column(
        "STREAM",
        7,
        lambda row: table_cells.plain(str(row.stream_id)),
        lambda row: (row.stream_id, row.session_id),
        right=True,
    ),
    column(
        "SESSION",
        11,
        lambda row: table_cells.plain(str(row.session_id)),
        lambda row: (row.session_id, row.stream_id),
        right=True,
    ),
    column(
        "CHANNEL",
        14,
        lambda row: table_cells.channel(row.channel),
        lambda row: (row.channel, row.stream_id, row.session_id),
        grows=1,
    ),
    column(
        "LOST",
        8,
        _lost,
        lambda row: (row.lost, row.naks + row.back_pressure, row.is_full),
        right=True,
        descending=True,
    ),
    column(
        "NAK",
        7,
        lambda row: table_cells.trouble(row.naks),
        lambda row: (row.naks, row.lost, row.back_pressure),
        right=True,
        descending=True,
    ),
    column(
        "BPE",
        7,
        lambda row: table_cells.trouble(row.back_pressure),
        lambda row: (row.back_pressure, row.naks, row.lost),
        right=True,
        descending=True,
    ),
    column(
        "WINDOW", 8, _window, lambda row: (2**63 if row.window is None else row.window,), right=True
    ),
    column("BECAUSE", 11, _why, grows=2),
)


class PressurePage(TablePage[Pressed]):
    """All streams, those that lose first; above them what the whole driver counts."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(
            "Loss",
            _COLUMNS,
            rows=_rows,
            key=lambda row: row.key,
            searched=lambda row: f"{row.stream_id} {row.session_id} {clean(row.channel)}",
            glyphs=glyphs,
            sorted_by="LOST",
            empty="no stream, and no loss was reported",
        )
        self._system: list[Line] = []

    def refresh(self, model: Model) -> None:
        """Takes in the driver's own figures, too."""
        super().refresh(model)
        self._system = [
            ((f" {name} ", Style.DIM), (f"{text} ", style))
            for name, counter in _SYSTEM
            for text, style in (table_cells.trouble(model.system[counter].rate),)
        ]

    def head(self, width: int) -> Sequence[Line]:
        """The driver's figures above the heading, on as many lines as they take."""
        return (*flowing(self._system, width), *super().head(width))

    def _behind(self, row: Pressed, model: Model) -> Page:
        if row.track is None:
            return LossPage(row, model)
        return StreamPage(row.track.view, self._glyphs)


class LossPage(TextPage):
    """What the loss report has for a stream that has ended."""

    def __init__(self, row: Pressed, model: Model) -> None:
        super().__init__("Loss")
        self._lines = [
            line(f" stream {row.stream_id}  session {row.session_id}: ended", Style.HEADING),
            line(f" {clean(row.channel)}"),
            (),
            *(
                line(f" {told}", Style.BAD)
                for told in told_losses(model, row.session_id, row.stream_id)
            ),
        ]
