"""Explanations as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.tools.terminal.console import print_json, print_table, say

if TYPE_CHECKING:
    from aerolog.tools.explain.explanation import Explanation, Section

_COLUMNS = ("offset", "size", "field", "value", "meaning")
_RIGHT = ("offset", "size")


def show(explained: Explanation) -> None:
    """A heading for each section, and its rows below it."""
    say(f"{explained.path}: {explained.kind}, {explained.size} bytes")
    say(explained.meaning)
    for section in explained.sections:
        _show_section(section)
    if explained.damage is not None:
        say("")
        say(f"Damaged: {explained.damage}")


def _show_section(section: Section) -> None:
    remark = f": {section.remark}" if section.remark else ""
    say("")
    say(f"{section.title} at {section.offset:#x}, {section.length} bytes{remark}")
    if section.rows:
        rows = [(f"{r.offset:#x}", r.size, r.name, r.value, r.note) for r in section.rows]
        print_table(_COLUMNS, rows, right=_RIGHT)


def show_json(explained: Explanation) -> None:
    """Prints an explanation as one JSON document."""
    print_json(as_dict(explained))


def as_dict(explained: Explanation) -> dict[str, Any]:
    """Names and values all the way down."""
    return {
        "path": explained.path,
        "kind": explained.kind,
        "meaning": explained.meaning,
        "size": explained.size,
        "damage": explained.damage,
        "sections": [
            {
                "title": one.title,
                "offset": one.offset,
                "length": one.length,
                "remark": one.remark,
                "rows": [row._asdict() for row in one.rows],
            }
            for one in explained.sections
        ],
    }
