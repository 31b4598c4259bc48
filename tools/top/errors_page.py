"""The page of errors: the distinct ones of driver and archive, and one of them in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.tools.top import number_text
from aerolog.tools.top.page import TablePage, TextPage
from aerolog.tools.top.text_lines import Column, Line, Style, clean, column, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.top.glyphs import Glyphs
    from aerolog.tools.top.page import Page
    from aerolog.tools.top.top_model import Model
    from aerolog.tools.views.driver_view import ObservedError

_FRESH_MS = 60_000

Told = tuple[str, "ObservedError"]
"""The name of the process that recorded an error, and the error."""


def _first_line(error: ObservedError) -> str:
    return clean(error.text.strip().partition("\n")[0])


class ErrorsPage(TablePage[Told]):
    """Distinct errors, the latest first."""

    def __init__(self, glyphs: Glyphs) -> None:
        self._now_ms = 0
        columns: tuple[Column[Told], ...] = (
            column(
                "COUNT",
                7,
                lambda row: (f"{row[1].count:,}", Style.PLAIN),
                lambda row: (row[1].count, row[1].last_ms),
                right=True,
                descending=True,
            ),
            column(
                "LAST",
                8,
                lambda row: self._since(row[1]),
                lambda row: (row[1].last_ms, row[1].first_ms),
                right=True,
                descending=True,
            ),
            column(
                "FIRST SEEN",
                24,
                lambda row: (number_text.date_time(row[1].first_ms), Style.DIM),
                lambda row: (row[1].first_ms, row[1].last_ms),
                descending=True,
            ),
            column(
                "FROM", 7, lambda row: (row[0], Style.PLAIN), lambda row: (row[0], row[1].last_ms)
            ),
            column(
                "ERROR",
                20,
                lambda row: (_first_line(row[1]), Style.PLAIN),
                lambda row: (row[1].text,),
                grows=1,
            ),
        )
        super().__init__(
            "Errors",
            columns,
            rows=lambda model: model.errors,
            key=lambda row: (row[0], row[1].first_ms, row[1].text),
            searched=lambda row: f"{row[0]} {row[1].text}",
            glyphs=glyphs,
            sorted_by="LAST",
            empty="no error was recorded",
        )

    def _since(self, row: ObservedError) -> tuple[str, Style]:
        fresh = self._now_ms - row.last_ms < _FRESH_MS
        return number_text.ago(row.last_ms, self._now_ms), Style.BAD if fresh else Style.PLAIN

    def refresh(self, model: Model) -> None:
        """Takes in the time, too."""
        self._now_ms = model.wall_ms
        super().refresh(model)

    def _behind(self, row: Told, model: Model) -> Page:
        del model
        return ErrorPage(*row)


class ErrorPage(TextPage):
    """The page with the whole text of an error."""

    def __init__(self, origin: str, error: ObservedError) -> None:
        super().__init__("Error")
        self._origin = origin
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
        told = f" {self._origin}, {times}, from {number_text.date_time(error.first_ms)}"
        return (line(f"{told} to {number_text.date_time(error.last_ms)}", Style.HEADING),)
