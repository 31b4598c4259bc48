"""Protobuf messages by descriptor sets that protoc wrote."""

from __future__ import annotations

import base64
import pickle
from pathlib import Path
from typing import Any

import grpc_tools
import pyarrow as pa
import pytest
from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    timestamp_pb2,
    wrappers_pb2,
)
from grpc_tools import protoc

from aerolog.catalog.decoders import Decoded, Decoder, DecoderError, check_decoded, make_decoder

PROTO = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum Side { BUY = 0; SELL = 1; }
message Line { string item = 1; uint32 count = 2; }
message Order {
  int64 id = 1;
  Side side = 2;
  repeated Line lines = 3;
  map<string, double> prices = 4;
  google.protobuf.Timestamp placed = 5;
  google.protobuf.Int32Value limit = 6;
  oneof payment { string card = 7; bytes coin = 8; }
  Order parent = 9;
  repeated sint32 deltas = 10;
  uint64 hash = 11;
  optional float weight = 12;
}
"""


@pytest.fixture(scope="module")
def descriptor_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proto")
    (folder / "shop.proto").write_text(PROTO)
    out = folder / "shop.pb"
    known = Path(grpc_tools.__file__).parent / "_proto"
    arguments = ["protoc", f"-I{folder}", f"-I{known}", f"--descriptor_set_out={out}"]
    arguments.append("shop.proto")
    assert protoc.main(arguments) == 0
    return out


@pytest.fixture(scope="module")
def order(descriptor_file: Path) -> Any:
    """The class of ``shop.Order``, made without our code."""
    found = descriptor_pb2.FileDescriptorSet.FromString(descriptor_file.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for known in (timestamp_pb2, wrappers_pb2):
        pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
    pool.Add(found.file[0])
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


@pytest.fixture
def decoder(descriptor_file: Path) -> Decoder:
    return make_decoder(
        "protobuf", {"descriptor_file": str(descriptor_file), "message": "shop.Order"}
    )


def decode(decoder: Decoder, *messages: bytes | None) -> Decoded:
    decoded = decoder.decode(pa.array(messages, pa.binary()))
    check_decoded(decoded, decoder, len(messages))
    return decoded


def test_every_kind_of_field_has_a_column(decoder: Decoder, order: Any) -> None:
    message = order(
        id=-5,
        side=1,
        lines=[{"item": "nut", "count": 2**32 - 1}, {"item": "bolt"}],
        prices={"nut": 0.5},
        deltas=[1, -1],
        coin=b"\0",
        hash=7,
        weight=0.25,
    )
    message.placed.seconds, message.placed.nanos = 1_700_000_000, 1999
    message.limit.value = 0
    message.parent.id = 4
    columns = decode(decoder, message.SerializeToString()).columns
    assert columns.schema.field("placed").type == pa.timestamp("ns", "UTC")
    assert columns.column("placed").cast(pa.int64()).to_pylist() == [1_700_000_000_000_001_999]
    (row,) = columns.drop_columns(["placed"]).to_pylist()
    assert row == {
        "id": -5,
        "side": "SELL",
        "lines": [{"item": "nut", "count": 2**32 - 1}, {"item": "bolt", "count": 0}],
        "prices": [("nut", 0.5)],
        "limit": 0,
        "card": None,
        "coin": b"\0",
        "parent": order(id=4).SerializeToString(),
        "deltas": [1, -1],
        "hash": 7,
        "weight": 0.25,
    }


def test_the_empty_message_has_defaults_and_nulls(decoder: Decoder) -> None:
    (row,) = decode(decoder, b"").columns.to_pylist()
    assert (row["id"], row["side"], row["lines"], row["prices"]) == (0, "BUY", [], [])
    absent = ("placed", "limit", "card", "coin", "parent", "weight")
    assert [row[name] for name in absent] == [None] * 6


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b"\x08", "not Protobuf: "),
        (b"\xff" * 12, "not Protobuf: "),
        (b"\x3a\x01\xff", "not Protobuf: "),
        (
            b"\x78\x01",
            'the schema lacks the field 15 of the message: add it, or set extra = "ignore"',
        ),
        (
            b"\x1a\x02\x78\x01",
            "the schema lacks the field 15 of lines of the message: add it, ",
        ),
        (b"\x10\x09", "schema changed: side has no value 9"),
        (b"\x58" + b"\xff" * 9 + b"\x01", "schema changed: hash is larger than int64 holds"),
    ],
)
def test_what_does_not_fit_says_why(decoder: Decoder, message: bytes, said: str) -> None:
    decoded = decode(decoder, b"\x08\x01", message, b"\x08\x02")
    assert decoded.columns.column("id").to_pylist() == [1, 2]
    assert decoded.rejects[0].reason.startswith(said)


def test_fields_of_newer_writers_can_be_left_out(decoder: Decoder) -> None:
    lenient = make_decoder("protobuf", decoder.options | {"extra": "ignore"})
    assert decode(lenient, b"\x08\x01\x78\x01").columns.column("id").to_pylist() == [1]


@pytest.mark.parametrize(("form", "kind"), [("decimal", pa.decimal128(20, 0)), ("uint64", None)])
def test_unsigned_numbers_have_forms_that_hold_them(
    decoder: Decoder, form: str, kind: pa.DataType | None
) -> None:
    made = make_decoder("protobuf", decoder.options | {"uint64": form})
    assert made.schema.field("hash").type == (kind or pa.uint64())
    message = b"\x58" + b"\xff" * 9 + b"\x01"
    assert decode(made, message).columns.column("hash").to_pylist() == [2**64 - 1]


def test_a_decoder_travels_without_its_file(tmp_path: Path, descriptor_file: Path) -> None:
    copy = tmp_path / "gone.pb"
    copy.write_bytes(descriptor_file.read_bytes())
    made = make_decoder("protobuf", {"descriptor_file": str(copy), "message": "shop.Order"})
    copy.unlink()
    travelled = pickle.loads(pickle.dumps(made))
    assert travelled == made
    assert decode(travelled, b"\x08\x07").columns.column("id").to_pylist() == [7]


def test_descriptor_sets_that_are_none_are_refused(tmp_path: Path, descriptor_file: Path) -> None:
    file = tmp_path / "x.pb"
    file.write_bytes(b"\xff\xff")
    with pytest.raises(DecoderError, match="not a Protobuf descriptor set"):
        make_decoder("protobuf", {"descriptor_file": str(file)})
    with pytest.raises(DecoderError, match="one of shop.Line, shop.Order"):
        make_decoder("protobuf", {"descriptor_file": str(descriptor_file)})
    with pytest.raises(DecoderError, match=r"no message 'shop\.Nothing'"):
        make_decoder(
            "protobuf", {"descriptor_file": str(descriptor_file), "message": "shop.Nothing"}
        )
    with pytest.raises(DecoderError, match="needs the option descriptor_file"):
        make_decoder("protobuf", {})


@pytest.mark.parametrize(
    ("imports", "said"),
    [({"a": ["b"], "b": ["a"]}, "in a circle"), ({"a": ["lost.proto"]}, "lacks lost.proto")],
)
def test_imports_that_do_not_end_are_refused(imports: dict[str, list[str]], said: str) -> None:
    from payload_decoders import base64_of

    found = descriptor_pb2.FileDescriptorSet()
    for name, dependencies in imports.items():
        found.file.add(name=name, dependency=dependencies)
    with pytest.raises(DecoderError, match=said):
        make_decoder("protobuf", {"descriptor_set": base64_of(found.SerializeToString())})


@pytest.mark.parametrize("depth", [20, 500, 5000])
def test_a_chain_of_many_messages_is_refused(depth: int) -> None:
    files = descriptor_pb2.FileDescriptorSet()
    file = files.file.add(name="chain.proto", package="p", syntax="proto3")
    for index in range(depth):
        file.message_type.add(name=f"M{index}").field.add(
            name="next", number=1, label=1, type=11, type_name=f".p.M{index + 1}"
        )
    file.message_type.add(name=f"M{depth}").field.add(name="end", number=1, label=1, type=5)
    content = base64.b64encode(files.SerializeToString()).decode()
    with pytest.raises(DecoderError, match="too many or too deep fields"):
        make_decoder("protobuf", {"descriptor_set": content, "message": "p.M0"})
    shallow = {"descriptor_set": content, "message": f"p.M{depth - 10}"}
    assert make_decoder("protobuf", shallow).schema.names == ["next"]
