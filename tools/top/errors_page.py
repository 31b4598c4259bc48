"""The page of errors: the distinct ones of the driver's log, and one of them in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.tools.top import figures
from aerolog.tools.top.lines import Column, Line, Style, clean, line, wrapped
from aerolog.tools.top.page import TablePage, TextPage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.observe.driver_view import ObservedError
    from aerolog.tools.top.glyphs import Glyphs
    from aerolog.tools.top.model import Model
    from aerolog.tools.top.page import Page

_FRESH_MS = 60_000


def _first_line(error: ObservedError) -> str:
    return clean(error.text.strip().partition("\n")[0])


class ErrorsPage(TablePage["ObservedError"]):
    """Distinct errors, the latest first."""

    def __init__(self, glyphs: Glyphs) -> None:
        self._now_ms = 0
        columns: tuple[Column[ObservedError], ...] = (
            Column(
                "COUNT",
                7,
                lambda row, _width, _glyphs: (f"{row.count:,}", Style.PLAIN),
                order=lambda row: (row.count, row.last_ms),
                right=True,
                descending=True,
            ),
            Column(
                "LAST",
                8,
                lambda row, _width, _glyphs: self._since(row),
                order=lambda row: (row.last_ms, row.first_ms),
                right=True,
                descending=True,
            ),
            Column(
                "FIRST SEEN",
                19,
                lambda row, _width, _glyphs: (figures.date_time(row.first_ms), Style.DIM),
                order=lambda row: (row.first_ms, row.last_ms),
                descending=True,
            ),
            Column(
                "ERROR",
                20,
                lambda row, _width, _glyphs: (_first_line(row), Style.PLAIN),
                order=lambda row: (row.text,),
                grows=1,
            ),
        )
        super().__init__(
            "Errors",
            columns,
            rows=lambda model: model.errors,
            key=lambda row: (row.first_ms, row.text),
            searched=lambda row: row.text,
            glyphs=glyphs,
            sorted_by="LAST",
            empty="the driver has recorded no error",
        )

    def _since(self, row: ObservedError) -> tuple[str, Style]:
        fresh = self._now_ms - row.last_ms < _FRESH_MS
        return figures.ago(row.last_ms, self._now_ms), Style.BAD if fresh else Style.PLAIN

    def refresh(self, model: Model) -> None:
        """Takes in the time, too."""
        self._now_ms = model.wall_ms
        super().refresh(model)

    def opened(self, model: Model) -> Page | None:
        """The whole error."""
        del model
        row = self.chosen()
        return None if row is None else ErrorPage(row)


class ErrorPage(TextPage):
    """One error in full."""

    def __init__(self, error: ObservedError) -> None:
        super().__init__("Error")
        self._error = error
        self._wrapped_at = -1

    def head(self, width: int) -> Sequence[Line]:
        """How often and when; the text is broken to the width that there is."""
        error = self._error
        if width != self._wrapped_at:
            lines = wrapped(error.text, max(width - 1, 1))
            self._lines = [((" ", Style.PLAIN), *one) for one in lines]
            self._wrapped_at = width
            self.move(self.cursor)
        times = "once" if error.count == 1 else f"{error.count:,} times"
        told = f" {times}, from {figures.date_time(error.first_ms)}"
        return (line(f"{told} to {figures.date_time(error.last_ms)}", Style.HEADING),)
