"""Bytes as people read them: offsets, hexadecimal digits, printable characters."""

from __future__ import annotations

from typing import Final

_ROW: Final = 16
_PRINTABLE: Final = bytes(c if 0x20 <= c <= 0x7E else ord(".") for c in range(256))
_RULE: Final = "+--------+-------------------------------------------------+----------------+"
_HEAD: Final = (
    "         +-------------------------------------------------+\n"
    "         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |\n" + _RULE
)


def hex_box(data: bytes | memoryview) -> str:
    """A box of sixteen bytes a row, without a line break at its end; nothing for no bytes."""
    content = bytes(data)
    if not content:
        return ""
    rows = (f"|{at:08x}| {digits:<47} |{text:<16}|" for at, digits, text in hex_rows(content))
    return "\n".join([_HEAD, *rows, _RULE])


def hex_rows(data: bytes) -> list[tuple[int, str, str]]:
    """Offset, digits and text of sixteen bytes each."""
    rows = []
    for at in range(0, len(data), _ROW):
        row = data[at : at + _ROW]
        rows.append((at, row.hex(" "), row.translate(_PRINTABLE).decode("ascii")))
    return rows
