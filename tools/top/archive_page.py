"""The page of recordings and replays: how much, how fast, how far to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.tools.top import number_text, table_cells
from aerolog.tools.top.companion_text import is_bad
from aerolog.tools.top.glyphs import progress
from aerolog.tools.top.measurement import ReplayFigures
from aerolog.tools.top.page import TablePage
from aerolog.tools.top.text_lines import Column, Line, Piece, Style, clean, column, line
from aerolog.tools.top.top_model import RecordingTrack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.tools.top.glyphs import Glyphs
    from aerolog.tools.top.top_model import Model

_SOON_S = 3_600


def _kind(row: RecordingTrack) -> str:
    if isinstance(row.figures, ReplayFigures):
        return "replay"
    return "stopped" if is_stopped(row) else "record"


def is_stopped(row: RecordingTrack) -> bool:
    """Whether it is a recording that is not written any more."""
    return row.key[0] == "stopped"


def _id(row: RecordingTrack) -> Piece:
    recording_id = row.figures.recording_id
    return ("?", Style.DIM) if recording_id is None else (str(recording_id), Style.PLAIN)


def _stream(row: RecordingTrack) -> Piece:
    stream_id = row.figures.stream_id
    return ("?", Style.DIM) if stream_id is None else (str(stream_id), Style.PLAIN)


def done(row: RecordingTrack) -> int:
    """Bytes recorded or replayed so far."""
    return max(row.figures.position - (row.figures.start_position or 0), 0)


def _bytes(row: RecordingTrack) -> Piece:
    if row.figures.start_position is None:
        return "-", Style.DIM
    return number_text.size(done(row)), Style.PLAIN


def _progress(row: RecordingTrack, width: int, glyphs: Glyphs) -> Piece:
    """A replay's part of its recording; of a recording, where it stands."""
    one = row.figures
    if not isinstance(one, ReplayFigures):
        return f"at {number_text.position(one.position)}", Style.PLAIN
    if one.limit is None:
        return f"at {number_text.position(one.position)}", Style.DIM
    start = one.start_position or 0
    part, whole = one.position - start, one.limit - start
    if one.live:
        return f"live, {number_text.size(max(one.limit - one.position, 0))} behind", Style.PLAIN
    told = f" {number_text.share(part, whole)} {_left(row, whole - part)}".rstrip()
    room = max(width - len(told), 3)
    return progress(part, whole, room, glyphs) + told, Style.CURVE


def _left(row: RecordingTrack, left: int) -> str:
    rate = row.meter.rate
    return number_text.age(left / rate) if rate and left > 0 else ""


def _order_progress(row: RecordingTrack) -> tuple[int, int]:
    one = row.figures
    limit = one.limit if isinstance(one, ReplayFigures) else None
    return -1 if limit is None else limit - one.position, one.position


def _health(row: RecordingTrack) -> Piece:
    health = "" if isinstance(row.figures, ReplayFigures) else row.figures.health
    return clean(health), Style.BAD if is_bad(health) else Style.PLAIN


_COLUMNS: tuple[Column[RecordingTrack], ...] = (
    column(
        "KIND",
        7,
        lambda row: table_cells.plain(_kind(row)),
        lambda row: (_kind(row), row.figures.recording_id or 0, *row.key),
        right=True,
    ),
    column("ID", 5, _id, lambda row: (row.figures.recording_id or 0, *row.key), right=True),
    column("STREAM", 7, _stream, lambda row: (row.figures.stream_id or 0, *row.key), right=True),
    column(
        "CHANNEL",
        12,
        lambda row: table_cells.channel(row.figures.channel),
        lambda row: (row.figures.channel, *row.key),
        grows=2,
    ),
    column("BYTES", 8, _bytes, lambda row: (done(row), *row.key), right=True, descending=True),
    column(
        "RATE",
        9,
        lambda row: table_cells.rate(row.meter.rate),
        lambda row: (row.meter.rate or 0.0, *row.key),
        right=True,
        descending=True,
    ),
    Column(
        "TREND",
        8,
        lambda row, width, glyphs: table_cells.curve(row.meter.curve, width, glyphs),
        grows=1,
    ),
    Column("PROGRESS", 17, _progress, order=_order_progress, grows=2),
    column("HEALTH", 9, _health, from_width=120),
)


class ArchivePage(TablePage[RecordingTrack]):
    """Recordings and replays, those that run first; above them the archive's directory."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(
            "Archive",
            _COLUMNS,
            rows=lambda model: model.works.values(),
            key=lambda row: row.key,
            searched=lambda row: (
                f"{_kind(row)} {row.figures.recording_id} {row.figures.stream_id}"
                f" {row.figures.session_id} {clean(row.figures.channel)}"
            ),
            glyphs=glyphs,
            sorted_by="KIND",
            empty="nothing is recorded or replayed with this driver now",
        )
        self._top: Sequence[Line] = ()

    def refresh(self, model: Model) -> None:
        """Takes in the directory, too."""
        super().refresh(model)
        self._top = (_directory(model), *_companions(model))

    def head(self, width: int) -> Sequence[Line]:
        """The archive above the heading."""
        return (*self._top, *super().head(width))


def _directory(model: Model) -> Line:
    archive = model.archive
    if archive is None:
        return line(" name an archive's directory with --archive-dir to see it here", Style.DIM)
    if archive.trouble:
        return line(f" {clean(archive.trouble)}", Style.BAD)
    rate = sum(
        row.meter.rate or 0.0
        for row in model.works.values()
        if not isinstance(row.figures, ReplayFigures)
    )
    pieces: list[Piece] = [
        (f" {clean(archive.state)} ", Style.KEY),
        (
            f" {_recordings(archive.recordings)}, {number_text.size(archive.recorded_bytes)} ",
            Style.PLAIN,
        ),
        (" writing ", Style.DIM),
        (number_text.rate(rate), Style.PLAIN),
        ("  disk free ", Style.DIM),
        (
            f"{number_text.size(archive.disk_free)} {_free(archive.disk_free, archive.disk_size)}",
            Style.PLAIN,
        ),
    ]
    if rate > 0:
        lasts = archive.disk_free / rate
        style = Style.BAD if lasts < _SOON_S else Style.DIM
        pieces.append((f"  full in {number_text.age(lasts)}", style))
    return tuple(pieces)


def _companions(model: Model) -> Iterator[Line]:
    """A line about what lies beside the recordings, where there is something."""
    archive = model.archive
    if archive is None or archive.trouble:
        return
    pieces: list[Piece] = []
    for name, text, is_well in (
        ("index", archive.index, True),
        ("health", archive.health, archive.is_sound),
        ("retention", archive.retention, not archive.has_failed),
    ):
        if text:
            style = Style.PLAIN if is_well else Style.BAD
            pieces += [(f" {name} ", Style.DIM), (f"{clean(text)} ", style)]
    if pieces:
        yield tuple(pieces)


def _recordings(count: int) -> str:
    return "1 recording" if count == 1 else f"{count:,} recordings"


def _free(free: int, total: int) -> str:
    return f"({number_text.share(free, total)})"
