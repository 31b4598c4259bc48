"""The two widgets that there are: lines that stand still, and lines that are drawn when seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from aerolog.tools.top.text_lines import Line, Style, fit_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aerolog.tools.top.page import Page

_STYLES = {
    Style.PLAIN: RichStyle.null(),
    Style.DIM: RichStyle(dim=True),
    Style.HEADING: RichStyle(bold=True, underline=True),
    Style.TITLE: RichStyle(bold=True, reverse=True),
    Style.KEY: RichStyle(bold=True),
    Style.CURVE: RichStyle(color="cyan"),
    Style.GOOD: RichStyle(color="green"),
    Style.WARNING: RichStyle(color="yellow"),
    Style.BAD: RichStyle(color="red", bold=True),
}
_CHOSEN = RichStyle(reverse=True)


def strip(line: Line, width: int, *, chosen: bool = False) -> Strip:
    """A line as Textual draws it."""
    segments = [
        Segment(text, _STYLES[style] + _CHOSEN if chosen else _STYLES[style])
        for text, style in fit_line(line, width)
    ]
    return Strip(segments, width)


class Still(Widget):
    """Lines that are made anew at each refresh: the top and the bottom of the screen."""

    def __init__(self, lines: Callable[[int], Sequence[Line]], *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self._make = lines
        self._made: Sequence[Line] = ()
        self._width = -1

    def draw(self) -> None:
        """Draws what has changed."""
        made = self._make(self.size.width)
        if made == self._made and self._width == self.size.width:
            return
        if len(made) != len(self._made):
            self.styles.height = len(made)
        self._made, self._width = made, self.size.width
        self.refresh()

    def on_resize(self) -> None:
        """Fits the lines into the new width."""
        self.draw()

    def render_line(self, y: int) -> Strip:
        """Draws a line."""
        if self._width != self.size.width:
            self._made, self._width = self._make(self.size.width), self.size.width
        if y >= len(self._made):
            return Strip.blank(self.size.width)
        return strip(self._made[y], self.size.width)


class Rows(Widget, can_focus=True):
    """The lines of a page; only those that are seen are made, only those that changed are drawn."""

    def __init__(self, page: Page, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self.page = page
        self._top = 0
        self._seen: list[Strip] = []

    def show(self, page: Page) -> None:
        """Shows another page, or the same one after it has changed."""
        if page is not self.page:
            self._top = 0
        self.page = page
        self._reveal()
        before, self._seen = self._seen, self._make()
        if len(before) != len(self._seen):
            self.refresh()
            return
        width = self.size.width
        changed = [
            Region(0, y, width, 1)
            for y, (old, new) in enumerate(zip(before, self._seen, strict=True))
            if old != new
        ]
        if changed:
            self.refresh(*changed)

    def _reveal(self) -> None:
        """Moves so that the chosen line is seen; text, so that it is the first."""
        height, cursor = self.size.height, self.page.cursor
        if not self.page.selectable or cursor < self._top:
            self._top = cursor
        elif cursor >= self._top + height:
            self._top = cursor - height + 1
        self._top = max(min(self._top, self.page.count() - height), 0)
        if not self.page.selectable:
            self.page.move(self._top)

    def _make(self) -> list[Strip]:
        page, width = self.page, self.size.width
        last = min(page.count(), self._top + self.size.height)
        return [
            strip(page.line(index, width), width, chosen=page.selectable and index == page.cursor)
            for index in range(self._top, last)
        ]

    def on_resize(self) -> None:
        """Shows as many lines as there is room for now."""
        self._reveal()
        self._seen = self._make()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draws a line of the page, an empty one where it has none."""
        return self._seen[y] if y < len(self._seen) else Strip.blank(self.size.width)
