"""Segment files outside of their recording's start and stop, by the reference's arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.tools.archive_files.segment_names import base_of
from aerolog.tools.command_line.java_error import JavaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.archive_files.catalog_editor import Entry


def orphans(entry: Entry, names: Sequence[str]) -> list[str]:
    """Those of a recording's segment files that lie outside of it."""
    first = entry.start_position & -entry.term_length
    start = _segment_base(entry, first, entry.start_position)
    stop = None if entry.is_active else _segment_base(entry, first, entry.stop_position)
    return [name for name in names if _is_outside(name, start, stop)]


def _segment_base(entry: Entry, first: int, position: int) -> int:
    """The reference's arithmetic: masks, whatever the lengths are."""
    return first + ((position - first) & -entry.segment_length)


def _is_outside(name: str, start: int, stop: int | None) -> bool:
    try:
        base = base_of(name)
    except JavaError:
        return True
    return base < start or (stop is not None and base > stop)
