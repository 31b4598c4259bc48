"""Encoders and decoders of message classes (spec archive-protocol 1).

A message is a slotted dataclass, decorated with its template id. Layout reads its annotations once,
at import, and compiles them to structs. Decoded bytes are not trusted: every length is checked
against the bytes that are there before it is used.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass, fields
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from aerolog.archive.protocol.enums import NULL_INT32, SCHEMA_ID, SCHEMA_VERSION, WireEnum
from aerolog.archive.protocol.fields import At, Fixed, Since, Var
from aerolog.transport.errors import MessageFormatError
from aerolog.transport.protocol.fixed_layout import Field, packer

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from _typeshed import DataclassInstance

Buffer = bytes | bytearray | memoryview

MESSAGE_HEADER = (
    Field("block_length", 0, "H"),
    Field("template_id", 2, "H"),
    Field("schema_id", 4, "H"),
    Field("schema_version", 6, "H"),
)
HEADER_LENGTH = 8
HEADER = packer(MESSAGE_HEADER, HEADER_LENGTH)
VAR_LENGTH = struct.Struct("<I")
EMPTY = VAR_LENGTH.pack(0)
VAR_LENGTH_MAX = 1_073_741_824


@dataclass(frozen=True, slots=True)
class MessageHeader:
    """The eight bytes before every message."""

    block_length: int
    template_id: int
    schema_id: int
    version: int

    @classmethod
    def read(cls, buffer: Buffer) -> MessageHeader:
        """Header at the start of a buffer.

        Raises:
            MessageFormatError: fewer bytes than a header has.
        """
        if len(buffer) < HEADER_LENGTH:
            raise MessageFormatError(
                f"message of {len(buffer)} bytes is shorter than its header of {HEADER_LENGTH}"
            )
        return cls(*HEADER.unpack_from(buffer))


@dataclass(frozen=True, slots=True)
class FixedField:
    """A field of the block."""

    name: str
    offset: int
    kind: Fixed
    since: int
    enum: type[WireEnum] | None

    @property
    def end(self) -> int:
        """First offset behind the field."""
        return self.offset + struct.calcsize("<" + self.kind.code)


@dataclass(frozen=True, slots=True)
class VarField:
    """A field behind the block."""

    name: str
    is_text: bool
    since: int


def _ascii(text: str) -> bytes:
    """Bytes of a text as the reference writes them: a ``?`` for each other UTF-16 unit."""
    if text.isascii():
        return text.encode("ascii")
    return b"".join(
        char.encode("ascii") if char.isascii() else b"?" * (1 + (ord(char) > 0xFFFF))
        for char in text
    )


class Layout:
    """Offsets, codes and structs of one message class.

    Attributes:
        template_id: number of the message on the wire.
        name: its name in the schema.
        block_length: of the newest schema version.
        fixed: fields of the block, in order.
        var: fields behind it, in order.
        enums: names and enumerations of the fields that have one.
        added_in: schema version that introduced the message.
    """

    def __init__(self, message_class: type[Message], template_id: int, added_in: int) -> None:
        self.template_id = template_id
        self.name = message_class.__name__
        self.added_in = added_in
        self.fixed: list[FixedField] = []
        self.var: list[VarField] = []
        hints = get_type_hints(message_class, include_extras=True)
        for field in fields(cast("type[DataclassInstance]", message_class)):
            self._add(field.name, hints[field.name])
        self.block_length = max((f.end for f in self.fixed), default=0)
        self._structs = [self._compile(count) for count in range(len(self.fixed) + 1)]
        self._ends = [field.end for field in self.fixed]
        self._names = [field.name for field in self.fixed]
        self.enums = [(f.name, f.enum) for f in self.fixed if f.enum is not None]
        self._counts = [self._count_in(version) for version in range(SCHEMA_VERSION + 1)]
        self._headers = [self._header(version) for version in range(SCHEMA_VERSION + 1)]

    def _add(self, name: str, hint: Any) -> None:
        is_annotated = get_origin(hint) is not None
        base, *notes = get_args(hint) if is_annotated else (hint,)
        since = next((n.version for n in notes if isinstance(n, Since)), 0)
        var = next((n for n in notes if isinstance(n, Var)), None)
        if var is not None:
            self.var.append(VarField(name, var.is_text, since))
            return
        enum = base if isinstance(base, type) and issubclass(base, WireEnum) else None
        kind = next((n for n in notes if isinstance(n, Fixed)), Fixed("i", NULL_INT32))
        offset = next((n.offset for n in notes if isinstance(n, At)), None)
        if offset is None:
            offset = self.fixed[-1].end if self.fixed else 0
        self.fixed.append(FixedField(name, offset, kind, since, enum))

    def _compile(self, count: int) -> struct.Struct:
        code = "<"
        end = 0
        for field in self.fixed[:count]:
            code += "x" * (field.offset - end) + field.kind.code
            end = field.end
        return struct.Struct(code)

    def _header(self, version: int) -> bytes:
        block_length = self._structs[self._counts[version]].size
        return HEADER.pack(block_length, self.template_id, SCHEMA_ID, version)

    def _count_in(self, version: int) -> int:
        """How many fields a schema version has."""
        newer = (index for index, field in enumerate(self.fixed) if field.since > version)
        return next(newer, len(self.fixed))

    def _fixed_count(self, version: int, block_length: int) -> int:
        """How many fields a block of that version and length holds."""
        if version == SCHEMA_VERSION and block_length == self.block_length:
            return len(self._names)
        return min(
            self._counts[min(version, SCHEMA_VERSION)], bisect_right(self._ends, block_length)
        )

    def encode_body(self, message: Message, version: int = SCHEMA_VERSION) -> bytes:
        """Block and variable data, without the header.

        Raises:
            MessageFormatError: a value does not fit its field.
        """
        count = self._counts[version]
        values = [getattr(message, name) for name in self._names[:count]]
        try:
            parts = [self._structs[count].pack(*values)]
        except struct.error as error:
            named = dict(zip((f.name for f in self.fixed), values, strict=False))
            raise MessageFormatError(f"{self.name} cannot be encoded: {error}: {named}") from error
        for field in self.var:
            if field.since > version:
                continue
            value = getattr(message, field.name)
            if not value:
                parts.append(EMPTY)
                continue
            data = _ascii(value) if field.is_text else bytes(value)
            if len(data) > VAR_LENGTH_MAX:
                raise MessageFormatError(
                    f"{self.name}.{field.name}: length {len(data)} is above {VAR_LENGTH_MAX}"
                )
            parts.append(VAR_LENGTH.pack(len(data)))
            parts.append(data)
        return b"".join(parts)

    def encode(self, message: Message, version: int = SCHEMA_VERSION) -> bytes:
        """The whole message, as a schema version has it."""
        return self._headers[version] + self.encode_body(message, version)

    def decode_body(
        self, buffer: Buffer, offset: int, block_length: int, version: int
    ) -> dict[str, Any]:
        """Values of all fields, those that are absent with their null value.

        Raises:
            MessageFormatError: the buffer is shorter than the block or a length says.
        """
        block_end = offset + block_length
        if block_end > len(buffer):
            raise MessageFormatError(
                f"{self.name}: block ends at {block_end}, the message at {len(buffer)}"
            )
        count = self._fixed_count(version, block_length)
        values: dict[str, Any] = dict(
            zip(self._names, self._structs[count].unpack_from(buffer, offset), strict=False)
        )
        for field in self.fixed[count:]:
            values[field.name] = field.kind.null
        for name, enum in self.enums:
            values[name] = enum(values[name])
        position = block_end
        for var in self.var:
            if var.since > version:
                values[var.name] = "" if var.is_text else b""
                continue
            start = position + VAR_LENGTH.size
            position = self._var_end(buffer, start, var.name)
            data = buffer[start:position]
            values[var.name] = str(data, "ascii", "replace") if var.is_text else bytes(data)
        return values

    def _var_end(self, buffer: Buffer, start: int, name: str) -> int:
        """Offset behind variable data that starts at an offset, its length being before it."""
        if start > len(buffer):
            raise MessageFormatError(
                f"{self.name}.{name}: its length ends at {start}, the message at {len(buffer)}"
            )
        (length,) = VAR_LENGTH.unpack_from(buffer, start - VAR_LENGTH.size)
        end: int = start + length
        if end > len(buffer):
            raise MessageFormatError(
                f"{self.name}.{name}: length {length}, but {len(buffer) - start} bytes are left"
            )
        return end


class Message:
    """Root of all message classes.

    Attributes:
        LAYOUT: the compiled table of the class.
    """

    __slots__ = ()
    LAYOUT: ClassVar[Layout]

    def encode(self, version: int = SCHEMA_VERSION) -> bytes:
        """Bytes of the message with its header, as a schema version has it.

        Raises:
            MessageFormatError: a value does not fit its field.
        """
        return self.LAYOUT.encode(self, version)

    def check_enums(self) -> Self:
        """This message.

        Raises:
            MessageFormatError: a value that its enumeration does not list, in the words of the
                reference's decoder.
        """
        for name, _ in self.LAYOUT.enums:
            value = getattr(self, name)
            if not value.is_listed:
                raise MessageFormatError(f"Unknown value: {int(value)} ({self.LAYOUT.name}.{name})")
        return self

    @classmethod
    def decode(cls, buffer: Buffer) -> Self:
        """Message from bytes that start with its header; what follows the last field is ignored.

        Raises:
            MessageFormatError: another schema or message, or bytes that do not hold together.
        """
        header = MessageHeader.read(buffer)
        if header.schema_id != SCHEMA_ID:
            raise MessageFormatError(f"expected schemaId={SCHEMA_ID}, actual={header.schema_id}")
        layout = cls.LAYOUT
        if header.template_id != layout.template_id:
            raise MessageFormatError(
                f"expected {layout.name}, templateId={layout.template_id}, "
                f"actual={header.template_id}"
            )
        return cls.from_body(buffer, header.block_length, header.version)

    @classmethod
    def from_body(cls, buffer: Buffer, block_length: int, version: int) -> Self:
        """Decode a message whose header has been read and checked already."""
        return cls(**cls.LAYOUT.decode_body(buffer, HEADER_LENGTH, block_length, version))


M = TypeVar("M", bound=Message)


@dataclass_transform(kw_only_default=True)
def message(template_id: int, *, added_in: int = 0) -> Callable[[type[M]], type[M]]:
    """Class decorator: makes a message class of the annotations, with its template id."""

    def decorate(message_class: type[M]) -> type[M]:
        made = dataclass(slots=True, kw_only=True)(message_class)
        made.LAYOUT = Layout(made, template_id, added_in)
        return made

    return decorate


def messages_of(module: ModuleType) -> tuple[type[Message], ...]:
    """The message classes that a module defines, in their order there."""
    return tuple(
        each
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == module.__name__ and "LAYOUT" in vars(each)
    )
