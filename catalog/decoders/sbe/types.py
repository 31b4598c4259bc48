"""Resolves the types of an SBE schema by name; their sizes and nesting are limited."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aerolog.catalog.decoders.sbe.model import (
    PRIMITIVES,
    BitSet,
    Composite,
    Enum,
    Field,
    Scalar,
    Type,
)

if TYPE_CHECKING:
    from aerolog.catalog.decoders.sbe.xml_tree import Element

NESTING_MAX = 8
BLOCK_MAX = 65_535
MEMBERS_MAX = 20_000  # of all composites together; each use counts, as references multiply
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_TYPE_TAGS = ("type", "composite", "enum", "set")


class Types:
    """The types of a schema by name."""

    def __init__(self, schema: Element) -> None:
        self._declared: dict[str, Element] = {}
        self._members = 0
        for section in schema.named("types"):
            for element in section.named(*_TYPE_TAGS):
                name = element.required("name")
                if name in self._declared:
                    raise element.error(f"the type {name} is declared twice")
                self._declared[name] = element

    def element(self, name: str, asking: Element) -> Element:
        """The declaration of a composite that has a role of its own.

        Raises:
            DecoderError: there is no such composite.
        """
        found = self._declared.get(name)
        if found is None or found.tag != "composite":
            raise asking.error(f"there is no composite {name!r}")
        return found

    def resolve(self, name: str, asking: Element, depth: int = 0) -> Type:
        """Resolve a name to its type.

        Raises:
            DecoderError: the type does not exist or is malformed.
        """
        found = self._declared.get(name)
        if found is not None:
            return self.of(found, depth)
        if name in PRIMITIVES:
            return Scalar(name, null=PRIMITIVES[name][2])
        raise asking.error(f"there is no type {name!r}")

    def of(self, element: Element, depth: int = 0) -> Type:
        """The type that an element declares."""
        if depth > NESTING_MAX:
            raise element.error(f"types nested deeper than {NESTING_MAX}, or in a circle")
        self._members += 1
        if self._members > MEMBERS_MAX:
            raise element.error(f"more than {MEMBERS_MAX} fields when references are followed")
        if element.tag == "type":
            return self._scalar(element, depth)
        if element.tag == "enum":
            return self._enum(element, depth)
        if element.tag == "set":
            return self._set(element, depth)
        return self._composite(element, depth)

    def _scalar(self, element: Element, depth: int) -> Scalar:
        primitive = element.required("primitiveType")
        if primitive not in PRIMITIVES:
            raise element.error(f"there is no primitive type {primitive!r}")
        presence = element.get("presence", "required")
        null = number_of(primitive, element.get("nullValue"), element)
        scalar = Scalar(
            primitive,
            length=element.number("length", 1, most=BLOCK_MAX),
            optional=presence == "optional",
            null=PRIMITIVES[primitive][2] if null is None else null,
            charset=element.get("characterEncoding"),
        )
        if presence != "constant":
            return scalar
        return self._constant(scalar, element, depth)

    def _constant(self, scalar: Scalar, element: Element, depth: int) -> Scalar:
        reference = element.get("valueRef")
        if reference:
            value, _ = self.enum_value(reference, element, depth + 1)
            return replace(scalar, constant=value)
        text = element.text.strip()
        if scalar.primitive == "char":
            return replace(scalar, constant=text)
        number = number_of(scalar.primitive, text, element)
        if number is None:
            raise element.error("a constant without a value")
        return replace(scalar, constant=number)

    def enum_value(self, reference: str, asking: Element, depth: int = 0) -> tuple[int, str]:
        """The value and name of a ``Type.NAME``.

        Raises:
            DecoderError: there is no such value.
        """
        type_name, _, name = reference.rpartition(".")
        kind = self.resolve(type_name, asking, depth)
        if isinstance(kind, Enum):
            for value, known in kind.names.items():
                if known == name:
                    return value, name
        raise asking.error(f"there is no value {reference!r}")

    def _encoding(self, element: Element, depth: int) -> Scalar:
        kind = self.resolve(element.required("encodingType"), element, depth + 1)
        if not isinstance(kind, Scalar) or kind.length != 1 or kind.constant is not None:
            raise element.error("an enum or a set is encoded as one number")
        return kind

    def _enum(self, element: Element, depth: int) -> Enum:
        encoding = self._encoding(element, depth)
        if encoding.primitive in {"float", "double"}:
            raise element.error("an enum is not encoded as a float")
        names: dict[int, str] = {}
        for child in element.named("validValue"):
            value = number_of(encoding.primitive, child.text.strip(), child)
            if value is None or value in names:
                raise child.error("a value of an enum is missing or there twice")
            names[int(value)] = child.required("name")
        null = number_of(encoding.primitive, element.get("nullValue"), element)
        return Enum(encoding.primitive, names, int(encoding.null if null is None else null))

    def _set(self, element: Element, depth: int) -> BitSet:
        encoding = self._encoding(element, depth)
        if encoding.primitive not in _UNSIGNED:
            raise element.error("a set is encoded as an unsigned number")
        bits: dict[str, int] = {}
        for child in element.named("choice"):
            text = child.text.strip()
            name = child.required("name")
            most = PRIMITIVES[encoding.primitive][0] * 8
            if not (text.isdecimal() and len(text) < 3 and int(text) < most) or name in bits:
                raise child.error(
                    f"the choice {name} is there twice, or its bit is not 0 ... {most}"
                )
            bits[name] = int(text)
        if not bits:
            raise element.error("a set without choices")
        return BitSet(encoding.primitive, bits)

    def _composite(self, element: Element, depth: int) -> Composite:
        members: list[Field] = []
        end = 0
        for child in element.named(*_TYPE_TAGS, "ref"):
            name = child.required("name")
            if child.tag == "ref":
                kind = self.resolve(child.required("type"), child, depth + 1)
            else:
                kind = self.of(child, depth + 1)
            offset = child.number("offset", end, most=BLOCK_MAX)
            if offset < end:
                raise child.error(f"{name} begins at {offset}, before the end of what precedes it")
            if any(member.name == name for member in members):
                raise child.error(f"the member {name} is there twice")
            members.append(Field(name, offset, kind, child.number("sinceVersion", 0)))
            end = offset + kind.size
            if end > BLOCK_MAX:
                raise child.error(f"a composite of more than {BLOCK_MAX} bytes")
        if not members:
            raise element.error("a composite without members")
        return Composite(tuple(members), end)


def number_of(primitive: str, text: str, element: Element) -> int | float | None:
    """Parse a number in the range of a primitive; an empty text gives None.

    Raises:
        DecoderError: the text is no number of that type.
    """
    if not text:
        return None
    size, kind, _ = PRIMITIVES[primitive]
    try:
        if kind[0] == "f":
            return float(text)
        if primitive == "char" and len(text) == 1:
            value = ord(text)
        else:
            value = int(text, 0) if text[:2].lower() == "0x" else int(text)
    except ValueError as error:
        raise element.error(f"{text[:40]!r} is no {primitive}") from error
    signed = kind[0] == "i"
    least = -(1 << size * 8 - 1) if signed else 0
    most = (1 << size * 8 - signed) - 1
    if not least <= value <= most:
        raise element.error(f"{text[:40]!r} is out of the range of {primitive}")
    return value
