"""One decoder of each format for messages of one shape, and messages that they decode."""

from __future__ import annotations

import io
import json
import struct
from typing import TYPE_CHECKING, Any

import fastavro
import msgpack
import pyarrow as pa
from google.protobuf import descriptor_pb2
from google.protobuf.message_factory import GetMessages

from aerolog.catalog.decoders import Decoder, make_decoder

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = "carrier string, delay int64, tags list<string>, spot struct<x: double>"
ARROW = pa.schema(
    [
        ("carrier", pa.string()),
        ("delay", pa.int64()),
        ("tags", pa.list_(pa.string())),
        ("spot", pa.struct([("x", pa.float64())])),
    ]
)
AVRO = {
    "type": "record",
    "name": "Flight",
    "fields": [
        {"name": "carrier", "type": ["null", "string"]},
        {"name": "delay", "type": ["null", "long"]},
        {"name": "tags", "type": ["null", {"type": "array", "items": "string"}]},
        {
            "name": "spot",
            "type": [
                "null",
                {"type": "record", "name": "Spot", "fields": [{"name": "x", "type": "double"}]},
            ],
        },
    ],
}
SBE = """<messageSchema id="7" version="2" byteOrder="bigEndian"><types>
  <composite name="messageHeader">
    <type name="blockLength" primitiveType="uint16"/>
    <type name="templateId" primitiveType="uint16"/>
    <type name="schemaId" primitiveType="uint16"/>
    <type name="version" primitiveType="uint16"/></composite>
  <composite name="groupSizeEncoding">
    <type name="blockLength" primitiveType="uint16"/>
    <type name="numInGroup" primitiveType="uint16"/></composite>
  <composite name="text"><type name="length" primitiveType="uint16"/>
    <type name="varData" primitiveType="uint8" length="0" characterEncoding="UTF-8"/></composite>
  <composite name="point"><type name="x" primitiveType="double"/></composite></types>
  <message name="Flight" id="1">
    <field name="delay" type="int64" presence="optional"/>
    <field name="spot" type="point"/>
    <group name="tags"><data name="tag" type="text"/></group>
    <group name="legs"><field name="from" type="uint16"/></group>
    <data name="carrier" type="text"/>
  </message>
</messageSchema>"""


def descriptor_set() -> descriptor_pb2.FileDescriptorSet:
    """``message Flight { string carrier = 1; int64 delay = 2; repeated string tags = 3; ...``."""
    found = descriptor_pb2.FileDescriptorSet()
    file = found.file.add(name="flight.proto", package="demo", syntax="proto3")
    spot = file.message_type.add(name="Spot")
    spot.field.add(name="x", number=1, type=1, label=1)
    flight = file.message_type.add(name="Flight")
    flight.field.add(name="carrier", number=1, type=9, label=1)
    flight.field.add(name="delay", number=2, type=3, label=1)
    flight.field.add(name="tags", number=3, type=9, label=3)
    flight.field.add(name="spot", number=4, type=11, label=1, type_name=".demo.Spot")
    return found


def protobuf_message(name: str) -> Any:
    return GetMessages(list(descriptor_set().file))[name]


def base64_of(content: bytes) -> str:
    import base64

    return base64.b64encode(content).decode()


OPTIONS: dict[str, dict[str, str]] = {
    "raw": {},
    "text": {},
    "json": {"schema": SCHEMA},
    "msgpack": {"schema": SCHEMA},
    "arrow": {"schema_ipc": base64_of(ARROW.serialize().to_pybytes())},
    "protobuf": {
        "descriptor_set": base64_of(descriptor_set().SerializeToString()),
        "message": "demo.Flight",
    },
    "avro": {"schema": json.dumps(AVRO)},
    "sbe": {"schema": SBE},
}


def decoder(name: str, **options: str) -> Decoder:
    return make_decoder(name, OPTIONS[name] | options)


def arrow_stream(rows: list[dict[str, Any]], schema: pa.Schema = ARROW, **options: Any) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema))
    return sink.getvalue()


def avro_datum(row: dict[str, Any], schema: Any = AVRO) -> bytes:
    sink = io.BytesIO()
    fastavro.schemaless_writer(sink, fastavro.parse_schema(schema), row)
    return sink.getvalue()


def protobuf_bytes(row: dict[str, Any]) -> bytes:
    message = protobuf_message("demo.Flight")(
        carrier=row["carrier"], delay=row["delay"], tags=row["tags"]
    )
    if row["spot"] is not None:
        message.spot.x = row["spot"]["x"]
    return message.SerializeToString()


def sbe_text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">H", len(encoded)) + encoded


def sbe_message(row: dict[str, Any], legs: tuple[int, ...] = ()) -> bytes:
    block = struct.pack(">qd", row["delay"], row["spot"]["x"])
    tags = struct.pack(">HH", 0, len(row["tags"])) + b"".join(map(sbe_text, row["tags"]))
    flat = struct.pack(">HH", 2, len(legs)) + b"".join(struct.pack(">H", leg) for leg in legs)
    head = struct.pack(">HHHH", len(block), 1, 7, 2)
    return head + block + tags + flat + sbe_text(row["carrier"])


ENCODERS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "json": lambda row: json.dumps(row).encode(),
    "msgpack": msgpack.packb,
    "arrow": lambda row: arrow_stream([row]),
    "protobuf": protobuf_bytes,
    "avro": avro_datum,
    "sbe": sbe_message,
}
ROWS = [
    {"carrier": "UA", "delay": 7, "tags": ["late", "full"], "spot": {"x": 1.5}},
    {"carrier": "zürich", "delay": -3, "tags": [], "spot": {"x": -0.25}},
    {"carrier": "", "delay": 2**40, "tags": ["a" * 100], "spot": {"x": 1e300}},
]
