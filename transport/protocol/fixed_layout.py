"""Tables that describe fixed layouts of little-endian integers in files, headers and metadata.

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
    """Return the offset of each field of a layout by its name."""
    return {field.name: field.offset for field in fields}


def packer(fields: tuple[Field, ...], length: int) -> struct.Struct:
    """Return a ``struct.Struct`` of ``length`` bytes for a layout; gaps become pad bytes."""
    text, at = "<", 0
    for field in fields:
        text += f"{field.offset - at}x" + field.format
        at = field.offset + field.size
    return struct.Struct(f"{text}{length - at}x")


def align(value: int, alignment: int) -> int:
    """Round ``value`` up to a multiple of ``alignment``, which is a power of two."""
    return (value + alignment - 1) & ~(alignment - 1)
