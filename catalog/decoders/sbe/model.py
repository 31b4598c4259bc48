"""The model of an SBE schema, resolved: every field has an offset, a type and a null value."""

from __future__ import annotations

from dataclasses import dataclass, field

# Primitive type -> bytes, NumPy kind, null value.
PRIMITIVES: dict[str, tuple[int, str, int | float]] = {
    "char": (1, "u1", 0),
    "int8": (1, "i1", -(2**7)),
    "int16": (2, "i2", -(2**15)),
    "int32": (4, "i4", -(2**31)),
    "int64": (8, "i8", -(2**63)),
    "uint8": (1, "u1", 2**8 - 1),
    "uint16": (2, "u2", 2**16 - 1),
    "uint32": (4, "u4", 2**32 - 1),
    "uint64": (8, "u8", 2**64 - 1),
    "float": (4, "f4", float("nan")),
    "double": (8, "f8", float("nan")),
}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A primitive, or an array of them.

    Attributes:
        primitive: a key of ``PRIMITIVES``.
        length: the number of elements; 1 means that it is not an array.
        optional: whether the null value stands for a missing value.
        null: the null value.
        charset: the character encoding; empty for the default.
        constant: the value of a type that is not encoded in messages.
    """

    primitive: str
    length: int = 1
    optional: bool = False
    null: int | float = 0
    charset: str = ""
    constant: str | int | float | None = None

    @property
    def size(self) -> int:
        """The bytes in a message."""
        return 0 if self.constant is not None else PRIMITIVES[self.primitive][0] * self.length


@dataclass(frozen=True, slots=True)
class Enum:
    """An enumeration: names for some values of a primitive.

    Attributes:
        constant: the name, for a type that is not encoded in messages.
    """

    primitive: str
    names: dict[int, str]
    null: int
    constant: str | None = None

    @property
    def size(self) -> int:
        """The bytes in a message."""
        return 0 if self.constant is not None else PRIMITIVES[self.primitive][0]


@dataclass(frozen=True, slots=True)
class BitSet:
    """A set: names for the bits of an unsigned primitive."""

    primitive: str
    bits: dict[str, int]

    @property
    def size(self) -> int:
        """The bytes in a message."""
        return PRIMITIVES[self.primitive][0]


@dataclass(frozen=True, slots=True)
class Composite:
    """A composite: members one after the other."""

    members: tuple[Field, ...]
    size: int


Type = Scalar | Enum | BitSet | Composite


@dataclass(frozen=True, slots=True)
class Field:
    """A named value at an offset of its block or composite.

    Attributes:
        since: the version of the schema that introduced the field.
    """

    name: str
    offset: int
    type: Type
    since: int = 0


@dataclass(frozen=True, slots=True)
class Data:
    """A value of variable length behind its length.

    Attributes:
        header_size: the bytes before the value.
        length_offset: the offset of the length in them.
        charset: the character encoding of text; None for bytes.
    """

    name: str
    header_size: int
    length_offset: int
    length_primitive: str
    charset: str | None
    since: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Repeated entries behind their dimensions.

    Attributes:
        dimension_size: the bytes before the first entry.
        block_length_at: the offset and primitive of the entries' block length in them.
        count_at: the offset and primitive of the number of entries in them.
    """

    body: Body
    dimension_size: int
    block_length_at: tuple[int, str]
    count_at: tuple[int, str]
    since: int = 0

    @property
    def name(self) -> str:
        """The group's name."""
        return self.body.name


@dataclass(frozen=True, slots=True)
class Body:
    """A fixed block, then groups, then data: the body of a message or of a group's entry.

    Attributes:
        block_size: the bytes up to the end of the last known field.
    """

    name: str
    fields: tuple[Field, ...]
    groups: tuple[Group, ...]
    data: tuple[Data, ...]
    block_size: int

    @property
    def is_flat(self) -> bool:
        """Whether a group of these bodies has entries of one length."""
        return not self.groups and not self.data

    def required_sizes(self) -> list[tuple[int, int]]:
        """The versions, ascending, and the least block length of each."""
        versions = sorted({0, *(one.since for one in self.fields)})
        return [
            (
                version,
                max(
                    (one.offset + one.type.size for one in self.fields if one.since <= version),
                    default=0,
                ),
            )
            for version in versions
        ]


@dataclass(frozen=True, slots=True)
class Header:
    """The offset and primitive of each of the four fields of the message header."""

    size: int
    block_length: tuple[int, str]
    template_id: tuple[int, str]
    schema_id: tuple[int, str]
    version: tuple[int, str]


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """All messages of a schema.

    Attributes:
        byte_order: ``<`` or ``>``, as in NumPy.
        messages: the messages by template id.
    """

    schema_id: int
    version: int
    byte_order: str
    header: Header
    messages: dict[int, Body] = field(default_factory=dict)
