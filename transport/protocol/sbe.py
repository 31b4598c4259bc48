"""SBE messages: encoders and decoders of message classes (spec archive-protocol 1, spec cluster 6).

A message is a slotted dataclass whose annotations are its layout: offsets follow from the order,
except where a gap is stated with At. Layout reads the annotations once, at import, and compiles
them to structs. Decoded bytes are not trusted: every length is checked against the bytes that are
there before it is used.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    NamedTuple,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from aerolog.transport.errors import MessageFormatError
from aerolog.transport.protocol.fixed_layout import Field, packer

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from _typeshed import DataclassInstance

Buffer = bytes | bytearray | memoryview

NULL_INT32: Final = -(2**31)
NULL_INT64: Final = -(2**63)

MESSAGE_HEADER = (
    Field("block_length", 0, "H"),
    Field("template_id", 2, "H"),
    Field("schema_id", 4, "H"),
    Field("schema_version", 6, "H"),
)
HEADER_LENGTH = 8
HEADER = packer(MESSAGE_HEADER, HEADER_LENGTH)
#: Behind the header in schemas that have it: the length of the whole message, and padding.
FRAME_LENGTH_FIELDS = (*MESSAGE_HEADER, Field("frame_length", 8, "i"))
FRAMED_HEADER_LENGTH = 16
FRAMED_HEADER = packer(FRAME_LENGTH_FIELDS, FRAMED_HEADER_LENGTH)
VAR_LENGTH = struct.Struct("<I")
EMPTY = VAR_LENGTH.pack(0)
VAR_LENGTH_MAX = 1_073_741_824
GROUP_HEADER = struct.Struct("<HH")  # the length of an entry's block, and the number of entries
GROUP_COUNT_MAX = 65_534


# -- the types of fields ---------------------------------------------------------------------------


class Fixed(NamedTuple):
    """A little-endian integer inside the block: its struct code, and the value that says absent."""

    code: str
    null: int


class Var(NamedTuple):
    """Variable data behind the block: a length of four bytes, then as many bytes."""

    is_text: bool


class Group(NamedTuple):
    """Entries between the block and the variable data, all of one class."""

    entry: type[GroupEntry]


class Since(NamedTuple):
    """The schema version from which on a field exists."""

    version: int


class At(NamedTuple):
    """The offset of a field behind a gap."""

    offset: int


Int8 = Annotated[int, Fixed("b", -128)]
UInt8 = Annotated[int, Fixed("B", 255)]
Int32 = Annotated[int, Fixed("i", NULL_INT32)]
Int64 = Annotated[int, Fixed("q", NULL_INT64)]
PackedVersion = Annotated[int, Fixed("i", 0)]
VarAscii = Annotated[str, Var(is_text=True)]
VarData = Annotated[bytes, Var(is_text=False)]


class WireEnum(IntEnum):
    """An enumeration of four bytes; a number that it does not list becomes a nameless member."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        member = int.__new__(cls, value)  # type: ignore[call-overload]
        member._name_ = f"UNKNOWN_{value}"
        member._value_ = value
        return member  # type: ignore[no-any-return]

    @property
    def is_listed(self) -> bool:
        """Whether the schema has the value."""
        return self._value_ in type(self)._value2member_map_


class BooleanType(WireEnum):
    """A boolean field of four bytes."""

    NULL = NULL_INT32
    FALSE = 0
    TRUE = 1


# -- layouts ---------------------------------------------------------------------------------------


class MessageHeader(NamedTuple):
    """The first eight bytes of every message."""

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


class FixedField(NamedTuple):
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


class VarField(NamedTuple):
    """A field behind the block."""

    name: str
    is_text: bool
    since: int


class GroupField(NamedTuple):
    """A group behind the block, before the variable data."""

    name: str
    entry: type[GroupEntry]


def _ascii(text: str) -> bytes:
    """Bytes of a text as the reference writes them: a ``?`` for each other UTF-16 unit."""
    if text.isascii():
        return text.encode("ascii")
    return b"".join(
        char.encode("ascii") if char.isascii() else b"?" * (1 + (ord(char) > 0xFFFF))
        for char in text
    )


class Layout:
    """Offsets, codes and structs of one class: of a message, or of an entry of a group.

    Attributes:
        name: its name in the schema.
        names: of all fields, in order.
        block_length: of the newest schema version.
        fixed: fields of the block, in order.
        groups: groups behind it, in order.
        var: fields behind those, in order.
        enums: names and enumerations of the fields that have one.
        schema_version: the newest version.
    """

    def __init__(self, described: type, schema_version: int) -> None:
        self.name = described.__name__
        self.schema_version = schema_version
        self.fixed: list[FixedField] = []
        self.groups: list[GroupField] = []
        self.var: list[VarField] = []
        hints = get_type_hints(described, include_extras=True)
        self.names = [field.name for field in fields(cast("type[DataclassInstance]", described))]
        for name in self.names:
            self._add(name, hints[name])
        self.block_length = max((f.end for f in self.fixed), default=0)
        self._structs = [self._compile(count) for count in range(len(self.fixed) + 1)]
        self._ends = [field.end for field in self.fixed]
        self._names = [field.name for field in self.fixed]
        self.enums = [(f.name, f.enum) for f in self.fixed if f.enum is not None]
        self._counts = [self._count_in(version) for version in range(schema_version + 1)]

    def _add(self, name: str, hint: Any) -> None:
        is_annotated = get_origin(hint) is not None
        base, *notes = get_args(hint) if is_annotated else (hint,)
        since = next((n.version for n in notes if isinstance(n, Since)), 0)
        group = next((n for n in notes if isinstance(n, Group)), None)
        if group is not None:
            self.groups.append(GroupField(name, group.entry))
            return
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

    def _count_in(self, version: int) -> int:
        """How many fields a schema version has."""
        newer = (index for index, field in enumerate(self.fixed) if field.since > version)
        return next(newer, len(self.fixed))

    def _fixed_count(self, version: int, block_length: int) -> int:
        """How many fields a block of that version and length holds."""
        if version == self.schema_version and block_length == self.block_length:
            return len(self._names)
        return min(
            self._counts[min(version, self.schema_version)],
            bisect_right(self._ends, block_length),
        )

    def block_length_in(self, version: int) -> int:
        """Bytes of the block as a schema version has it."""
        return self._structs[self._counts[version]].size

    def encode_body(self, message: object, version: int) -> bytes:
        """Block, groups and variable data, without the header.

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
        for group in self.groups:
            entries = getattr(message, group.name)
            if len(entries) > GROUP_COUNT_MAX:
                raise MessageFormatError(
                    f"{self.name}.{group.name}: {len(entries)} entries are above {GROUP_COUNT_MAX}"
                )
            layout = group.entry.LAYOUT
            parts.append(GROUP_HEADER.pack(layout.block_length_in(version), len(entries)))
            parts += [layout.encode_body(entry, version) for entry in entries]
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

    def decode_body(
        self, buffer: Buffer, offset: int, block_length: int, version: int
    ) -> tuple[dict[str, Any], int]:
        """Values of all fields, those that are absent with their null value, and where they end.

        Raises:
            MessageFormatError: the buffer is shorter than the block or a length says.
        """
        block_end = offset + block_length
        if block_end > len(buffer):
            raise MessageFormatError(
                f"{self.name}: block ends at {block_end}, the message at {len(buffer)}"
            )
        values = self.decode_block(buffer, offset, self._fixed_count(version, block_length))
        position = block_end
        for group in self.groups:
            values[group.name], position = self._decode_group(group, buffer, position, version)
        for var in self.var:
            if var.since > version:
                values[var.name] = "" if var.is_text else b""
                continue
            start = position + VAR_LENGTH.size
            position = self._var_end(buffer, start, var.name)
            data = buffer[start:position]
            values[var.name] = str(data, "ascii", "replace") if var.is_text else bytes(data)
        return values, position

    def decode_block(self, buffer: Buffer, offset: int, count: int = -1) -> dict[str, Any]:
        """Values of the fields of a block that is there whole, or of so many of its first fields.

        The fields behind those have their null value.
        """
        values: dict[str, Any] = dict(
            zip(self._names, self._structs[count].unpack_from(buffer, offset), strict=False)
        )
        if count >= 0:
            for field in self.fixed[count:]:
                values[field.name] = field.kind.null
        for name, enum in self.enums:
            values[name] = enum(values[name])
        return values

    def _decode_group(
        self, group: GroupField, buffer: Buffer, offset: int, version: int
    ) -> tuple[tuple[GroupEntry, ...], int]:
        position = offset + GROUP_HEADER.size
        if position > len(buffer):
            raise MessageFormatError(
                f"{self.name}.{group.name}: its header ends at {position}, the message at"
                f" {len(buffer)}"
            )
        block_length, count = GROUP_HEADER.unpack_from(buffer, offset)
        layout = group.entry.LAYOUT
        # Entries without bytes would let a message of a few bytes make tens of thousands of them.
        if count * (block_length + VAR_LENGTH.size * len(layout.var)) > len(buffer) - position or (
            count and not block_length
        ):
            raise MessageFormatError(
                f"{self.name}.{group.name}: {count} entries of {block_length} bytes and more, but"
                f" {len(buffer) - position} bytes are left"
            )
        entries = []
        for _ in range(count):
            values, position = layout.decode_body(buffer, position, block_length, version)
            entries.append(group.entry(**values))
        return tuple(entries), position

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


class MessageLayout(Layout):
    """The layout of a message.

    Attributes:
        schema: the schema that the message is part of.
        template_id: number of the message on the wire.
        added_in: schema version that introduced the message.
        header_length: bytes before the block.
    """

    def __init__(
        self, message_class: type[Message], schema: Schema, template_id: int, added_in: int
    ) -> None:
        super().__init__(message_class, schema.version)
        self.schema = schema
        self.template_id = template_id
        self.added_in = added_in
        self.header_length = FRAMED_HEADER_LENGTH if schema.has_frame_length else HEADER_LENGTH
        self._headers = [
            HEADER.pack(self.block_length_in(version), template_id, schema.id, version)
            for version in range(schema.version + 1)
        ]

    def encode(self, message: Message, version: int | None = None) -> bytes:
        """The whole message, as a schema version has it."""
        if version is None:
            version = self.schema_version
        body = self.encode_body(message, version)
        if self.schema.has_frame_length:
            length = self.header_length + len(body)
            return FRAMED_HEADER.pack(*HEADER.unpack(self._headers[version]), length) + body
        return self._headers[version] + body


# -- messages and their schema ---------------------------------------------------------------------


class Record:
    """What messages and entries of groups have in common: values that compare and show.

    The methods stand here once, where a dataclass would compile them for each class.
    """

    __slots__ = ()
    LAYOUT: ClassVar[Layout]
    # The fields may change.
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.LAYOUT.names)

    def __repr__(self) -> str:
        # What proves who someone is may be a password.
        values = (
            f"{name}={getattr(self, name)!r}"
            for name in self.LAYOUT.names
            if "credentials" not in name
        )
        return f"{type(self).__qualname__}({', '.join(values)})"


class GroupEntry(Record):
    """Root of the classes of which groups are made.

    Attributes:
        LAYOUT: the compiled table of the class.
    """

    __slots__ = ()


class Message(Record):
    """Root of all message classes.

    Attributes:
        LAYOUT: the compiled table of the class.
    """

    __slots__ = ()
    LAYOUT: ClassVar[MessageLayout]

    def encode(self, version: int | None = None) -> bytes:
        """Bytes of the message with its header.

        Args:
            version: of the schema; the newest by default.

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
        layout = cls.LAYOUT
        if header.schema_id != layout.schema.id:
            raise MessageFormatError(
                f"expected schemaId={layout.schema.id}, actual={header.schema_id}"
            )
        if header.template_id != layout.template_id:
            raise MessageFormatError(
                f"expected {layout.name}, templateId={layout.template_id}, "
                f"actual={header.template_id}"
            )
        return cls.from_body(buffer, header.block_length, header.version)

    @classmethod
    def from_body(cls, buffer: Buffer, block_length: int, version: int) -> Self:
        """Decode a message whose header has been read and checked already."""
        layout = cls.LAYOUT
        values, _ = layout.decode_body(buffer, layout.header_length, block_length, version)
        return cls(**values)


M = TypeVar("M", bound=Message)
E = TypeVar("E", bound=GroupEntry)


class Schema:
    """A schema: its numbers, and its messages.

    Attributes:
        id: the number of the schema in each message's header.
        version: the newest version, which is the one that is written.
        has_frame_length: whether the header of its messages says how long they are.
        messages: the message classes by template id, in the order in which they were defined.
    """

    def __init__(self, schema_id: int, version: int, *, has_frame_length: bool = False) -> None:
        self.id = schema_id
        self.version = version
        self.has_frame_length = has_frame_length
        self.messages: dict[int, type[Message]] = {}

    def add_message(self, template_id: int, added_in: int = 0) -> Callable[[type[M]], type[M]]:
        """Class decorator: makes a message of the annotations; see ``message`` of a protocol."""

        def decorate(message_class: type[M]) -> type[M]:
            made = dataclass(slots=True, kw_only=True, eq=False, repr=False)(message_class)
            made.LAYOUT = MessageLayout(made, self, template_id, added_in)
            self.messages[template_id] = made
            return made

        return decorate

    def add_entry(self, entry_class: type[E]) -> type[E]:
        """Class decorator: makes an entry of groups of the annotations."""
        made = dataclass(slots=True, kw_only=True, eq=False, repr=False)(entry_class)
        made.LAYOUT = Layout(made, self.version)
        return made

    def decode(self, buffer: Buffer) -> Message | None:
        """The message at the start of a buffer, None when the schema has no such template id.

        Both sides of the protocols ignore template ids that they do not know.

        Raises:
            MessageFormatError: another schema, or bytes that do not hold together.
        """
        if len(buffer) < HEADER_LENGTH:
            MessageHeader.read(buffer)  # says what is wrong
        block_length, template_id, schema_id, version = HEADER.unpack_from(buffer)
        if schema_id != self.id:
            raise MessageFormatError(f"expected schemaId={self.id}, actual={schema_id}")
        found = self.messages.get(template_id)
        return None if found is None else found.from_body(buffer, block_length, version)


@dataclass_transform(kw_only_default=True)
def message_of(schema: Schema, template_id: int) -> Callable[[type[M]], type[M]]:
    """Class decorator: makes a message class of a schema; for schemas of one or two messages."""
    return schema.add_message(template_id)


def messages_of(module: ModuleType) -> tuple[type[Message], ...]:
    """The message classes that a module defines, in their order there."""
    return tuple(
        each
        for each in vars(module).values()
        if isinstance(each, type)
        and issubclass(each, Message)
        and each.__module__ == module.__name__
        and "LAYOUT" in vars(each)
    )


# -- versions --------------------------------------------------------------------------------------


def semantic_version(major: int, minor: int, patch: int) -> int:
    """Pack a version as the protocols carry it.

    Args:
        major: 0 to 255, as the other two; not all three may be 0.
        minor: second number.
        patch: third number.

    Raises:
        ValueError: a number out of range.
    """
    numbers = (major, minor, patch)
    if not all(0 <= number <= 255 for number in numbers) or not any(numbers):
        raise ValueError(f"not a semantic version: {major}.{minor}.{patch}, each is 0 to 255")
    return major << 16 | minor << 8 | patch


def semantic_version_text(version: int) -> str:
    """``major.minor.patch`` of a packed version."""
    return f"{version >> 16 & 0xFF}.{version >> 8 & 0xFF}.{version & 0xFF}"


def semantic_version_major(version: int) -> int:
    """Major number of a packed version, the only one that archives and clusters compare."""
    return version >> 16 & 0xFF
