"""Tables of plain text are laid out without Rich, and as Rich lays them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from aerolog.tools.terminal import console

if TYPE_CHECKING:
    from collections.abc import Callable

_CELL = st.none() | st.integers() | st.text(st.characters(codec="ascii"), max_size=12)
# Headings are words of ours: Rich takes brackets in them for markup.
_WORD = st.text("abcdefgh_ 0123", min_size=1, max_size=9).map(str.strip).filter(bool)


@given(
    st.lists(_WORD, min_size=1, max_size=4, unique=True).flatmap(
        lambda columns: st.tuples(
            st.just(columns),
            st.lists(st.tuples(*(_CELL for _ in columns)), max_size=6),
            st.sets(st.sampled_from(columns)),
        )
    )
)
@example((["a", "b"], [(None, "x")], {"a"}))
@example((["channel"], [("aeron:ipc[bold]",), ("",)], set()))
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_lines_are_richs(
    capsys: pytest.CaptureFixture[str],
    table: tuple[list[str], list[tuple[object, ...]], set[str]],
) -> None:
    columns, rows, right = table
    printed = _printed(capsys, lambda: console.print_table(columns, rows, right=right))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console, "_lines", lambda *_: None)
        by_rich = _printed(capsys, lambda: console.print_table(columns, rows, right=right))
    assert printed == by_rich


def _printed(capsys: pytest.CaptureFixture[str], write: Callable[[], None]) -> str:
    capsys.readouterr()
    write()
    return capsys.readouterr().out
