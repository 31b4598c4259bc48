"""What an SBE schema says, resolved: every field has an offset, a type and a null value."""

from __future__ import annotations

from dataclasses import dataclass, field

# Primitive type: bytes, NumPy kind, null value.
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
        length: elements; 1 is no array.
        optional: the null value means that there is no value.
        null: that value.
        charset: of characters; empty for the default.
        constant: the value where nothing is encoded.
    """

    primitive: str
    length: int = 1
    optional: bool = False
    null: int | float = 0
    charset: str = ""
    constant: str | int | float | None = None

    @property
    def size(self) -> int:
        """Bytes in a message."""
        return 0 if self.constant is not None else PRIMITIVES[self.primitive][0] * self.length


@dataclass(frozen=True, slots=True)
class Enum:
    """A name for each of some values of a primitive.

    Attributes:
        constant: the name, where nothing is encoded.
    """

    primitive: str
    names: dict[int, str]
    null: int
    constant: str | None = None

    @property
    def size(self) -> int:
        """Bytes in a message."""
        return 0 if self.constant is not None else PRIMITIVES[self.primitive][0]


@dataclass(frozen=True, slots=True)
class BitSet:
    """Names of bits of an unsigned primitive."""

    primitive: str
    bits: dict[str, int]

    @property
    def size(self) -> int:
        """Bytes in a message."""
        return PRIMITIVES[self.primitive][0]


@dataclass(frozen=True, slots=True)
class Composite:
    """Members one after the other."""

    members: tuple[Field, ...]
    size: int


Type = Scalar | Enum | BitSet | Composite


@dataclass(frozen=True, slots=True)
class Field:
    """A named value at an offset of its block or composite.

    Attributes:
        since: version of the schema that brought it.
    """

    name: str
    offset: int
    type: Type
    since: int = 0


@dataclass(frozen=True, slots=True)
class Data:
    """A value of variable length behind its length.

    Attributes:
        header_size: bytes before the value.
        length_offset: of the length in them.
        charset: of text; None for bytes.
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
        dimension_size: bytes before the first entry.
        block_length_at: offset and primitive of the entries' length in them.
        count_at: offset and primitive of their number.
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
    """A fixed block, then groups, then data: what a message is, and an entry of a group.

    Attributes:
        block_size: bytes to the end of the last field that is known.
    """

    name: str
    fields: tuple[Field, ...]
    groups: tuple[Group, ...]
    data: tuple[Data, ...]
    block_size: int

    @property
    def is_flat(self) -> bool:
        """All entries of a group of these have one length."""
        return not self.groups and not self.data

    def required_sizes(self) -> list[tuple[int, int]]:
        """Versions, ascending, and how long a block of that version is at least."""
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
    """Where the message header has its four fields: offset and primitive of each."""

    size: int
    block_length: tuple[int, str]
    template_id: tuple[int, str]
    schema_id: tuple[int, str]
    version: tuple[int, str]


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """All messages of a schema.

    Attributes:
        byte_order: ``<`` or ``>``, as NumPy has it.
        messages: by template id.
    """

    schema_id: int
    version: int
    byte_order: str
    header: Header
    messages: dict[int, Body] = field(default_factory=dict)
