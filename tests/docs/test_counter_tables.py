"""The tables of counters in docs/spec/counters.md and those of the code say the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aerolog.transport.counters.counter_kind import CounterKind

PAGE = Path(__file__).resolve().parents[2] / "docs" / "spec" / "counters.md"
ROW = re.compile(r"^\| (\d+) \| (?:[A-Z_]+ \| )?([^|]*)\|", re.MULTILINE)
FIELD = re.compile(r"\{\w+\}")


def rows(section: int) -> dict[int, str]:
    """The labels of a section's table by number; those with a reserved number only are left out."""
    text = PAGE.read_text().split(f"\n## {section}. ")[1].split("\n## ")[0]
    labels = {int(number): text.strip() for number, text in ROW.findall(text)}
    return {number: label for number, label in labels.items() if label.startswith("`")}


def begins_with(text: str, label: str) -> bool:
    """Whether a label of the page begins as one of the code, whose fields may be any text."""
    parts = (re.escape(part) for part in FIELD.split(label))
    return re.match("`" + ".+?".join(parts), text) is not None


def test_system_counters_are_those_of_the_page() -> None:
    page = rows(2)
    assert list(page) == [int(each) for each in SystemCounter] == list(range(46))
    assert [each.name for each in SystemCounter if not begins_with(page[each], each.label)] == []


@pytest.mark.parametrize(
    ("section", "table", "least"),
    [(4, CounterType, 19), (7, ArchiveCounterType, 18), (8, ClusterCounterType, 27)],
)
def test_types_are_those_of_the_page(
    section: int, table: Iterable[CounterKind], least: int
) -> None:
    known = {int(each): each for each in table if each.label}
    page = rows(section)
    assert len(page) >= least
    assert page.keys() <= known.keys()
    assert [
        known[each].name for each in page if not begins_with(page[each], known[each].label)
    ] == []


def test_another_label_is_found() -> None:
    assert begins_with("`pub-pos (concurrent)` / `pub-pos (exclusive)`", "pub-pos ({kind})")
    assert not begins_with("`pub-lmt`", "pub-pos ({kind})")
