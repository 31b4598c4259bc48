"""Everything about one stream: who takes part, where each stands, what limits it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from aerolog.tools.top import number_text, table_cells
from aerolog.tools.top.glyphs import sparkline
from aerolog.tools.top.page import TextPage
from aerolog.tools.top.text_lines import Line, Style, clean, fit, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.tools.top.glyphs import Glyphs
    from aerolog.tools.top.top_model import Model, StreamTrack
    from aerolog.tools.views.stream_views import StreamView

_WHO = 34
_POSITION = 20
_RATE = 12
_BEHIND = 12


class Party(NamedTuple):
    """Somebody who takes part in a stream, at a position."""

    key: tuple[str, int]
    who: str
    position: int | None
    more: str


def parties(view: StreamView) -> Iterator[Party]:
    """All that have a position in a stream, from where messages come to where they go."""
    publisher, sender = view.publisher, view.sender
    if publisher is not None:
        kind = "exclusive publication" if publisher.exclusive else "publication"
        who = f"{kind} {publisher.registration_id}"
        window = "" if publisher.window is None else _window(publisher.window)
        client = f"client {publisher.client_id}"
        key = "publisher", publisher.registration_id
        yield Party(key, who, publisher.position, f"{client}{window}")
    if sender is not None:
        window = "" if sender.window is None else _window(sender.window).removeprefix(", ")
        yield Party(("sender", sender.registration_id), "sender", sender.position, window)
    for receiver in view.receivers:
        more = f"seen up to {number_text.position(receiver.hwm)}"
        if receiver.congestion_window is not None:
            more += f", congestion window {number_text.size(receiver.congestion_window)}"
        who = f"receiver, image {receiver.registration_id}"
        yield Party(("receiver", receiver.registration_id), who, receiver.position, more)
    for one in view.subscribers:
        who = f"{'spy' if one.is_spy else 'subscription'} {one.registration_id}"
        more = f"client {one.client_id}" + (f" {clean(one.client_name)}" if one.client_name else "")
        if one.recording_id is not None:
            more += f", records {one.recording_id}"
        yield Party(("subscriber", one.counter_id), who, one.position, more)
    for recording in view.recordings:
        archive = "" if recording.archive_id is None else f"archive {recording.archive_id}"
        who = f"recording {recording.recording_id}"
        yield Party(("recording", recording.counter_id), who, recording.position, archive)


def told_losses(model: Model, session_id: int, stream_id: int) -> list[str]:
    """What the loss report says of a stream, a line for each source."""
    return [
        f"{number_text.size(entry.total_bytes_lost)} lost from {clean(entry.source)}, seen"
        f" {entry.observation_count:,} times, last"
        f" {number_text.ago(entry.last_observation_ms, model.wall_ms)} ago"
        for entry in model.losses
        if (entry.session_id, entry.stream_id) == (session_id, stream_id)
    ]


def _window(window: int) -> str:
    return f", {number_text.size(max(window, 0))} left"


class StreamPage(TextPage):
    """One stream; its last picture stands when it has ended."""

    def __init__(self, view: StreamView, glyphs: Glyphs) -> None:
        super().__init__("Stream")
        self._identity = view.identity
        self._view = view
        self._glyphs = glyphs
        self._track: StreamTrack | None = None
        self._ended = False
        self._losses: list[str] = []

    def refresh(self, model: Model) -> None:
        """Takes the stream as it is now."""
        track = model.streams.get(self._identity)
        self._ended = track is None
        if track is not None:
            self._track, self._view = track, track.view
        self._losses = told_losses(model, *self._identity[:2])

    def head(self, width: int) -> Sequence[Line]:
        """Which stream; what is below is made to the width."""
        self._lines = list(self._made(max(width, 40)))
        self.move(self.cursor)
        view = self._view
        title = f" stream {view.stream_id}  session {view.session_id}"
        return (line(fit(title, width), Style.HEADING),)

    def _made(self, width: int) -> Iterator[Line]:
        track, view = self._track, self._view
        yield from wrapped(f" {view.channel}", width)
        if track is None:
            return
        if self._ended:
            yield line(" this stream has ended: what follows is its last picture", Style.WARNING)
        _, style = table_cells.limit(track)
        for piece in wrapped(f"limited by: {track.limit.text}", width - 1, style):
            yield (" ", Style.PLAIN), *piece
        yield ()
        yield from self._curve(track, width)
        yield ()
        yield from self._table(track, width)
        yield ()
        yield (
            (" NAKs ", Style.DIM),
            (f"{track.nak_total:,} ({number_text.events(track.naks)})", Style.PLAIN),
            ("   back pressure ", Style.DIM),
            (f"{track.bpe_total:,} ({number_text.events(track.back_pressure)})", Style.PLAIN),
            ("   reported lost ", Style.DIM),
            cells_lost(track.lost),
        )
        for loss in self._losses:
            yield line(f" {loss}", Style.BAD)

    def _curve(self, track: StreamTrack, width: int) -> Iterator[Line]:
        shown = track.curve.last(width - 2)
        highest = max(shown, default=0.0)
        yield (
            (" rate ", Style.DIM),
            (number_text.rate(track.rate), Style.KEY),
            ("   highest shown ", Style.DIM),
            (number_text.rate(highest if shown else None), Style.PLAIN),
            ("   position ", Style.DIM),
            (number_text.position(track.position), Style.PLAIN),
        )
        yield ((" " + sparkline(shown, width - 2, self._glyphs), Style.CURVE),)

    def _table(self, track: StreamTrack, width: int) -> Iterator[Line]:
        head = (
            fit(" WHO", _WHO),
            fit("POSITION", _POSITION, right=True),
            fit("BEHIND", _BEHIND, right=True),
            fit("RATE", _RATE, right=True),
        )
        wide = width >= _WHO + _POSITION + _BEHIND + _RATE + 30
        yield line(fit("".join(head), width), Style.HEADING)
        before = {} if track.before is None else {one.key: one for one in parties(track.before)}
        for party in parties(track.view):
            behind = None if party.position is None else max(track.position - party.position, 0)
            text, style = table_cells.backlog(behind)
            rate = _rate(party, before.get(party.key), track.interval_s)
            rate_text, rate_style = table_cells.rate(rate)
            shown: list[tuple[str, Style]] = [
                (fit(f" {party.who}", _WHO), Style.PLAIN),
                (fit(number_text.position(party.position), _POSITION, right=True), Style.PLAIN),
                (fit(text, _BEHIND, right=True), style),
                (fit(rate_text, _RATE, right=True), rate_style),
            ]
            if wide:
                yield (*shown, (f"  {party.more}", Style.DIM))
            else:
                yield tuple(shown)
                if party.more:
                    yield line(f"   {party.more}", Style.DIM)


def _rate(party: Party, before: Party | None, interval_s: float) -> float | None:
    if before is None or before.position is None or party.position is None or interval_s <= 0:
        return None
    return max(party.position - before.position, 0) / interval_s


def cells_lost(lost: int) -> tuple[str, Style]:
    """Bytes lost; nothing lost is dim."""
    return (number_text.size(lost), Style.BAD) if lost else ("nothing", Style.DIM)
