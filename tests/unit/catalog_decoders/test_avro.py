"""Avro data: bare, single-object, of older writers, and schemas without an end."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json
import uuid
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pytest
from payload_decoders import avro_datum

from aerolog.catalog.decoders import Decoded, Decoder, DecoderError, check_decoded, make_decoder
from aerolog.catalog.decoders.avro import fingerprint

if TYPE_CHECKING:
    from pathlib import Path

OLD = {"type": "record", "name": "Quote", "fields": [{"name": "bid", "type": "int"}]}
NEW = {
    "type": "record",
    "name": "Quote",
    "fields": [
        {"name": "bid", "type": "long"},
        {"name": "ask", "type": ["null", "long"], "default": None},
    ],
}


def decoder(schema: Any, **options: str) -> Decoder:
    return make_decoder("avro", {"schema": json.dumps(schema)} | options)


def decode(made: Decoder, *messages: bytes | None) -> Decoded:
    decoded = made.decode(pa.array(messages, pa.binary()))
    check_decoded(decoded, made, len(messages))
    return decoded


def single_object(row: dict[str, Any], schema: Any) -> bytes:
    form = fastavro.schema.to_parsing_canonical_form(fastavro.parse_schema(schema))
    return b"\xc3\x01" + fingerprint(form).to_bytes(8, "little") + avro_datum(row, schema)


@pytest.mark.parametrize(
    ("form", "value"), [('"null"', 0x63DD24E7CC258F8A), ('"int"', 0x7275D51A3F395C8F)]
)
def test_fingerprints_are_those_of_the_specification(form: str, value: int) -> None:
    assert fingerprint(form) == value


def test_every_kind_of_field_has_a_column() -> None:
    fields = {
        "b": "boolean",
        "f": "float",
        "e": {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL"]},
        "x": {"type": "fixed", "name": "Two", "size": 2},
        "l": {"type": "array", "items": "int"},
        "m": {"type": "map", "values": "long"},
        "u": ["null", "int", "long"],
        "d": {"type": "int", "logicalType": "date"},
        "t": {"type": "long", "logicalType": "timestamp-micros"},
        "ms": {"type": "int", "logicalType": "time-millis"},
        "id": {"type": "string", "logicalType": "uuid"},
        "n": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
        "again": "Side",
    }
    schema = {
        "type": "record",
        "name": "All",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }
    row = {
        "b": True,
        "f": 0.5,
        "e": "SELL",
        "x": b"ab",
        "l": [1, -1],
        "m": {"k": 2**40},
        "u": None,
        "d": dt.date(2024, 2, 29),
        "t": dt.datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=dt.UTC),
        "ms": dt.time(1, 2, 3, 4000),
        "id": uuid.UUID(int=5),
        "n": decimal.Decimal("12.34"),
        "again": "BUY",
    }
    (found,) = decode(decoder(schema), avro_datum(row, schema)).columns.to_pylist()
    assert found == row | {"m": [("k", 2**40)], "id": str(row["id"])}


def test_a_schema_that_is_no_record_has_one_column() -> None:
    made = decoder({"type": "array", "items": "string"})
    assert made.schema.names == ["value"]
    datum = avro_datum(["a", "b"], {"type": "array", "items": "string"})  # type: ignore[arg-type]
    assert decode(made, datum).columns.to_pylist() == [{"value": ["a", "b"]}]


def test_the_fingerprint_chooses_the_writers_schema(tmp_path: Path) -> None:
    file = tmp_path / "old.avsc"
    file.write_text(json.dumps(OLD))
    made = decoder(NEW, writer_schema_files=str(file))
    file.unlink()
    rows = decode(
        make_decoder("avro", made.options),
        single_object({"bid": 1}, OLD),
        single_object({"bid": 2, "ask": 3}, NEW),
        avro_datum({"bid": 4}, OLD),
    ).columns.to_pylist()
    assert rows == [{"bid": 1, "ask": None}, {"bid": 2, "ask": 3}, {"bid": 4, "ask": None}]


def test_an_encoding_that_is_asked_for_is_kept_to() -> None:
    single = decoder(NEW, encoding="single")
    row = {"bid": 1, "ask": None}
    other = {"type": "record", "name": "Other", "fields": [{"name": "a", "type": "int"}]}
    decoded = decode(
        single, single_object(row, NEW), avro_datum(row, NEW), single_object({"a": 1}, other)
    )
    assert decoded.source.to_pylist() == [0]
    assert "no header of the single-object encoding" in decoded.rejects[0].reason
    assert "unknown fingerprint 0x" in decoded.rejects[1].reason
    # Bare bytes may begin as the header of the other encoding does.
    bare = decoder({"type": "record", "name": "B", "fields": [{"name": "x", "type": "bytes"}]})
    assert avro_datum({"x": b"\1" * 97}, json.loads(bare.options["schema"]))[:2] == b"\xc2\x01"


@pytest.mark.parametrize(
    "damage",
    [lambda datum: datum[:-1], lambda datum: datum + b"\0", lambda _: b"", lambda _: b"\xff" * 20],
)
def test_data_that_end_early_or_late_are_rejected(damage: Any) -> None:
    good = avro_datum({"bid": 2**40, "ask": 7}, NEW)
    decoded = decode(decoder(NEW), good, damage(good), good)
    assert decoded.source.to_pylist() == [0, 2]
    assert decoded.rejects[0].reason.startswith("not Avro of this schema: ")


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array", "items": "null"}, "items that take no bytes"),
        (
            {
                "type": "array",
                "items": {"type": "record", "name": "E", "fields": [{"name": "x", "type": "null"}]},
            },
            "items that take no bytes",
        ),
        (
            {"type": "record", "name": "L", "fields": [{"name": "n", "type": ["null", "L"]}]},
            "L holds itself",
        ),
        (["null", "string", "long"], "a union of several types"),
        ({"type": "record", "name": "E", "fields": []}, "a record without fields"),
        ({"type": "nothing"}, "not an Avro schema"),
        ("null", "'null' is not decoded"),
    ],
)
def test_schemas_without_an_end_or_a_column_are_refused(schema: Any, said: str) -> None:
    with pytest.raises(DecoderError, match=said):
        decoder(schema)


def test_a_schema_whose_types_multiply_is_refused() -> None:
    """Each record holds the one before ten times: a few hundred bytes, and 10**9 fields."""
    inner: Any = "int"
    for depth in range(9):
        name = f"R{depth}"
        fields: list[Any] = [{"name": "f0", "type": inner}]
        used = f"R{depth - 1}" if depth else "int"
        fields += [{"name": f"f{at}", "type": used} for at in range(1, 10)]
        inner = {"type": "record", "name": name, "fields": fields}
    with pytest.raises(DecoderError, match="too many or too deep"):
        decoder(inner)


def test_a_reason_is_the_same_each_time() -> None:
    """Rejects are written once and again: nothing of one run may be in their reasons."""
    made = decoder({"type": "record", "name": "D", "fields": [{"name": "x", "type": "double"}]})
    reasons = {decode(made, b"123").rejects[0].reason for _ in range(3)}
    (reason,) = reasons
    assert reason.startswith("not Avro of this schema: ")
    assert "0x" not in reason


def test_json_that_is_none_is_refused() -> None:
    with pytest.raises(DecoderError, match="not an Avro schema"):
        make_decoder("avro", {"schema": "[" * 100_000})
    with pytest.raises(DecoderError, match="needs the option schema_file"):
        make_decoder("avro", {})
    with pytest.raises(DecoderError, match="is a JSON list"):
        decoder(NEW, writer_schemas="{}")


def test_a_long_array_of_nothing_does_not_take_forever() -> None:
    """A block of 2**62 items in a few bytes ends where the bytes end."""
    made = decoder({"type": "array", "items": "int"})
    file = io.BytesIO()
    fastavro.schemaless_writer(file, "long", 2**62)
    decoded = decode(made, file.getvalue() + b"\2\4")
    assert decoded.rejects[0].reason.startswith("not Avro of this schema: ")


@pytest.mark.parametrize("size", [1023, 3_000_000])
def test_values_that_a_schema_gives_to_rows_are_short(size: int) -> None:
    """Messages without bytes would each make a row with all of the default."""
    long = "x" * size
    fields = [{"name": "a", "type": "string", "default": long}]
    with pytest.raises(DecoderError, match="has at most 1024 bytes"):
        make_decoder("avro", {"schema": record(fields)})
    with pytest.raises(DecoderError, match="has at most 1024 bytes"):
        enum = {"type": "enum", "name": "E", "symbols": [long + "xx"]}
        make_decoder("avro", {"schema": json.dumps(enum)})
    many = [{"name": f"f{n}", "type": "string", "default": "x" * 1000} for n in range(17)]
    with pytest.raises(DecoderError, match="defaults of all fields"):
        make_decoder("avro", {"schema": record(many)})
    assert len(make_decoder("avro", {"schema": record(many[:16])}).schema) == 16


def record(fields: list[dict[str, Any]]) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": fields})
