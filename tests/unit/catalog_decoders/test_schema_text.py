"""Schemas as text and back."""

from __future__ import annotations

import pyarrow as pa
import pytest

from aerolog.catalog.decoders import DecoderError
from aerolog.catalog.decoders.type_text import format_schema, parse_schema

EVERYTHING = (
    'a int64, "odd, name" string, t timestamp[us, tz=UTC], n timestamp[ns], tz '
    'timestamp[ms, tz=Europe/Zurich], o timestamp[s, "+01:00"], '
    "d decimal128(10, 2), l list<int8>, m map<string, double>, "
    "s struct<x: float, y: list<struct<z: bool>>>, w date32, u time64[us], v duration[ns], b binary"
)


def test_text_and_schema_say_the_same() -> None:
    schema = parse_schema(EVERYTHING)
    assert parse_schema(format_schema(schema)).equals(schema)
    assert schema.field("odd, name").type == pa.string()
    assert schema.field("tz").type == pa.timestamp("ms", "Europe/Zurich")
    assert schema.field("s").type == pa.struct(
        [("x", pa.float32()), ("y", pa.list_(pa.struct([("z", pa.bool_())])))]
    )


def test_names_of_types_have_the_usual_variants() -> None:
    text = "a: int, b: LONG, c str, d list<item: string>, e decimal(5,1), f timestamp, g date"
    assert parse_schema(text).types == [
        pa.int32(), pa.int64(), pa.string(), pa.list_(pa.string()), pa.decimal128(5, 1),
        pa.timestamp("us"), pa.date32(),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a column's name expected"),
        ("a", "a type expected, not ''"),
        ("a int64 b", "',' or the end expected, not 'b'"),
        ("a int65", "no such type: 'int65'"),
        ("a int64,", "a column's name expected"),
        ("a int64, a int32", "has the column 'a' twice"),
        ("a list<int64", "'>' expected"),
        ("a struct<>", "a column's name expected"),
        ("a timestamp[day]", "a unit is one of"),
        ("a time64[s]", "."),
        ("a duration[us, UTC]", "duration has no time zone"),
        ("a decimal(99, 2)", "no such decimal"),
        ("a decimal(x, 2)", "no such decimal"),
        ("a int64; b int64", "';' has no place"),
        ("a " + "list<" * 50 + "int8" + ">" * 50, "nested deeper than 32"),
        (", ".join(f"c{at} int8" for at in range(10_001)), "more than 10000 columns"),
    ],
)
def test_what_is_no_schema_says_where(text: str, said: str) -> None:
    with pytest.raises(DecoderError, match=said):
        parse_schema(text)


def test_a_schema_without_a_text_is_refused() -> None:
    with pytest.raises(DecoderError):
        format_schema(pa.schema([("a", pa.large_string())]))
