"""Compiles an SBE message schema from its XML."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aerolog.catalog.decoders.sbe.model import (
    PRIMITIVES,
    Body,
    Composite,
    Data,
    Enum,
    Field,
    Group,
    Header,
    MessageSchema,
    Scalar,
    Type,
)
from aerolog.catalog.decoders.sbe.types import BLOCK_MAX, Types
from aerolog.catalog.decoders.sbe.xml_tree import parse_xml

if TYPE_CHECKING:
    from aerolog.catalog.decoders.sbe.xml_tree import Element

GROUP_NESTING_MAX = 8
_LENGTHS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")


def read_schema(content: bytes) -> MessageSchema:
    """Compile a schema's XML.

    Args:
        content: the document, without includes.

    Raises:
        DecoderError: the document is not XML or not an SBE schema; the text names the line.
    """
    root = parse_xml(content)
    if root.tag != "messageSchema":
        raise root.error(f"<messageSchema> expected, not <{root.tag}>")
    orders = {"littleEndian": "<", "bigEndian": ">"}
    order = root.get("byteOrder", "littleEndian")
    if order not in orders:
        raise root.error(f"byteOrder is littleEndian or bigEndian, not {order!r}")
    types = Types(root)
    header = types.element(root.get("headerType", "messageHeader"), root)
    schema = MessageSchema(
        schema_id=root.number("id"),
        version=root.number("version", 0),
        byte_order=orders[order],
        header=_header(types, header),
    )
    for element in root.named("message"):
        template_id = element.number("id")
        if template_id in schema.messages:
            raise element.error(f"the template id {template_id} is there twice")
        schema.messages[template_id] = _body(types, element, 0)
    if not schema.messages:
        raise root.error("a schema without messages")
    return schema


def _number_at(composite: Composite, name: str, element: Element) -> tuple[int, str]:
    """The offset and primitive of a composite's member that is a length or a number."""
    for member in composite.members:
        kind = member.type
        if member.name == name and isinstance(kind, Scalar):
            if kind.length != 1 or kind.constant is not None or kind.primitive not in _LENGTHS:
                break
            return member.offset, kind.primitive
    raise element.error(f"{element.get('name')} has no number {name!r}")


def _role(types: Types, element: Element) -> Composite:
    kind = types.of(element)
    if not isinstance(kind, Composite):
        raise element.error("a composite expected")
    return kind


def _header(types: Types, element: Element) -> Header:
    composite = _role(types, element)
    names = ("blockLength", "templateId", "schemaId", "version")
    block_length, template_id, schema_id, version = (
        _number_at(composite, name, element) for name in names
    )
    return Header(composite.size, block_length, template_id, schema_id, version)


def _body(types: Types, element: Element, depth: int) -> Body:
    name = element.required("name")
    if depth > GROUP_NESTING_MAX:
        raise element.error(f"groups nested deeper than {GROUP_NESTING_MAX}")
    fields: list[Field] = []
    end = 0
    for child in element.named("field"):
        one = _field(types, child, end)
        fields.append(one)
        end = one.offset + one.type.size
        if end > BLOCK_MAX:
            raise child.error(f"a block of more than {BLOCK_MAX} bytes")
    declared = element.number("blockLength", end, most=BLOCK_MAX)
    if declared < end:
        raise element.error(f"{name} has a block of {declared} bytes, and fields of {end}")
    groups = tuple(_group(types, child, depth + 1) for child in element.named("group"))
    data = tuple(_data(types, child) for child in element.named("data"))
    names = [one.name for one in fields]
    names += [one.name for one in groups]
    names += [one.name for one in data]
    if len(set(names)) < len(names):
        raise element.error(f"{name} has a name twice: {', '.join(sorted(names))[:100]}")
    if depth and not names:
        raise element.error(f"the group {name} has no fields")
    return Body(name, tuple(fields), groups, data, end)


def _field(types: Types, element: Element, end: int) -> Field:
    name = element.required("name")
    kind = types.resolve(element.required("type"), element)
    kind = _present(types, element, kind)
    offset = element.number("offset", end, most=BLOCK_MAX)
    if offset < end:
        raise element.error(f"{name} begins at {offset}, before the end of what precedes it")
    return Field(name, offset, kind, element.number("sinceVersion", 0))


def _present(types: Types, element: Element, kind: Type) -> Type:
    """The type with the presence that the field declares."""
    presence = element.get("presence")
    if presence == "optional" and isinstance(kind, Scalar):
        return replace(kind, optional=True)
    if presence == "required" and isinstance(kind, Scalar) and kind.constant is None:
        return replace(kind, optional=False)
    if presence == "constant":
        reference = element.get("valueRef")
        if reference:
            value, value_name = types.enum_value(reference, element)
            if isinstance(kind, Enum):
                return replace(kind, constant=value_name)
            if isinstance(kind, Scalar):
                constant = chr(value) if kind.primitive == "char" else value
                return replace(kind, constant=constant)
        if not isinstance(kind, Scalar) or kind.constant is None:
            raise element.error(f"the constant {element.get('name')} has no value")
    return kind


def _group(types: Types, element: Element, depth: int) -> Group:
    dimension = types.element(element.get("dimensionType", "groupSizeEncoding"), element)
    composite = _role(types, dimension)
    return Group(
        _body(types, element, depth),
        composite.size,
        _number_at(composite, "blockLength", dimension),
        _number_at(composite, "numInGroup", dimension),
        element.number("sinceVersion", 0),
    )


def _data(types: Types, element: Element) -> Data:
    encoding = types.element(element.required("type"), element)
    length_offset, primitive, value = 0, "", None
    end = 0
    for child in encoding.named("type"):
        kind = types.of(child)
        offset = child.number("offset", end, most=BLOCK_MAX)
        if child.get("name") == "length" and isinstance(kind, Scalar):
            length_offset, primitive = offset, kind.primitive
        if child.get("name") == "varData" and isinstance(kind, Scalar):
            value = kind
            end = offset
            break
        end = offset + kind.size
    if value is None or primitive not in _LENGTHS or PRIMITIVES[value.primitive][0] != 1:
        raise encoding.error(f"{encoding.get('name')} is to have a number 'length', then 'varData'")
    charset: str | None = value.charset or None
    if value.primitive == "char" and charset is None:
        charset = "US-ASCII"
    if length_offset + PRIMITIVES[primitive][0] > end:
        raise encoding.error("the length overlaps the data")
    return Data(
        element.required("name"),
        end,
        length_offset,
        primitive,
        charset,
        element.number("sinceVersion", 0),
    )
