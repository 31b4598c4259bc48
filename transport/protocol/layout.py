"""Description and coding of the packed little-endian messages between client and driver.

A message is a frozen dataclass whose annotations are its layout: a Field for each member, in wire
order. Only the fields that say so are aligned (spec cnc-and-commands 8). Control path; any thread.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import (
    TYPE_CHECKING,
    Annotated,
    ClassVar,
    TypeVar,
    dataclass_transform,
    get_args,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class FieldKind(Enum):
    """Wire type of a field."""

    I16 = "<h"
    U16 = "<H"
    I32 = "<i"
    I64 = "<q"
    STRING = "i32 byte count, then US-ASCII without terminator"
    BYTES = "i32 byte count, then the bytes"
    ADDRESS = "16 bytes"


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a message.

    Attributes:
        name: name of the dataclass member; empty in the member's annotation.
        align: the count word of a string or of bytes starts at the next multiple of this.
        optional: whether the message may end before the field, which is then 0.
        what: the word for the field in an error message.
    """

    kind: FieldKind
    align: int = 1
    optional: bool = False
    what: str = ""
    name: str = ""


Layout = tuple[Field, ...]

I16 = Annotated[int, Field(FieldKind.I16)]
U16 = Annotated[int, Field(FieldKind.U16)]
I32 = Annotated[int, Field(FieldKind.I32)]
I64 = Annotated[int, Field(FieldKind.I64)]
Text = Annotated[str, Field(FieldKind.STRING)]


@dataclass(frozen=True, slots=True)
class DriverMessage:
    """Base of the messages between client and driver.

    Attributes:
        TYPE_ID: the type of the record that holds the message.
        LAYOUT: the fields in wire order.
    """

    TYPE_ID: ClassVar[int] = 0
    LAYOUT: ClassVar[Layout] = ()


M = TypeVar("M", bound=DriverMessage)


@dataclass_transform(frozen_default=True)
def message_type(table: dict[int, type[M]], type_id: int) -> Callable[[type[M]], type[M]]:
    """Class decorator: makes a message of the annotations, and adds it to a table by its type.

    The annotations are objects, not texts, so that nothing has to be evaluated at each start.
    """

    def decorate(described: type[M]) -> type[M]:
        made = dataclass(frozen=True, slots=True)(described)
        made.TYPE_ID = type_id
        made.LAYOUT = tuple(
            replace(get_args(member.type)[1], name=member.name) for member in fields(made)
        )
        table[type_id] = made
        return made

    return decorate


_SIZES = {
    FieldKind.I16: 2,
    FieldKind.U16: 2,
    FieldKind.I32: 4,
    FieldKind.I64: 8,
    FieldKind.ADDRESS: 16,
}
_CODECS = {
    kind: struct.Struct(kind.value)
    for kind in (FieldKind.I16, FieldKind.U16, FieldKind.I32, FieldKind.I64)
}
_COUNT = struct.Struct("<i")

Value = int | str | bytes


class FieldError(Exception):
    """A field does not fit its message; callers translate this into an error of their own.

    Attributes:
        claimed: length of a message that would hold what the field's count word claims, or None
            if the fixed part is too short.
    """

    def __init__(self, field: Field, claimed: int | None) -> None:
        super().__init__(field.name)
        self.field = field
        self.claimed = claimed


def encode_ascii(text: str) -> bytes:
    """Encode a string as US-ASCII, with ``?`` for each character outside it."""
    return text.encode("ascii", "replace")


def fixed_length(layout: Layout) -> int:
    """Length in bytes of the shortest message: all counts are 0, optional fields are absent."""
    offset = 0
    for field in layout:
        if field.optional:
            break
        offset = -(-offset // field.align) * field.align + _SIZES.get(field.kind, _COUNT.size)
    return offset


def encode(message: DriverMessage) -> bytes:
    """Encode a message."""
    out = bytearray()
    for field in message.LAYOUT:
        out += bytes(-len(out) % field.align)
        value = getattr(message, field.name)
        if field.kind in _CODECS:
            out += _CODECS[field.kind].pack(value)
        elif field.kind is FieldKind.ADDRESS:
            out += value.ljust(16, b"\0")[:16]
        else:
            data = encode_ascii(value) if field.kind is FieldKind.STRING else bytes(value)
            out += _COUNT.pack(len(data)) + data
    return bytes(out)


def decode(layout: Layout, data: bytes) -> dict[str, Value]:
    """Read the fields of a message; bytes after the last field are ignored.

    Raises:
        FieldError: if a field reaches beyond the end of the message.
    """
    values: dict[str, Value] = {}
    offset = 0
    for field in layout:
        offset = -(-offset // field.align) * field.align
        size = _SIZES.get(field.kind, _COUNT.size)
        if offset + size > len(data):
            if field.optional and offset == len(data):
                values[field.name] = 0
                continue
            raise FieldError(field, None)
        if field.kind in _CODECS:
            (values[field.name],) = _CODECS[field.kind].unpack_from(data, offset)
        elif field.kind is FieldKind.ADDRESS:
            values[field.name] = data[offset : offset + size]
        else:
            values[field.name], size = _counted(field, data, offset)
        offset += size
    return values


def _counted(field: Field, data: bytes, offset: int) -> tuple[str | bytes, int]:
    (count,) = _COUNT.unpack_from(data, offset)
    start = offset + _COUNT.size
    if count < 0 or count > len(data) - start:
        raise FieldError(field, start + count)
    content = data[start : start + count]
    text = content.decode("ascii", "replace") if field.kind is FieldKind.STRING else content
    return text, _COUNT.size + count
