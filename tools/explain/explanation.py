"""An explanation: sections of rows with their offsets in the file; and reading numbers safely."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Row(NamedTuple):
    """A value in a file.

    Attributes:
        size: bytes that it takes.
        name: the name of the field, or of the record.
        value: a number or a text.
        note: what the value means.
    """

    offset: int
    size: int
    name: str
    value: int | str
    note: str = ""


@dataclass(slots=True)
class Section:
    """A part of a file.

    Attributes:
        length: bytes.
        rows: what stands there.
        remark: what the rows do not show.
    """

    title: str
    offset: int
    length: int
    rows: list[Row] = field(default_factory=list)
    remark: str = ""


@dataclass(slots=True)
class Explanation:
    """All about a file.

    Attributes:
        kind: what it is, in a word.
        meaning: what it is, in a sentence.
        size: bytes.
        sections: what the file holds, in the order of the file.
        damage: what is wrong with it, None when nothing is.
    """

    path: str
    kind: str
    meaning: str
    size: int
    sections: list[Section] = field(default_factory=list)
    damage: str | None = None


class Item(NamedTuple):
    """A field of a layout: name, offset in its structure, struct code, and what it means."""

    name: str
    offset: int
    code: str
    note: Callable[[int], str] | str = ""


def number(data: memoryview, at: int, code: str) -> int:
    """A number at an offset.

    Raises:
        FileFormatError: it is not in the file.
    """
    size = struct.calcsize("<" + code)
    if at < 0 or at + size > len(data):
        raise FileFormatError(f"cut off at {len(data)}: {size} bytes are wanted at offset {at}")
    value: int = struct.unpack_from("<" + code, data, at)[0]
    return value


def rows_of(data: memoryview, base: int, items: Iterable[Item]) -> list[Row]:
    """The fields of a structure.

    Raises:
        FileFormatError: it is not whole in the file.
    """
    rows = []
    for item in items:
        value = number(data, base + item.offset, item.code)
        note = item.note(value) if callable(item.note) else item.note
        rows.append(
            Row(base + item.offset, struct.calcsize("<" + item.code), item.name, value, note)
        )
    return rows


def text_row(data: memoryview, at: int, name: str) -> Row:
    """A string behind its length.

    Raises:
        FileFormatError: it is not whole in the file.
    """
    length = number(data, at, "i")
    if not 0 <= length <= len(data) - at - 4:
        raise FileFormatError(f"{name} at offset {at} claims {length} bytes")
    return Row(at, 4 + length, name, str(data[at + 4 : at + 4 + length], "ascii", "replace"))


def joined(*remarks: str) -> str:
    """Remarks as one; those that are empty are left out."""
    return "; ".join(remark for remark in remarks if remark)


def left_out(shown: int, total: int, what: str) -> str:
    """A remark about what a limit has left out."""
    if shown >= total:
        return ""
    return f"{total - shown} more {what}: --limit 0 shows all"
