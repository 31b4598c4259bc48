"""Lines of a page: pieces of text, each with the name of a style; and tables of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from rich.cells import cell_len, set_cell_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from aerolog.tools.top.glyphs import Glyphs


class Style(StrEnum):
    """What a piece of text is; the terminal decides how that looks."""

    PLAIN = "plain"
    DIM = "dim"
    HEADING = "heading"
    TITLE = "title"
    KEY = "key"
    CURVE = "curve"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


Piece = tuple[str, Style]
Line = tuple[Piece, ...]
Row = TypeVar("Row")


def plain(line: Line) -> str:
    """The text of a line, without styles."""
    return "".join(text for text, _ in line)


def line(text: str, style: Style = Style.PLAIN) -> Line:
    """A line of one piece."""
    return ((text, style),)


def clean(text: str) -> str:
    """Text that came from a file, without what would move a terminal's cursor."""
    return "".join(char if char.isprintable() else "?" for char in text)


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Text in exactly that many cells: cut with a mark, or filled."""
    cells = cell_len(text)
    if cells > width:
        return set_cell_size(text, width - 1) + "~" if width > 1 else set_cell_size(text, width)
    return " " * (width - cells) + text if right else text + " " * (width - cells)


def fit_line(pieces: Line, width: int) -> Line:
    """A line of exactly that many cells."""
    fitted: list[Piece] = []
    left = width
    for text, style in pieces:
        cells = cell_len(text)
        if cells > left:
            fitted.append((set_cell_size(text, left), style))
            left = 0
            break
        fitted.append((text, style))
        left -= cells
    if left:
        fitted.append((" " * left, Style.PLAIN))
    return tuple(fitted)


def wrapped(text: str, width: int, style: Style = Style.PLAIN) -> list[Line]:
    """Text as lines of at most that many cells, broken at blanks where that is possible."""
    lines: list[Line] = []
    for paragraph in text.splitlines() or [""]:
        rest = clean(paragraph.expandtabs(4)).rstrip()
        while cell_len(rest) > width:
            room = len(set_cell_size(rest, width).rstrip())
            cut = rest.rfind(" ", 1, room + 1)
            cut = room if cut <= len(rest) - len(rest.lstrip()) else cut
            lines.append(line(rest[:cut], style))
            rest = rest[cut:].lstrip()
        lines.append(line(rest, style))
    return lines


def flowing(parts: Iterable[Line], width: int) -> list[Line]:
    """Parts one behind the other, on as many lines as they take; none is broken."""
    lines: list[Line] = [()]
    left = width
    for part in parts:
        cells = sum(cell_len(text) for text, _ in part)
        if cells > left and lines[-1]:
            lines.append(())
            left = width
        lines[-1] += part
        left -= cells
    return lines


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A column of a table.

    Attributes:
        title: the text in the heading.
        width: the width in cells; the least one when the column grows.
        piece: what stands there, from the row, the width and the glyphs.
        order: what the table is sorted by; None when it cannot be.
        right: whether numbers stand to the right.
        grows: the column's part of the room that is left, 0 for none.
        from_width: shown in a terminal of at least this many columns.
        descending: whether the greatest comes first, at first.
    """

    title: str
    width: int
    piece: Callable[[Row, int, Glyphs], Piece]
    order: Callable[[Row], tuple[float | str | int, ...]] | None = None
    right: bool = False
    grows: int = 0
    from_width: int = 0
    descending: bool = False


def column(
    title: str,
    width: int,
    piece: Callable[[Row], Piece],
    order: Callable[[Row], tuple[float | str | int, ...]] | None = None,
    *,
    right: bool = False,
    grows: int = 0,
    from_width: int = 0,
    descending: bool = False,
) -> Column[Row]:
    """A column whose pieces are the same in each width."""
    return Column(
        title,
        width,
        lambda row, _width, _glyphs: piece(row),
        order,
        right,
        grows,
        from_width,
        descending,
    )


def layout(columns: Sequence[Column[Row]], width: int) -> list[tuple[Column[Row], int]]:
    """The columns that a terminal of that width has room for, each with its width."""
    shown = [column for column in columns if column.from_width <= width]
    spare = max(width - sum(column.width for column in shown) - (len(shown) - 1), 0)
    parts = sum(column.grows for column in shown)
    placed = []
    for column in shown:
        more = spare * column.grows // parts if parts else 0
        spare, parts = spare - more, parts - column.grows
        placed.append((column, column.width + more))
    return placed


def heading(
    placed: Sequence[tuple[Column[Row], int]],
    sorted_by: Column[Row] | None,
    *,
    descending: bool,
    glyphs: Glyphs,
) -> Line:
    """The line above a table; the sorted column is marked."""
    pieces: list[Piece] = []
    for column, width in placed:
        title = column.title
        if column is sorted_by:
            title += glyphs.down if descending else glyphs.up
        pieces.append((fit(title, width, right=column.right), Style.HEADING))
        pieces.append((" ", Style.HEADING))
    return tuple(pieces[:-1])


def table_line(placed: Sequence[tuple[Column[Row], int]], row: Row, glyphs: Glyphs) -> Line:
    """The line of one row of a table."""
    pieces: list[Piece] = []
    for column, width in placed:
        text, style = column.piece(row, width, glyphs)
        pieces.append((fit(text, width, right=column.right), style))
        pieces.append((" ", Style.PLAIN))
    return tuple(pieces[:-1])
