"""Every decoder at the ends of its types: a value is exact or its message is a reject.

Each case is decoded alone and among other messages, and the result is the same each time. Times are
compared as the whole numbers that their columns hold.
"""

from __future__ import annotations

import base64
import io
import json
import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import fastavro
import msgpack
import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2
from payload_decoders import arrow_stream

from aerolog.catalog.decoders import Decoder, check_decoded, make_decoder

REJECT = "a reject"
NS = 1_700_000_000_123_456_789
WHOLE = 2**53
FLOAT32_MAX = 3.4028234663852886e38


@dataclass(frozen=True)
class Case:
    """A message, the value that is right, and a sound message for the same decoder."""

    decoder: str
    kind: str
    options: dict[str, str]
    message: bytes
    exact: Any
    sound: bytes

    def __str__(self) -> str:
        return f"{self.decoder}-{self.kind}-{self.message[:40]!r}"


def in_json(kind: str, text: str, exact: Any) -> Case:
    return Case("json", kind, {"schema": f"v {kind}"}, b'{"v":%s}' % text.encode(), exact, b"{}")


def in_msgpack(kind: str, value: Any, exact: Any) -> Case:
    options = {"schema": f"v {kind}"}
    return Case("msgpack", kind, options, msgpack.packb({"v": value}), exact, msgpack.packb({}))


INTEGERS = [
    (f"{sign}int{bits}", least, most)
    for bits in (8, 16, 32, 64)
    for sign, least, most in (
        ("", -(2 ** (bits - 1)), 2 ** (bits - 1) - 1),
        ("u", 0, 2**bits - 1),
    )
]

JSON = [
    *(in_json(kind, str(least), least) for kind, least, _ in INTEGERS),
    *(in_json(kind, str(most), most) for kind, _, most in INTEGERS),
    *(in_json(kind, str(least - 1), REJECT) for kind, least, _ in INTEGERS),
    *(in_json(kind, str(most + 1), REJECT) for kind, _, most in INTEGERS),
    *(
        in_json("int64", text, REJECT)
        for text in ("1.0", "1e2", "9" * 5000, "true", '"1"', "NaN", "1e999999999999999999999")
    ),
    in_json("int64", "-0", 0),
    in_json("double", "0.1", 0.1),
    in_json("double", "-0.0", -0.0),
    in_json("double", "-0", 0.0),
    in_json("double", "1.7976931348623157e308", 1.7976931348623157e308),
    in_json("double", "5e-324", 5e-324),
    in_json("double", "0e-999999999999999999999", 0.0),
    in_json("double", "0." + "0" * 300 + "1", 1e-301),
    in_json("double", str(WHOLE), WHOLE),
    in_json("double", str(-WHOLE - 2), -WHOLE - 2),
    in_json("double", str(2**1023), 2**1023),
    *(
        in_json("double", text, REJECT)
        for text in (
            *map(str, (WHOLE + 1, -WHOLE - 1, 2**1024, 2**63 - 1, 2**64 - 1)),
            *("1e400", "-1e400", "2e-324", "1e-400", "0." + "0" * 330 + "1", "9" * 5000),
            *("1e999999999999999999999", "1e-999999999999999999999"),
            *("NaN", "Infinity", "-Infinity", "Inf", "-NaN", "nan"),
        )
    ),
    in_json("float", "0.1", struct.unpack("f", struct.pack("f", 0.1))[0]),
    in_json("float", "16777216", 2**24),
    in_json("float", "16777217.0", 2**24),
    # Above the middle of two float32 by less than a float64 shows.
    in_json("float", "1.000000059604644775390625000000001", 1 + 2**-23),
    in_json("float", "1.00000005960464477539062499999999", 1.0),
    in_json("float", repr(FLOAT32_MAX), FLOAT32_MAX),
    *(
        in_json("float", text, REJECT)
        for text in ("16777217", "3.5e38", "1e400", "1e-60", "NaN", str(WHOLE + 1))
    ),
    *(
        in_json(kind, f"[{text}]" if kind.startswith("list") else f'{{"x":{text}}}', REJECT)
        for kind in ("list<double>", "struct<x: double>")
        for text in (str(WHOLE + 1), "1e400", "NaN", "1e-400")
    ),
    *(
        in_json("decimal(38, 2)", form % text, Decimal(exact))
        for form in ("%s", '"%s"')
        for text, exact in (
            ("0e-999999999", "0"),
            ("0e999999999", "0"),
            ("1.50", "1.5"),
            ("1" + "0" * 35 + ".99", "1" + "0" * 35 + ".99"),
            ("-" + "9" * 36 + ".99", "-" + "9" * 36 + ".99"),
            ("1e35", "1e35"),
            ("1." + "0" * 3000, "1"),
        )
    ),
    *(
        in_json("decimal(38, 2)", form % text, REJECT)
        for form in ("%s", '"%s"')
        for text in (
            *("1e-99999999", "1e999999999", "-1e-999999999999999999999", "1e999999999999999999999"),
            *("1e36", "0.001", "9" * 37, "9" * 5000, "0." + "0" * 5000 + "1"),
        )
    ),
    *(
        in_json("decimal(38, 2)", text, REJECT)
        for text in ('"NaN"', '" 1"', '"1_0"', "NaN", "true")
    ),
    in_json("decimal(38, 38)", "0." + "9" * 38, Decimal("0." + "9" * 38)),
    in_json("decimal(38, 38)", "1.0", REJECT),
    in_json("timestamp[ns]", '"2023-11-14T22:13:20.123456789"', NS),
    in_json("timestamp[ns, UTC]", '"2023-11-15T00:13:20.123456789+02"', NS),
    in_json("timestamp[us]", '"2023-11-14T22:13:20.123456"', NS // 1000),
    in_json("timestamp[us]", '"2023-11-14 22:13:20.123456000"', NS // 1000),
    in_json("timestamp[us]", '"2023-11-14T22:13:20.123456789"', REJECT),
    in_json("timestamp[ns]", '"2262-04-11T23:47:16.854775807"', 2**63 - 1),
    in_json("timestamp[ns]", '"2262-04-11T23:47:16.854775808"', REJECT),
    in_json("timestamp[ns]", '"1677-09-21T00:12:43.145224192"', -(2**63)),
    in_json("timestamp[s]", '"0000-03-01"', -62_162_035_200),
    in_json("timestamp[s]", '"9999-12-31T23:59:59"', 253_402_300_799),
    *(
        in_json("timestamp[us]", text, REJECT)
        for text in (
            *('"2023-02-29"', '"2023-01-01T24:00"', '"2023-01-01T00:00:60"', '"2023-01-01T00:00Z"'),
            *('"yesterday"', "1.0", str(2**63), '"2023-01-01T"', '"' + "2" * 9000 + '"'),
        )
    ),
    in_json("timestamp[us]", str(2**63 - 1), 2**63 - 1),
    in_json("timestamp[s]", str((2**63 - 1) // 10**6), (2**63 - 1) // 10**6),
    in_json("timestamp[s]", str((2**63 - 1) // 10**6 + 1), REJECT),
    in_json("timestamp[ms]", str(-(2**63) // 1000), REJECT),
    in_json("date32", '"0001-01-01"', -719_162),
    in_json("date32", str(2**31 - 1), 2**31 - 1),
    in_json("date32", str(2**31), REJECT),
    in_json("date32", '"2023-1-1"', REJECT),
    in_json("time64[us]", str(86_400 * 10**6 - 1), 86_400 * 10**6 - 1),
    in_json("time64[us]", str(86_400 * 10**6), REJECT),
    in_json("time32[s]", "-1", REJECT),
    in_json("duration[ns]", str(-(2**63)), -(2**63)),
    in_json("duration[ns]", str(-(2**63) - 1), REJECT),
    in_json("map<timestamp[s], int64>", '{"2023-01-01":1,"2023-01-01T00":2}', REJECT),
    in_json("string", '"\\u0000\\ud83d\\ude00"', "\0\U0001f600"),
    in_json("string", '"\\ud800"', REJECT),
    in_json("binary", '"AP8="', b"\0\xff"),
    in_json("binary", '"A"', REJECT),
]

MOMENT = msgpack.Timestamp(*divmod(NS, 10**9))
MSGPACK = [
    *(in_msgpack(kind, least, least) for kind, least, _ in INTEGERS),
    *(in_msgpack(kind, most, most) for kind, _, most in INTEGERS),
    *(in_msgpack(kind, least - 1, REJECT) for kind, least, _ in INTEGERS if least > -(2**63)),
    *(in_msgpack(kind, most + 1, REJECT) for kind, _, most in INTEGERS if most < 2**64 - 1),
    in_msgpack("int64", 1.0, REJECT),
    in_msgpack("double", math.inf, math.inf),
    in_msgpack("double", math.nan, math.nan),
    in_msgpack("double", 5e-324, 5e-324),
    in_msgpack("double", WHOLE, WHOLE),
    in_msgpack("double", WHOLE + 1, REJECT),
    in_msgpack("double", 2**64 - 1, REJECT),
    in_msgpack("float", -math.inf, -math.inf),
    in_msgpack("float", 0.5, 0.5),
    in_msgpack("float", 16777217, REJECT),
    in_msgpack("float", 1e39, REJECT),
    in_msgpack("float", 1e-60, REJECT),
    in_msgpack("decimal(38, 2)", "0e-999999999", Decimal(0)),
    in_msgpack("decimal(38, 2)", "1e-99999999", REJECT),
    in_msgpack("decimal(38, 2)", 2**64 - 1, Decimal(2**64 - 1)),
    in_msgpack("decimal(20, 2)", 2**64 - 1, REJECT),
    in_msgpack("decimal(38, 2)", 1.0, REJECT),
    in_msgpack("timestamp[ns, UTC]", MOMENT, NS),
    in_msgpack("timestamp[ns]", MOMENT, NS),
    in_msgpack("timestamp[us, UTC]", MOMENT, REJECT),
    in_msgpack("timestamp[us, UTC]", msgpack.Timestamp(1, 2000), 1_000_002),
    in_msgpack("timestamp[s, UTC]", msgpack.Timestamp(2**62, 0), REJECT),
    in_msgpack("timestamp[ns, UTC]", msgpack.Timestamp(2**63 - 1, 999_999_999), REJECT),
    in_msgpack("timestamp[ns, UTC]", msgpack.Timestamp(-(2**63), 0), REJECT),
    in_msgpack("int64", MOMENT, REJECT),
    in_msgpack("date32", MOMENT, REJECT),
    in_msgpack("string", "\0", "\0"),
    in_msgpack("binary", b"\xff", b"\xff"),
    Case("msgpack", "twice", {"schema": "v int64"}, b"\x82\xa1v\x01\xa1v\x02", REJECT, b"\x80"),
]  # fmt: skip


def descriptors(kind: int, type_name: str = "") -> str:
    files = descriptor_pb2.FileDescriptorSet()
    needed = [f"google/protobuf/{name}.proto" for name in ("timestamp", "duration")]
    file = files.file.add(name="v.proto", package="p", syntax="proto3", dependency=needed)
    file.message_type.add(name="M").field.add(
        name="v", number=1, label=1, type=kind, type_name=type_name or None
    )  # type: ignore[arg-type]
    return base64.b64encode(files.SerializeToString()).decode()


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def in_protobuf(kind: int, field: bytes, exact: Any, type_name: str = "", **options: str) -> Case:
    """A message with the bytes of one field, after the tag's number."""
    given = {"descriptor_set": descriptors(kind, type_name), **options}
    return Case("protobuf", f"{kind}{type_name}", given, field, exact, b"")


def protobuf_time(name: str, seconds: int, nanos: int, exact: Any, **options: str) -> Case:
    inner = b"\x08" + varint(seconds) + b"\x10" + varint(nanos)
    field = b"\x0a" + varint(len(inner)) + inner
    return in_protobuf(11, field, exact, f".google.protobuf.{name}", **options)


PROTOBUF = [
    *(in_protobuf(5, b"\x08" + varint(value), value) for value in (-(2**31), 2**31 - 1)),
    *(in_protobuf(3, b"\x08" + varint(value), value) for value in (-(2**63), 2**63 - 1)),
    in_protobuf(13, b"\x08" + varint(2**32 - 1), 2**32 - 1),
    in_protobuf(4, b"\x08" + varint(2**64 - 1), REJECT),
    in_protobuf(4, b"\x08" + varint(2**64 - 1), 2**64 - 1, uint64="uint64"),
    in_protobuf(4, b"\x08" + varint(2**64 - 1), Decimal(2**64 - 1), uint64="decimal"),
    *(
        in_protobuf(1, b"\x09" + struct.pack("<d", value), value)
        for value in (5e-324, -0.0, math.inf, math.nan, 1.7976931348623157e308)
    ),
    *(
        in_protobuf(2, b"\x0d" + struct.pack("<f", value), value)
        for value in (2.0**-149, -0.0, math.inf, math.nan, FLOAT32_MAX)
    ),
    *(
        protobuf_time(name, *divmod(value, 10**9), value)
        for name in ("Timestamp", "Duration")
        for value in (NS, -NS, 2**63 - 1, -(2**63), 0)
    ),
    *(
        protobuf_time(name, *divmod(value, 10**9), REJECT)
        for name in ("Timestamp", "Duration")
        for value in (2**63, -(2**63) - 1, (2**63 - 1) * 10**9)
    ),
    protobuf_time("Timestamp", -62_135_596_800, 0, REJECT),
    protobuf_time("Timestamp", -62_135_596_800, 0, -62_135_596_800 * 10**6, time_unit="us"),
    protobuf_time("Timestamp", 1, 1, REJECT, time_unit="us"),
    protobuf_time("Timestamp", 1, 1000, 1_000_001, time_unit="us"),
    protobuf_time("Duration", 2**63 - 1, 0, REJECT, time_unit="s"),
    in_protobuf(9, b"\x0a\x01\xff", REJECT),
    in_protobuf(12, b"\x0a\x01\xff", b"\xff"),
]


def zigzag(value: int) -> bytes:
    return varint(value * 2 if value >= 0 else -value * 2 - 1)


def in_avro(schema: Any, datum: bytes, exact: Any, sound: bytes = b"\0") -> Case:
    return Case("avro", json.dumps(schema), {"schema": json.dumps(schema)}, datum, exact, sound)


def logical(kind: str, name: str, **more: int) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


DECIMAL = logical("bytes", "decimal", precision=4, scale=2)
ENUM = {"type": "enum", "name": "E", "symbols": ["a", "b"]}
AVRO = [
    *(in_avro("int", zigzag(value), value) for value in (-(2**31), 2**31 - 1)),
    *(in_avro("int", zigzag(value), REJECT) for value in (-(2**31) - 1, 2**31)),
    *(in_avro("long", zigzag(value), value) for value in (-(2**63), 2**63 - 1)),
    in_avro("long", b"\xff" * 9 + b"\x03", REJECT),
    in_avro("long", b"\x80" * 20 + b"\x01", REJECT),
    *(
        in_avro("double", struct.pack("<d", value), value, bytes(8))
        for value in (5e-324, -0.0, math.inf, math.nan)
    ),
    in_avro("float", struct.pack("<f", FLOAT32_MAX), FLOAT32_MAX, bytes(4)),
    in_avro("boolean", b"\x01", True),
    in_avro("boolean", b"\x07", REJECT),
    in_avro(ENUM, b"\x02", "b"),
    in_avro(ENUM, b"\x01", REJECT),
    in_avro(ENUM, b"\x04", REJECT),
    in_avro(["null", "int"], b"\x02\x0a", 5),
    in_avro(["null", "int"], b"\x01\x0a", REJECT),
    in_avro("string", b"\x01a", REJECT),
    in_avro("bytes", zigzag(2**40) + b"a", REJECT),
    in_avro(DECIMAL, b"\x04\x27\x0f", Decimal("99.99")),
    in_avro(DECIMAL, b"\x04\x27\x10", REJECT),
    in_avro(DECIMAL, b"\x06\x01\xe2\x40", REJECT),
    in_avro(DECIMAL, zigzag(1000) + b"\x7f" * 1000, REJECT),
    in_avro(logical("int", "date"), zigzag(-719_162), -719_162),
    in_avro(logical("int", "date"), zigzag(2**31 - 1), REJECT),
    in_avro(logical("int", "time-millis"), zigzag(86_399_999), 86_399_999),
    in_avro(logical("int", "time-millis"), zigzag(86_400_000), REJECT),
    in_avro(logical("int", "time-millis"), zigzag(-1), REJECT),
    in_avro(logical("long", "time-micros"), zigzag(86_399_999_999), 86_399_999_999),
    in_avro(logical("long", "time-micros"), zigzag(-1), REJECT),
    *(
        in_avro(logical("long", f"{local}timestamp-{unit}"), zigzag(value), value)
        for local in ("", "local-")
        for unit, value in (("millis", NS // 10**6), ("micros", NS // 1000), ("micros", -1))
    ),
    *(
        in_avro(logical("long", f"timestamp-{unit}"), zigzag(2**63 - 1), REJECT)
        for unit in ("millis", "micros")
    ),
]
SBE = (
    '<messageSchema id="1" version="0" byteOrder="littleEndian"><types>'
    '<composite name="messageHeader"><type name="blockLength" primitiveType="uint16"/>'
    '<type name="templateId" primitiveType="uint16"/><type name="schemaId" primitiveType="uint16"/>'
    '<type name="version" primitiveType="uint16"/></composite></types>'
    '<message name="M" id="1"><field name="v" type="%s"/></message></messageSchema>'
)


def in_sbe(kind: str, form: str, value: Any, exact: Any, **options: str) -> Case:
    def packed(value: Any) -> bytes:
        body = struct.pack("<" + form, value)
        return struct.pack("<4H", len(body), 1, 1, 0) + body

    return Case("sbe", kind, {"schema": SBE % kind, **options}, packed(value), exact, packed(0))


IN_SBE = [
    *(
        in_sbe(f"int{bits}", form, value, value)
        for bits, form in ((8, "b"), (16, "h"), (32, "i"), (64, "q"))
        for value in (-(2 ** (bits - 1)) + 1, 2 ** (bits - 1) - 1)
    ),
    *(
        in_sbe(f"uint{bits}", form, 2**bits - 2, 2**bits - 2)
        for bits, form in ((8, "B"), (16, "H"), (32, "I"))
    ),
    in_sbe("uint64", "Q", 2**63 - 1, 2**63 - 1),
    in_sbe("uint64", "Q", 2**63, REJECT),
    in_sbe("uint64", "Q", 2**64 - 2, 2**64 - 2, uint64="uint64"),
    in_sbe("uint64", "Q", 2**64 - 2, Decimal(2**64 - 2), uint64="decimal"),
    *(in_sbe("double", "d", value, value) for value in (5e-324, -0.0, math.inf)),
    *(in_sbe("float", "f", value, value) for value in (2.0**-149, -0.0, FLOAT32_MAX)),
]


def in_arrow(kind: str, value: Any, exact: Any) -> Case:
    decoder = make_decoder("arrow", {"schema": f"v {kind}"})

    def stream(values: list[Any]) -> bytes:
        return arrow_stream([{"v": one} for one in values], decoder.schema)

    return Case("arrow", kind, {"schema": f"v {kind}"}, stream([value]), exact, stream([None]))


ARROW = [
    *(in_arrow(kind, most, most) for kind, _, most in INTEGERS),
    in_arrow("double", math.nan, math.nan),
    in_arrow("timestamp[ns]", -(2**63), -(2**63)),
    in_arrow("timestamp[s]", (2**63 - 1) // 10**6, (2**63 - 1) // 10**6),
    in_arrow("timestamp[s]", 2**62, REJECT),
    in_arrow("duration[ms]", -(2**62), REJECT),
    in_arrow("list<timestamp[s]>", [2**62], REJECT),
    in_arrow("decimal(38, 38)", Decimal("0." + "9" * 38), Decimal("0." + "9" * 38)),
]
TEXT = [
    Case("text", "utf8", {}, "\0\U0001f600".encode(), "\0\U0001f600", b"x"),
    Case("text", "utf8", {}, b"\xed\xa0\x80", REJECT, b"x"),
    Case("raw", "bytes", {}, b"\0\xff", b"\0\xff", b"x"),
]


def result(decoder: Decoder, messages: list[bytes], index: int) -> Any:
    """The value of a message, or that it is a reject."""
    decoded = decoder.decode(pa.array(messages, pa.binary()))
    check_decoded(decoded, decoder, len(messages))
    rows = [at for at, source in enumerate(decoded.source.to_pylist()) if source == index]
    if not rows:
        return REJECT
    column = decoded.columns.column(0)
    if pa.types.is_temporal(column.type):
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return column[rows[0]].as_py()


def is_exact(found: Any, exact: Any) -> bool:
    if isinstance(found, float) and math.isfinite(found):
        return Fraction(found) == Fraction(exact) and (
            not isinstance(exact, float) or math.copysign(1, found) == math.copysign(1, exact)
        )
    return type(found) is type(exact) and (
        found == exact or (isinstance(exact, float) and math.isnan(found) and math.isnan(exact))
    )


@pytest.mark.parametrize(
    "case", [*JSON, *MSGPACK, *PROTOBUF, *AVRO, *IN_SBE, *ARROW, *TEXT], ids=str
)
def test_a_value_is_exact_or_a_reject_whatever_stands_beside_it(case: Case) -> None:
    decoder = make_decoder(case.decoder, case.options)
    odd, sound = case.message, case.sound
    bad = b"\xff" * 3
    many = 150 if case.decoder == "json" else 5  # JSON is read in halves down to 256 messages
    for messages, index in (
        ([odd], 0),
        ([odd, sound, sound], 0),
        ([sound, odd, sound], 1),
        ([sound, sound, odd], 2),
        ([bad, odd, sound], 1),
        ([odd, bad], 0),
        ([sound] * many + [odd] + [sound] * many, many),
        ([sound, odd, odd], 2),
    ):
        found = result(decoder, messages, index)
        assert is_exact(found, case.exact), f"{found!r} among {len(messages)}, not {case.exact!r}"


def test_times_of_messagepack_are_inferred_with_their_nanoseconds() -> None:
    payloads = pa.array([msgpack.packb({"t": MOMENT})], pa.binary())
    decoder = make_decoder("msgpack", {}).with_sample(payloads)
    assert decoder.options["schema"] == "t timestamp[ns, tz=UTC]"
    assert result(decoder, payloads.to_pylist(), 0) == NS


def test_a_writer_with_another_schema_is_checked_by_its_own() -> None:
    writer = {"type": "record", "name": "R", "fields": [{"name": "v", "type": "int"}]}
    reader = {"type": "record", "name": "R", "fields": [{"name": "v", "type": "double"}]}
    decoder = make_decoder(
        "avro", {"schema": json.dumps(reader), "writer_schemas": json.dumps([writer])}
    )
    sink = io.BytesIO()
    fastavro.schemaless_writer(sink, fastavro.parse_schema(writer), {"v": 2**31 - 1})
    assert result(decoder, [sink.getvalue()], 0) == 2**31 - 1
    assert result(decoder, [zigzag(2**31)], 0) == REJECT
