"""The page of all streams: how fast each is, how far, and what limits it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.tools.top import number_text, table_cells
from aerolog.tools.top.page import TablePage
from aerolog.tools.top.stream_page import StreamPage
from aerolog.tools.top.text_lines import Column, clean, column
from aerolog.tools.top.top_model import StreamTrack

if TYPE_CHECKING:
    from aerolog.tools.top.glyphs import Glyphs
    from aerolog.tools.top.page import Page
    from aerolog.tools.top.top_model import Model

_COLUMNS: tuple[Column[StreamTrack], ...] = (
    column(
        "STREAM",
        7,
        lambda row: table_cells.plain(str(row.view.stream_id)),
        lambda row: (row.view.stream_id, row.view.session_id),
        right=True,
    ),
    column(
        "SESSION",
        11,
        lambda row: table_cells.plain(str(row.view.session_id)),
        lambda row: (row.view.session_id, row.view.stream_id),
        right=True,
    ),
    column(
        "CHANNEL",
        15,
        lambda row: table_cells.channel(row.view.channel),
        lambda row: (row.view.channel, row.view.stream_id, row.view.session_id),
        grows=3,
    ),
    column(
        "RATE",
        9,
        lambda row: table_cells.rate(row.rate),
        lambda row: (row.rate or 0.0, row.position, -row.view.stream_id),
        right=True,
        descending=True,
    ),
    Column(
        "TREND",
        9,
        lambda row, width, glyphs: table_cells.curve(row.curve, width, glyphs),
        grows=1,
    ),
    column(
        "POSITION",
        18,
        lambda row: table_cells.plain(number_text.position(row.position)),
        lambda row: (row.position,),
        right=True,
        from_width=100,
        descending=True,
    ),
    column(
        "BEHIND",
        8,
        lambda row: table_cells.backlog(row.behind),
        lambda row: (-1 if row.behind is None else row.behind, row.view.stream_id),
        right=True,
        descending=True,
    ),
    column(
        "LIMITED BY", 15, table_cells.limit, lambda row: (str(row.limit.kind), row.view.stream_id)
    ),
)


def _searched(row: StreamTrack) -> str:
    view = row.view
    return f"{view.stream_id} {view.session_id} {clean(view.channel)} {row.limit.kind}"


class StreamsPage(TablePage[StreamTrack]):
    """All streams, the fastest first."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(
            "Streams",
            _COLUMNS,
            rows=lambda model: model.streams.values(),
            key=lambda row: row.view.identity,
            searched=_searched,
            glyphs=glyphs,
            sorted_by="RATE",
            empty="no stream: nobody publishes or subscribes",
        )

    def _behind(self, row: StreamTrack, model: Model) -> Page:
        del model
        return StreamPage(row.view, self._glyphs)
