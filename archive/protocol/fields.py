"""The field types of which the message tables are made (spec archive-protocol 1.2).

A field of a message class is annotated with one of these; the annotation is the layout. Offsets
follow from the order, except where a gap is stated with At.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from aerolog.archive.protocol.enums import NULL_INT32, NULL_INT64


@dataclass(frozen=True, slots=True)
class Fixed:
    """A little-endian integer inside the block: its struct code, and the value that says absent."""

    code: str
    null: int


@dataclass(frozen=True, slots=True)
class Var:
    """Variable data behind the block: a length of four bytes, then as many bytes."""

    is_text: bool


@dataclass(frozen=True, slots=True)
class Since:
    """The schema version from which on a field exists."""

    version: int


@dataclass(frozen=True, slots=True)
class At:
    """The offset of a field behind a gap."""

    offset: int


Int8 = Annotated[int, Fixed("b", -128)]
Int32 = Annotated[int, Fixed("i", NULL_INT32)]
Int64 = Annotated[int, Fixed("q", NULL_INT64)]
PackedVersion = Annotated[int, Fixed("i", 0)]
VarAscii = Annotated[str, Var(is_text=True)]
VarData = Annotated[bytes, Var(is_text=False)]
