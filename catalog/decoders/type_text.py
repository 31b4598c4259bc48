"""Schemas as text, so that an option can carry one: ``carrier string, delay int64``.

A column is a name and a type, with or without a colon between them; commas separate columns. A name
with other characters than letters, digits and underscores stands in double quotes, as in JSON.

=============================================  ==================================================
type                                           also written
=============================================  ==================================================
``bool``, ``int8`` ... ``int64``, ``uint8`` ...  ``int``, ``long`` for 32 and 64 bits
``float``, ``double``                          ``float32``, ``float64``
``string``, ``binary``                         ``str``, ``utf8``, ``bytes``
``date32``, ``timestamp[us]``                  ``date``; units ``s``, ``ms``, ``us``, ``ns``
``timestamp[us, tz=UTC]``                      ``timestamp[us, UTC]``
``time64[us]``, ``duration[us]``
``decimal128(10, 2)``                          ``decimal(10, 2)``
``list<string>``, ``map<string, int64>``       ``list<item: string>``
``struct<x: double, y: double>``
=============================================  ==================================================
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from aerolog.catalog.decoders.base import DecoderError
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding messages")

COLUMNS_MAX = 10_000
DEPTH_MAX = 32

_SIMPLE = {
    "bool": pa.bool_(), "boolean": pa.bool_(),
    "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "int": pa.int32(), "long": pa.int64(),
    "uint8": pa.uint8(), "uint16": pa.uint16(), "uint32": pa.uint32(), "uint64": pa.uint64(),
    "float": pa.float32(), "float32": pa.float32(), "double": pa.float64(),
    "float64": pa.float64(), "string": pa.string(), "str": pa.string(), "utf8": pa.string(),
    "binary": pa.binary(), "bytes": pa.binary(), "date": pa.date32(), "date32": pa.date32(),
}  # fmt: skip
_TOKEN = re.compile(r'\s*(?:(\w+(?:[./+-]\w+)*)|("(?:[^"\\]|\\.)*")|([<>\[\](),:=])|(\S))')
_PLAIN_NAME = re.compile(r"\w+")
_PLAIN_ZONE = re.compile(r"\w+(?:[/-]\w+)*")
_UNITS = ("s", "ms", "us", "ns")


def parse_schema(text: str) -> pa.Schema:
    """Parse the text of a schema.

    Raises:
        DecoderError: the text is malformed; the error names the place and what was expected.
    """
    reader = _TypeReader(text)
    fields = [reader.field(0)]
    while reader.take(","):
        fields.append(reader.field(0))
    reader.end()
    return _unique(fields, text)


def format_schema(schema: pa.Schema) -> str:
    """Write a schema as text that ``parse_schema`` turns into an equal one.

    Raises:
        DecoderError: a type has no text, or a nested field is not nullable.
    """
    text = ", ".join(f"{_name(column.name)} {_type(column.type)}" for column in schema)
    if not parse_schema(text).equals(schema):
        raise DecoderError(f"the schema cannot be written as text: {' '.join(str(schema).split())}")
    return text


def _unique(fields: list[pa.Field], text: str) -> pa.Schema:
    names = [column.name for column in fields]
    twice = (
        sorted({name for name in names if names.count(name) > 1})
        if len(set(names)) < len(names)
        else []
    )
    if twice:
        raise DecoderError(f"the schema has the column {twice[0]!r} twice: {text[:100]!r}")
    return pa.schema(fields)


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else json.dumps(name)


def _type(kind: pa.DataType) -> str:
    if pa.types.is_struct(kind):
        inner = (f"{_name(part.name)}: {_type(part.type)}" for part in kind)
        return f"struct<{', '.join(inner)}>"
    if pa.types.is_map(kind):
        return f"map<{_type(kind.key_type)}, {_type(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"list<{_type(kind.value_type)}>"
    if pa.types.is_date32(kind):
        return "date32"
    if pa.types.is_timestamp(kind) and kind.tz and not _PLAIN_ZONE.fullmatch(kind.tz):
        return f"timestamp[{kind.unit}, {json.dumps(kind.tz)}]"
    return str(kind)


class _TypeReader:
    """Reads the tokens of a schema's text from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str, int]] = []
        self._at = 0
        self._columns = 0
        for match in _TOKEN.finditer(text.rstrip()):
            word, quoted, sign, other = match.groups()
            if other:
                raise self._error(f"{other!r} has no place", match.start(4))
            kind = "word" if word else "quoted" if quoted else "sign"
            self._tokens.append((kind, word or quoted or sign, match.start()))

    def _error(self, what: str, at: int) -> DecoderError:
        return DecoderError(f"schema {self._text[:100]!r}: {what} (at character {at + 1})")

    def _peek(self) -> tuple[str, str, int]:
        if self._at < len(self._tokens):
            return self._tokens[self._at]
        return ("end", "", len(self._text))

    def take(self, sign: str) -> bool:
        """Whether the next token is this sign; if it is, it is consumed."""
        kind, value, _ = self._peek()
        found = kind == "sign" and value == sign
        self._at += found
        return found

    def _expect(self, sign: str) -> None:
        if not self.take(sign):
            _, value, at = self._peek()
            raise self._error(f"{sign!r} expected, not {value!r}", at)

    def _word(self, what: str) -> str:
        kind, value, at = self._peek()
        if kind not in {"word", "quoted"}:
            raise self._error(f"{what} expected, not {value!r}", at)
        self._at += 1
        if kind == "word":
            return value
        try:
            return str(json.loads(value))
        except ValueError as error:
            raise self._error(f"{value} is no name: {error}", at) from error

    def end(self) -> None:
        """Check that no text is left."""
        kind, value, at = self._peek()
        if kind != "end":
            raise self._error(f"',' or the end expected, not {value!r}", at)

    def field(self, depth: int) -> pa.Field:
        """Read a name and its type."""
        self._columns += 1
        if self._columns > COLUMNS_MAX:
            raise self._error(f"more than {COLUMNS_MAX} columns", self._peek()[2])
        name = self._word("a column's name")
        self.take(":")
        return pa.field(name, self._type(depth))

    def _type(self, depth: int) -> pa.DataType:
        at = self._peek()[2]
        if depth > DEPTH_MAX:
            raise self._error(f"nested deeper than {DEPTH_MAX}", at)
        word = self._word("a type").lower()
        if word in {"timestamp", "time64", "time32", "duration"}:
            return self._time(word, at)
        if word in {"decimal", "decimal128"}:
            return self._decimal(at)
        if word == "list":
            self._expect("<")
            self._item_name()
            inner = self._type(depth + 1)
            self._expect(">")
            return pa.list_(inner)
        if word == "map":
            self._expect("<")
            key = self._type(depth + 1)
            self._expect(",")
            value = self._type(depth + 1)
            self._expect(">")
            return pa.map_(key, value)
        if word == "struct":
            self._expect("<")
            fields = [self.field(depth + 1)]
            while self.take(","):
                fields.append(self.field(depth + 1))
            self._expect(">")
            return pa.struct(list(_unique(fields, self._text)))
        if word not in _SIMPLE:
            raise self._error(f"no such type: {word!r}", at)
        return _SIMPLE[word]

    def _item_name(self) -> None:
        """Skip the ``item:`` that Arrow writes in lists."""
        following = self._tokens[self._at + 1 : self._at + 2]
        if following and following[0][:2] == ("sign", ":"):
            self._at += 2

    def _time(self, word: str, at: int) -> pa.DataType:
        unit, zone = "us", None
        if self.take("["):
            unit = self._word("a unit")
            if self.take(","):
                zone = self._word("a time zone")
                if zone == "tz" and self.take("="):
                    zone = self._word("a time zone")
            self._expect("]")
        if unit not in _UNITS:
            raise self._error(f"a unit is one of {', '.join(_UNITS)}, not {unit!r}", at)
        if zone is not None and word != "timestamp":
            raise self._error(f"{word} has no time zone", at)
        try:
            return pa.timestamp(unit, zone) if word == "timestamp" else getattr(pa, word)(unit)
        except (pa.ArrowInvalid, ValueError) as error:
            raise self._error(str(error), at) from error

    def _decimal(self, at: int) -> pa.DataType:
        self._expect("(")
        precision = self._word("a precision")
        self._expect(",")
        scale = self._word("a scale")
        self._expect(")")
        try:
            return pa.decimal128(int(precision), int(scale))
        except (pa.ArrowInvalid, ValueError) as error:
            raise self._error(f"no such decimal: {error}", at) from error
