"""Numbers, curves and lines: as wide as they were promised, and true."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from aerolog.tools.top import glyphs, number_text
from aerolog.tools.top.text_lines import (
    Column,
    Style,
    clean,
    fit,
    fit_line,
    flowing,
    heading,
    layout,
    line,
    plain,
    table_line,
    wrapped,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.25, "0.2"),
        (7, "7"),
        (999, "999"),
        (1_000, "1.00k"),
        (9_994, "9.99k"),
        (9_995, "10.0k"),
        (12_345, "12.3k"),
        (999_499, "999k"),
        (999_500, "1.00M"),
        (-1_500, "-1.50k"),
        (123_456_789_012, "123G"),
    ],
)
def test_an_amount_has_three_digits(value: float, text: str) -> None:
    assert number_text.amount(value) == text


@given(st.integers(0, 2**63))
def test_an_amount_is_near_its_number_and_short(value: int) -> None:
    text = number_text.amount(value)
    assert len(text) <= 5
    unit = text[-1] if text[-1].isalpha() else ""
    shown = float(text.removesuffix(unit)) * 1_000 ** ("", *"kMGTPE").index(unit)
    assert shown == pytest.approx(value, rel=0.006)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0 ns"),
        (812, "812 ns"),
        (1_000, "1.00 us"),
        (99_400, "99.4 us"),
        (999_999, "1000 us"),
        (4_210_000, "4.21 ms"),
        (1_500_000_000, "1.50 s"),
        (75_000_000_000, "75 s"),
    ],
)
def test_a_duration_is_in_the_unit_that_suits_it(nanoseconds: int, text: str) -> None:
    assert number_text.duration(nanoseconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0s"), (59.9, "59s"), (184, "3m04s"), (18_600, "5h10m"), (198_000, "2d07h")],
)
def test_an_age_has_two_units(seconds: float, text: str) -> None:
    assert number_text.age(seconds) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"), [(1, 0, "-"), (1, 3, "33%"), (-5, 3, "0%"), (3, 3, "100%")]
)
def test_a_share_needs_a_whole(part: int, whole: int, text: str) -> None:
    assert number_text.share(part, whole) == text


def test_rates_that_nobody_knows_are_dashes() -> None:
    assert (number_text.rate(None), number_text.events(None), number_text.position(None)) == (
        "-",
        "-",
        "-",
    )
    assert (number_text.rate(1_500), number_text.events(0.5)) == ("1.50 kB/s", "0.5/s")


@given(
    st.lists(st.none() | st.floats(-1e9, 1e12), max_size=300),
    st.integers(0, 80),
    st.sampled_from([glyphs.BLOCKS, glyphs.ASCII]),
)
def test_a_sparkline_fills_its_width_with_the_newest_values(values, width, drawn) -> None:
    text = glyphs.sparkline(values, width, drawn)
    assert len(text) == width
    shown = values[-width:] if width else []
    for value, cell in zip(reversed(shown), reversed(text), strict=False):
        if value is None:
            assert cell == " "
        elif value <= 0:
            assert cell == drawn.levels[0]
        else:
            assert cell in drawn.levels[1:]
    highest = max((value for value in shown if value), default=0)
    if highest > 0:
        assert drawn.levels[-1] in text


@given(st.integers(0, 2**62), st.integers(0, 2**62), st.integers(1, 60))
def test_progress_is_full_only_at_the_end(part: int, whole: int, width: int) -> None:
    text = glyphs.progress(part, whole, width, glyphs.BLOCKS)
    assert len(text) == width
    assert (glyphs.BLOCKS.track not in text) == (whole > 0 and part >= whole)


@pytest.mark.parametrize(
    ("encoding", "drawn"),
    [
        ("utf-8", glyphs.BLOCKS),
        ("iso-8859-1", glyphs.ASCII),
        ("no such encoding", glyphs.ASCII),
        (None, glyphs.ASCII),
    ],
)
def test_a_terminal_gets_what_its_encoding_has(encoding: str | None, drawn: glyphs.Glyphs) -> None:
    assert glyphs.glyphs_for(encoding) is drawn


@given(st.text(max_size=40), st.integers(0, 30), st.booleans())
def test_text_is_fitted_to_the_cell(text: str, width: int, right: bool) -> None:
    assert cell_len(fit(clean(text), width, right=right)) == width
    assert cell_len(plain(fit_line(line(clean(text)), width))) == width


@given(st.text(max_size=200), st.integers(2, 40))
def test_wrapped_text_is_whole_and_no_wider(text: str, width: int) -> None:
    lines = [plain(one) for one in wrapped(text, width)]
    assert all(cell_len(one) <= width for one in lines)
    words = clean("".join(part.expandtabs(4) for part in text.splitlines())).replace(" ", "")
    assert "".join(lines).replace(" ", "") == words


def test_parts_flow_on_as_many_lines_as_they_take() -> None:
    parts = [line("one two "), line("three "), line("four ")]
    assert [plain(one) for one in flowing(parts, 14)] == ["one two three ", "four "]
    assert [plain(one) for one in flowing(parts, 3)] == ["one two ", "three ", "four "]
    assert [plain(one) for one in flowing([], 3)] == [""]


def test_columns_share_what_is_left_and_go_when_there_is_no_room() -> None:
    def column(title: str, width: int, grows: int = 0, from_width: int = 0) -> Column[int]:
        return Column(
            title,
            width,
            lambda row, _width, _glyphs: (str(row), Style.PLAIN),
            grows=grows,
            from_width=from_width,
        )

    columns = [column("A", 5), column("B", 5, 1), column("C", 5, 2), column("D", 5, 0, 40)]
    narrow, wide = layout(columns, 30), layout(columns, 40)
    assert [(one.title, width) for one, width in narrow] == [("A", 5), ("B", 9), ("C", 14)]
    assert [(one.title, width) for one, width in wide] == [("A", 5), ("B", 10), ("C", 17), ("D", 5)]
    for placed, width in ((narrow, 30), (wide, 40)):
        head = heading(placed, columns[0], descending=True, glyphs=glyphs.BLOCKS)
        assert (
            cell_len(plain(head)) == cell_len(plain(table_line(placed, 7, glyphs.BLOCKS))) == width
        )
        assert plain(head).startswith("A▼")
