"""The two widgets that there are: lines that stand still, and lines that are drawn when seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.strip import Strip
from textual.widget import Widget

from aerolog.tools.top.lines import Line, Style, fit_line

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
        """One line."""
        if self._width != self.size.width:
            self._made, self._width = self._make(self.size.width), self.size.width
        if y >= len(self._made):
            return Strip.blank(self.size.width)
        return strip(self._made[y], self.size.width)


class Rows(Widget, can_focus=True):
    """The lines of a page; only those that are seen are made."""

    def __init__(self, page: Page, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self.page = page
        self._top = 0

    def show(self, page: Page) -> None:
        """Shows another page, or the same one after it has changed."""
        if page is not self.page:
            self._top = 0
        self.page = page
        self.reveal()
        self.refresh()

    def reveal(self) -> None:
        """Moves so that the chosen line is seen; text, so that it is the first."""
        height, cursor = self.size.height, self.page.cursor
        if not self.page.selectable or cursor < self._top:
            self._top = cursor
        elif cursor >= self._top + height:
            self._top = cursor - height + 1
        self._top = max(min(self._top, self.page.count() - height), 0)
        if not self.page.selectable:
            self.page.move(self._top)

    def on_resize(self) -> None:
        """Shows as many lines as there is room for now."""
        self.reveal()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line, if the page has it."""
        index = self._top + y
        width = self.size.width
        if index >= self.page.count():
            return Strip.blank(width)
        chosen = self.page.selectable and index == self.page.cursor
        return strip(self.page.line(index, width), width, chosen=chosen)
