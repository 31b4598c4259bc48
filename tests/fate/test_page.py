"""The page for operators shows the rows that the tests act."""

from __future__ import annotations

from fates import PAGE, ROWS, with_table


def test_the_page_shows_the_table() -> None:
    text = PAGE.read_text()
    assert with_table(text) == text, "write it: python tests/support/fates.py"


def test_no_row_stands_twice() -> None:
    rows = [(row.who, row.how, row.mode) for row in ROWS]
    assert len(set(rows)) == len(rows)
