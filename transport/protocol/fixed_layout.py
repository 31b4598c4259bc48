"""Fixed layouts of little-endian integers, as tables: files, headers and metadata are made of them.

Control path; any thread.
"""

from __future__ import annotations

import struct
from typing import NamedTuple


class Field(NamedTuple):
    """One integer of a layout: name, offset from the start of its structure, struct format."""

    name: str
    offset: int
    format: str

    @property
    def size(self) -> int:
        """Bytes that the field takes."""
        return struct.calcsize("<" + self.format)


def offsets(fields: tuple[Field, ...]) -> dict[str, int]:
    """Offsets of a layout by field name."""
    return {field.name: field.offset for field in fields}


def packer(fields: tuple[Field, ...], length: int) -> struct.Struct:
    """A ``struct.Struct`` of a whole layout with its holes, ``length`` bytes long."""
    text, at = "<", 0
    for field in fields:
        text += f"{field.offset - at}x" + field.format
        at = field.offset + field.size
    return struct.Struct(f"{text}{length - at}x")


def align(value: int, alignment: int) -> int:
    """``value`` rounded up to a multiple of ``alignment``, a power of two."""
    return (value + alignment - 1) & ~(alignment - 1)
