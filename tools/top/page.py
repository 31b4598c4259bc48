"""What a page is: fixed lines at the top, any number of lines below of which few are ever made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from aerolog.tools.top.text_lines import Column, Line, Style, heading, layout, line, table_line

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from aerolog.tools.top.glyphs import Glyphs
    from aerolog.tools.top.top_model import Model

Row = TypeVar("Row")


class Page(Protocol):
    """A page of the dashboard.

    Attributes:
        title: in the bar of pages, or above what was opened from one.
        selectable: whether a line can be chosen, or the page only moves.
        cursor: number of the chosen line, or of the first one that is seen.
    """

    title: str
    selectable: bool
    cursor: int

    def refresh(self, model: Model) -> None:
        """Takes in what is known now."""

    def head(self, width: int) -> Sequence[Line]:
        """The lines that stay."""

    def count(self) -> int:
        """How many lines are below them."""

    def line(self, index: int, width: int) -> Line:
        """One of those."""

    def move(self, index: int) -> None:
        """Chooses a line; the nearest one when there is none of that number."""

    def opened(self, model: Model) -> Page | None:
        """What is behind the chosen line."""


class TextPage:
    """A page of lines that is moved as a whole."""

    selectable = False

    def __init__(self, title: str) -> None:
        self.title = title
        self.cursor = 0
        self._lines: Sequence[Line] = ()

    def refresh(self, model: Model) -> None:
        """Nothing changes, as a rule."""

    def head(self, width: int) -> Sequence[Line]:
        """None stay."""
        del width
        return ()

    def count(self) -> int:
        """The lines that there are."""
        return len(self._lines)

    def line(self, index: int, width: int) -> Line:
        """One of them."""
        del width
        return self._lines[index]

    def move(self, index: int) -> None:
        """Moves the first line that is seen."""
        self.cursor = max(min(index, len(self._lines) - 1), 0)

    def opened(self, model: Model) -> Page | None:
        """Nothing is behind text."""
        del model
        return None


class TablePage(Generic[Row]):
    """Rows under a heading: sorted, filtered, one of them chosen.

    A row that somebody has chosen is followed by its key wherever the order takes it; until then,
    and from the first line on, the first row is the chosen one, whichever it is.

    Args:
        title: what the page is called.
        columns: the columns of the table; rows are sorted by the first at the start, unless told
            otherwise.
        rows: all rows that there are now.
        key: what tells a row from all others, for as long as it exists.
        searched: the texts that a filter looks into.
        glyphs: the characters to draw with.
        sorted_by: title of the column to sort by at the start.
        empty: told when there is no row at all.
    """

    selectable = True

    def __init__(
        self,
        title: str,
        columns: Sequence[Column[Row]],
        *,
        rows: Callable[[Model], Iterable[Row]],
        key: Callable[[Row], Hashable],
        searched: Callable[[Row], str],
        glyphs: Glyphs,
        sorted_by: str,
        empty: str,
    ) -> None:
        self.title = title
        self.cursor = 0
        self.filter = ""
        self._columns = columns
        self._rows_of = rows
        self._key = key
        self._searched = searched
        self._glyphs = glyphs
        self._empty = empty
        self._sorted_by = next(column for column in columns if column.title == sorted_by)
        self._descending = self._sorted_by.descending
        self._rows: list[Row] = []
        self._total = 0
        self._chosen: Hashable = None
        self._placed: list[tuple[Column[Row], int]] = []
        self._placed_width = -1

    @property
    def rows(self) -> Sequence[Row]:
        """Those shown, in their order."""
        return self._rows

    @property
    def total(self) -> int:
        """How many there are without the filter."""
        return self._total

    def refresh(self, model: Model) -> None:
        """Filters and sorts what there is now."""
        rows = list(self._rows_of(model))
        self._total = len(rows)
        words = self.filter.lower().split()
        if words:
            searched = self._searched
            rows = [row for row in rows if _matches(searched(row).lower(), words)]
        order = self._sorted_by.order
        if order is not None:
            rows.sort(key=order, reverse=self._descending)
        self._rows = rows
        self._follow()

    def _follow(self) -> None:
        """Keeps the chosen row chosen; the one at its place when it has gone."""
        key, chosen = self._key, self._chosen
        at = min(self.cursor, len(self._rows) - 1)
        if at >= 0 and chosen is not None and key(self._rows[at]) != chosen:
            found = (index for index, row in enumerate(self._rows) if key(row) == chosen)
            at = next(found, at)
        self.move(at)

    def head(self, width: int) -> Sequence[Line]:
        """The heading of the table."""
        return (
            heading(
                self._layout(width),
                self._sorted_by,
                descending=self._descending,
                glyphs=self._glyphs,
            ),
        )

    def count(self) -> int:
        """The rows; one line says so when there is none."""
        return len(self._rows) or 1

    def line(self, index: int, width: int) -> Line:
        """The line of a row."""
        if not self._rows:
            return line(self._nothing(), Style.DIM)
        return table_line(self._layout(width), self._rows[index], self._glyphs)

    def _nothing(self) -> str:
        if self._total:
            return f" none of {self._total} matches {self.filter!r}; Esc shows them again"
        return f" {self._empty}"

    def _layout(self, width: int) -> list[tuple[Column[Row], int]]:
        if width != self._placed_width:
            self._placed, self._placed_width = layout(self._columns, width), width
        return self._placed

    def move(self, index: int) -> None:
        """Chooses another row."""
        self.cursor = max(min(index, len(self._rows) - 1), 0)
        self._chosen = self._key(self._rows[self.cursor]) if self.cursor else None

    def chosen(self) -> Row | None:
        """The chosen row."""
        return self._rows[self.cursor] if self._rows else None

    def opened(self, model: Model) -> Page | None:
        """The page behind the chosen row."""
        row = self.chosen()
        page = None if row is None else self._behind(row, model)
        if page is not None:
            page.refresh(model)
        return page

    def _behind(self, row: Row, model: Model) -> Page | None:
        """Everything about one row; nothing, unless a page has something there."""
        del row, model
        return None

    def sort_next(self, step: int) -> None:
        """Sorts by another column of those that are shown, so many to the right."""
        shown = [column for column, _ in self._placed] or list(self._columns)
        shown = [column for column in shown if column.order is not None]
        at = shown.index(self._sorted_by) if self._sorted_by in shown else -step
        self._sorted_by = shown[(at + step) % len(shown)]
        self._descending = self._sorted_by.descending

    def reverse(self) -> None:
        """Turns the order round."""
        self._descending = not self._descending


def _matches(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)
