"""Distinct error logs, in cnc.dat and in mark files (spec cnc-and-commands 6)."""

from __future__ import annotations

from typing import Final

from aerolog.tools.explain import number_notes
from aerolog.tools.explain.explanation import Item, Row, Section, joined, left_out, number, rows_of
from aerolog.transport.errors import FileFormatError

_HEADER_LENGTH: Final = 24
_ITEMS: Final = (
    Item("length", 0, "i"),
    Item("observations", 4, "i"),
    Item("last_observation", 8, "q", number_notes.time_ms),
    Item("first_observation", 16, "q", number_notes.time_ms),
)


def error_section(data: memoryview, start: int, length: int, limit: int) -> Section:
    """The records of an error log; the caller has checked that it lies in the file.

    Raises:
        FileFormatError: a record passes the log's end.
    """
    at, end = start, start + length
    rows: list[Row] = []
    total = shown = 0
    while at + _HEADER_LENGTH <= end and (size := number(data, at, "i")) > 0:
        if size < _HEADER_LENGTH or at + size > end:
            raise FileFormatError(
                f"error at offset {at}: length {size} passes the log's end, {end}"
            )
        total += 1
        if limit == 0 or shown < limit:
            shown += 1
            rows += rows_of(data, at, _ITEMS)
            text = str(data[at + _HEADER_LENGTH : at + size], "utf-8", "replace")
            rows.append(Row(at + _HEADER_LENGTH, size - _HEADER_LENGTH, "text", text.rstrip()))
        at += (size + 7) & ~7
    remark = joined(f"{total} distinct errors", left_out(shown, total, "errors"))
    return Section("Error log", start, length, rows, remark)
