"""Arrow types of Avro schemas; types without a column form, or without a bound, are refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.base import DecoderError, check_schema_value
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding Avro")

FIELDS_MAX = 10_000
DEFAULTS_MAX = 16 * 1024
DEPTH_MAX = 32

_PRIMITIVES = {
    "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "float": pa.float32(),
    "double": pa.float64(), "bytes": pa.binary(), "string": pa.string(),
}  # fmt: skip
_LOGICAL: dict[tuple[Any, str], pa.DataType] = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("string", "uuid"): pa.string(),
}
# In a union with null these pairs have one column type that holds both.
_WIDER = {frozenset({"int", "long"}): "long", frozenset({"float", "double"}): "double"}


class _Types:
    """The named types of one schema, and the number of fields that were made of them."""

    def __init__(self) -> None:
        self._named: dict[str, Any] = {}
        self._open: list[str] = []
        self._fields = 0
        self._default_bytes = 0

    def arrow(self, schema: Any, path: str) -> pa.DataType:
        """The Arrow type of a schema.

        Raises:
            DecoderError: the schema has no column form.
        """
        self._fields += 1
        if self._fields > FIELDS_MAX or len(self._open) > DEPTH_MAX:
            raise DecoderError(f"the Avro schema has too many or too deep fields at {path}")
        if isinstance(schema, list):
            return self._union(schema, path)
        if isinstance(schema, str):
            if schema in _PRIMITIVES:
                return _PRIMITIVES[schema]
            if schema in self._open:
                raise DecoderError(f"{path}: {schema} holds itself, which no column can")
            if schema not in self._named:
                raise DecoderError(f"{path}: the Avro type {schema!r} is not decoded")
            return self.arrow(self._named[schema], path)
        return self._complex(schema, path)

    def _complex(self, schema: dict[str, Any], path: str) -> pa.DataType:
        kind = schema["type"]
        logical = schema.get("logicalType", "")
        if logical == "decimal" and kind in {"bytes", "fixed"}:
            precision = schema.get("precision", 0)
            if not 0 < precision <= 38:
                raise DecoderError(f"{path}: a decimal of {precision} digits is not decoded")
            return pa.decimal128(precision, schema.get("scale", 0))
        if (kind, logical) in _LOGICAL:
            return _LOGICAL[kind, logical]
        if "name" in schema:
            self._named[schema["name"]] = schema
        if kind in {"record", "error"}:
            return pa.struct(self._record(schema, path))
        if kind == "enum":
            for symbol in schema["symbols"]:
                check_schema_value(symbol, path)
            return pa.string()
        if kind == "fixed":
            return pa.binary()
        if kind == "array":
            self._open.append("")
            item = self.arrow(schema["items"], f"{path}[]")
            self._open.pop()
            return pa.list_(item)
        if kind == "map":
            self._open.append("")
            value = self.arrow(schema["values"], f"{path}{{}}")
            self._open.pop()
            return pa.map_(pa.string(), value)
        return self.arrow(kind, path)

    def _record(self, schema: dict[str, Any], path: str) -> list[pa.Field]:
        if not schema["fields"]:
            raise DecoderError(f"{path}: a record without fields is not decoded")
        self._open.append(schema["name"])
        for one in schema["fields"]:
            if not isinstance(one["name"], str):
                raise DecoderError(f"{path}: a field's name is a text, not {one['name']!r}")
            default = json.dumps(one.get("default"))
            check_schema_value(default, f"{path}.{one['name']}")
            self._default_bytes += len(default) if "default" in one else 0
        if self._default_bytes > DEFAULTS_MAX:
            raise DecoderError(
                f"{path}: the defaults of all fields have more than {DEFAULTS_MAX} bytes"
            )
        fields = [
            pa.field(one["name"], self.arrow(one["type"], f"{path}.{one['name']}"))
            for one in schema["fields"]
        ]
        self._open.pop()
        return fields

    def _union(self, branches: list[Any], path: str) -> pa.DataType:
        some = [one for one in branches if one != "null"]
        if len(some) == 1:
            return self.arrow(some[0], path)
        names = frozenset(one if isinstance(one, str) else "" for one in some)
        if len(some) == 2 and names in _WIDER:
            return _PRIMITIVES[_WIDER[names]]
        raise DecoderError(f"{path}: a union of several types is not decoded")


def arrow_schema_of(schema: Any, value_column: str) -> pa.Schema:
    """The columns of a parsed Avro schema: a record's fields, or one column of the value.

    Raises:
        DecoderError: a type has no column form.
    """
    kind = _Types().arrow(schema, "the schema")
    if isinstance(schema, dict) and schema.get("type") == "record":
        return pa.schema(list(kind))
    return pa.schema([pa.field(value_column, kind)])


def check_finite(schema: Any) -> None:
    """Check that items of arrays have at least one byte and that no type contains itself.

    Otherwise a few bytes could claim any number of items without bytes, or nest a type in itself
    until the stack overflows.

    Raises:
        DecoderError: an item may have no bytes, or a type contains itself.
    """
    named: dict[str, Any] = {}
    _least(schema, named, (), [0])


def _least(schema: Any, named: dict[str, Any], inside: tuple[str, ...], seen: list[int]) -> int:
    """The least number of bytes of an encoded value."""
    seen[0] += 1
    if seen[0] > FIELDS_MAX or len(inside) > DEPTH_MAX:
        raise DecoderError("the Avro schema has too many or too deep fields")
    if isinstance(schema, list):
        for one in schema:
            _least(one, named, (*inside, ""), seen)
        return 1
    if isinstance(schema, str):
        if schema in inside and schema not in _PRIMITIVES:
            raise DecoderError(f"the Avro type {schema} holds itself, which no column can")
        if schema in named:
            return _least(named[schema], named, inside, seen)
        sizes = {"null": 0, "float": 4, "double": 8}
        return sizes.get(schema, 1)
    kind = schema["type"]
    if "name" in schema:
        named[schema["name"]] = schema
    if kind in {"record", "error"}:
        parts = (*inside, schema["name"])
        return sum(_least(one["type"], named, parts, seen) for one in schema["fields"])
    if kind == "fixed":
        return int(schema["size"])
    if kind == "enum":
        return 1
    if kind in {"array", "map"}:
        item = _least(schema["items" if kind == "array" else "values"], named, (*inside, ""), seen)
        if kind == "array" and item == 0:
            raise DecoderError("an Avro array of items that take no bytes is not decoded")
        return 1
    return _least(kind, named, (*inside, ""), seen)
