"""SBE: every kind of field, groups in groups, versions, byte orders."""

from __future__ import annotations

import pickle
import struct
from typing import Any

import pyarrow as pa
import pytest
from payload_decoders import SBE, sbe_message

from aerolog.catalog.decoders import Decoded, Decoder, DecoderError, check_decoded, make_decoder

HEAD = """<types>
  <composite name="messageHeader">
    <type name="blockLength" primitiveType="uint16"/>
    <type name="templateId" primitiveType="uint16"/>
    <type name="schemaId" primitiveType="uint16"/>
    <type name="version" primitiveType="uint16"/></composite>
  <composite name="groupSizeEncoding">
    <type name="blockLength" primitiveType="uint16"/>
    <type name="numInGroup" primitiveType="uint8"/></composite>
  <composite name="bytes"><type name="length" primitiveType="uint8"/>
    <type name="varData" primitiveType="uint8" length="0"/></composite>
  <composite name="latin"><type name="length" primitiveType="uint8"/>
    <type name="varData" primitiveType="uint8" length="0" characterEncoding="ISO-8859-1"/>
  </composite>
  <type name="Symbol" primitiveType="char" length="4"/>
  <type name="Mac" primitiveType="uint8" length="3"/>
  <type name="Triple" primitiveType="int16" length="3"/>
  <type name="Price" primitiveType="int32" presence="optional" nullValue="-1"/>
  <type name="Kind" primitiveType="char" presence="constant">K</type>
  <enum name="Side" encodingType="char">
    <validValue name="BUY">B</validValue><validValue name="SELL">S</validValue></enum>
  <enum name="Level" encodingType="uint8">
    <validValue name="LOW">1</validValue><validValue name="HIGH">200</validValue></enum>
  <set name="Flags" encodingType="uint16">
    <choice name="odd">0</choice><choice name="last">15</choice></set>
  <composite name="Decimal">
    <type name="mantissa" primitiveType="int64"/>
    <type name="exponent" primitiveType="int8" presence="constant">-2</type>
    <ref name="side" type="Side"/></composite>
</types>"""


def schema(body: str, *, order: str = "littleEndian", version: int = 0) -> str:
    return (
        f'<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" id="9" '
        f'version="{version}" byteOrder="{order}">{HEAD}'
        f'<sbe:message name="M" id="1">{body}</sbe:message></sbe:messageSchema>'
    )


def sbe(body: str, **settings: Any) -> Decoder:
    options = {"uint64": settings.pop("uint64")} if "uint64" in settings else {}
    return make_decoder("sbe", {"schema": schema(body, **settings)} | options)


def message(block: bytes, rest: bytes = b"", *, version: int = 0, order: str = "<") -> bytes:
    return struct.pack(order + "HHHH", len(block), 1, 9, version) + block + rest


def decode(decoder: Decoder, *messages: bytes | None) -> Decoded:
    decoded = decoder.decode(pa.array(messages, pa.binary()))
    check_decoded(decoded, decoder, len(messages))
    decoded.columns.validate(full=True)
    return decoded


def rows(decoder: Decoder, *messages: bytes) -> list[dict[str, Any]]:
    decoded = decode(decoder, *messages)
    assert decoded.rejects == []
    found: list[dict[str, Any]] = decoded.columns.to_pylist()
    return found


NUMBERS = {
    "int8": "b", "int16": "h", "int32": "i", "int64": "q",
    "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q", "float": "f", "double": "d",
}  # fmt: skip


@pytest.mark.parametrize(("order", "sign"), [("littleEndian", "<"), ("bigEndian", ">")])
def test_every_primitive_in_both_byte_orders(order: str, sign: str) -> None:
    decoder = sbe("".join(f'<field name="{kind}" type="{kind}"/>' for kind in NUMBERS), order=order)
    values = (-1, -2, -3, -4, 250, 65_000, 2**32 - 2, 2**63 - 1, 0.5, -0.25)
    block = struct.pack(sign + "".join(NUMBERS.values()), *values)
    found = rows(decoder, message(block, order=sign), message(bytes(len(block)), order=sign))
    assert found == [dict(zip(NUMBERS, values, strict=True)), dict.fromkeys(NUMBERS, 0)]


def test_unsigned_types_are_widened_to_signed_ones() -> None:
    decoder = sbe('<field name="a" type="uint8"/><field name="b" type="uint64"/>')
    assert decoder.schema.types == [pa.int16(), pa.int64()]
    decoded = decode(decoder, message(struct.pack("<BQ", 1, 2**63)))
    assert decoded.rejects[0].reason.startswith("schema changed: b is larger than int64 holds")


@pytest.mark.parametrize("form", ["decimal", "uint64"])
def test_large_numbers_have_forms_that_hold_them(form: str) -> None:
    decoder = sbe('<field name="b" type="uint64"/>', uint64=form)
    assert rows(decoder, message(struct.pack("<Q", 2**64 - 2))) == [{"b": 2**64 - 2}]


def test_null_values_are_nulls_where_the_field_is_optional() -> None:
    decoder = sbe(
        '<field name="p" type="Price"/><field name="q" type="int8" presence="optional"/>'
        '<field name="d" type="double" presence="optional"/><field name="r" type="int8"/>'
        '<field name="u" type="uint64" presence="optional"/>'
    )
    absent = struct.pack("<ibdbQ", -1, -128, float("nan"), -128, 2**64 - 1)
    there = struct.pack("<ibdbQ", -(2**31), 127, 1.5, 1, 3)
    assert rows(decoder, message(absent), message(there)) == [
        {"p": None, "q": None, "d": None, "r": -128, "u": None},
        {"p": -(2**31), "q": 127, "d": 1.5, "r": 1, "u": 3},
    ]


def test_characters_arrays_and_constants() -> None:
    decoder = sbe(
        '<field name="symbol" type="Symbol"/><field name="c" type="char"/>'
        '<field name="mac" type="Mac"/><field name="three" type="Triple"/>'
        '<field name="kind" type="Kind"/><field name="o" type="Symbol" presence="optional"/>'
        '<field name="side" type="Side" presence="constant" valueRef="Side.SELL"/>'
    )
    first = b"AB\0x" + b"c" + b"\1\2\3" + struct.pack("<3h", -1, 0, 1) + b"\0\0\0\0"
    second = b"WXYZ" + b"\0" + b"\0\0\0" + struct.pack("<3h", 5, 6, 7) + b"full"
    assert rows(decoder, message(first), message(second)) == [
        {"symbol": "AB", "c": "c", "mac": b"\1\2\3", "three": [-1, 0, 1], "kind": "K", "o": None,
         "side": "SELL"},
        {"symbol": "WXYZ", "c": "", "mac": b"\0\0\0", "three": [5, 6, 7], "kind": "K",
         "o": "full", "side": "SELL"},
    ]  # fmt: skip
    decoded = decode(decoder, message(b"\xff\xfeAB" + first[4:]), message(first))
    assert [reject.reason for reject in decoded.rejects] == ["symbol is not US-ASCII"]


def test_enums_sets_and_composites() -> None:
    decoder = sbe(
        '<field name="side" type="Side"/><field name="level" type="Level"/>'
        '<field name="flags" type="Flags"/><field name="price" type="Decimal"/>'
    )
    block = struct.pack("<cBHqc", b"S", 200, 0x8001, -125, b"B")
    nulls = struct.pack("<cBHqc", b"\0", 255, 0, 0, b"\0")
    unknown = struct.pack("<cBHqc", b"X", 1, 0, 0, b"B")
    decoded = decode(decoder, message(block), message(unknown), message(nulls))
    assert decoded.columns.to_pylist() == [
        {"side": "SELL", "level": "HIGH", "flags": {"odd": True, "last": True},
         "price": {"mantissa": -125, "exponent": -2, "side": "BUY"}},
        {"side": None, "level": None, "flags": {"odd": False, "last": False},
         "price": {"mantissa": 0, "exponent": -2, "side": None}},
    ]  # fmt: skip
    assert [reject.reason for reject in decoded.rejects] == ["schema changed: side has no value 88"]


NESTED = (
    '<field name="id" type="int32"/>'
    '<group name="legs"><field name="qty" type="int16"/>'
    '<group name="fills"><field name="px" type="int8"/></group>'
    '<data name="note" type="latin"/></group>'
    '<group name="ticks"><field name="t" type="int32"/></group>'
    '<data name="blob" type="bytes"/><data name="text" type="latin"/>'
)


def nested(number: int, legs: list[tuple[int, list[int], bytes]], ticks: list[int]) -> bytes:
    parts = struct.pack("<HB", 2, len(legs))
    for quantity, fills, note in legs:
        parts += struct.pack("<hHB", quantity, 1, len(fills)) + struct.pack(
            f"{len(fills)}b", *fills
        )
        parts += bytes([len(note)]) + note
    parts += struct.pack(f"<HB{len(ticks)}i", 4, len(ticks), *ticks)
    return message(struct.pack("<i", number), parts + b"\2\0\xff" + b"\3caf\xe9"[:1] + b"f\xe9!")


def test_groups_in_groups_and_data_at_every_level() -> None:
    decoder = sbe(NESTED)
    found = rows(
        decoder,
        nested(1, [(7, [1, -1], b"\xe4"), (8, [], b"")], [100]),
        nested(2, [], []),
        nested(3, [(9, [5], b"x")], [1, 2, 3]),
    )
    tail = {"blob": b"\0\xff", "text": "fé!"}
    assert found == [
        {"id": 1, "legs": [
            {"qty": 7, "fills": [{"px": 1}, {"px": -1}], "note": "ä"},
            {"qty": 8, "fills": [], "note": ""},
        ], "ticks": [{"t": 100}]} | tail,
        {"id": 2, "legs": [], "ticks": []} | tail,
        {"id": 3, "legs": [{"qty": 9, "fills": [{"px": 5}], "note": "x"}],
         "ticks": [{"t": 1}, {"t": 2}, {"t": 3}]} | tail,
    ]  # fmt: skip


def test_any_cut_of_a_message_with_groups_is_rejected() -> None:
    decoder = sbe(NESTED)
    whole = nested(1, [(7, [1, -1], b"ab"), (8, [3], b"")], [100, 200])
    cuts = [whole[:length] for length in range(len(whole))]
    decoded = decode(decoder, *cuts, whole)
    assert decoded.source.to_pylist() == [len(cuts)]
    assert len(decoded.rejects) == len(cuts)


def test_counts_that_the_message_does_not_hold_are_rejected() -> None:
    flat = sbe('<group name="g"><field name="x" type="int8"/></group>')
    assert rows(flat, message(b"", struct.pack("<HBb", 1, 1, 5))) == [{"g": [{"x": 5}]}]
    decoded = decode(
        flat,
        message(b"", struct.pack("<HB", 1, 255)),
        message(b"", struct.pack("<HB", 0, 255)),
        message(b"", struct.pack("<HB", 65_535, 255) + b"x" * 100),
    )
    assert [reject.reason for reject in decoded.rejects] == [
        "the group g is longer than the message",
        "entries of the group g have no length",
        "the group g is longer than the message",
    ]


VERSIONED = (
    '<field name="a" type="int32"/><field name="b" type="int16" sinceVersion="2"/>'
    '<group name="g" sinceVersion="1"><field name="x" type="int8"/>'
    '<field name="y" type="int8" sinceVersion="3"/></group>'
    '<data name="d" type="bytes" sinceVersion="2"/>'
)


def test_older_messages_have_nulls_for_what_came_later() -> None:
    decoder = sbe(VERSIONED, version=3)
    entries = struct.pack("<HBb", 1, 1, 9)
    found = rows(
        decoder,
        message(struct.pack("<i", 1), version=0),
        message(struct.pack("<i", 2), entries, version=1),
        message(struct.pack("<ih", 3, 30), entries + b"\1D", version=2),
        message(struct.pack("<ih", 4, 40), struct.pack("<HBbb", 2, 1, 8, 7) + b"\0", version=3),
    )
    assert found == [
        {"a": 1, "b": None, "g": None, "d": None},
        {"a": 2, "b": None, "g": [{"x": 9, "y": None}], "d": None},
        {"a": 3, "b": 30, "g": [{"x": 9, "y": None}], "d": b"D"},
        {"a": 4, "b": 40, "g": [{"x": 8, "y": 7}], "d": b""},
    ]


def test_newer_messages_are_read_as_far_as_they_are_known() -> None:
    """The acting block length passes over fields, and the end over data, of versions to come."""
    decoder = sbe(VERSIONED, version=3)
    newer = message(
        struct.pack("<ihq", 5, 50, -1),
        struct.pack("<HBbbi", 6, 1, 1, 2, -1) + b"\1D" + b"\5later",
        version=9,
    )
    assert rows(decoder, newer) == [{"a": 5, "b": 50, "g": [{"x": 1, "y": 2}], "d": b"D"}]


def test_a_block_shorter_than_its_version_is_rejected() -> None:
    decoded = decode(sbe(VERSIONED, version=3), message(struct.pack("<i", 1), b"x" * 9, version=2))
    assert decoded.rejects[0].reason == "the block of M is shorter than its fields"


def test_headers_of_others_are_rejected() -> None:
    decoder = sbe('<field name="a" type="int8"/>')
    decoded = decode(
        decoder,
        b"",
        None,
        b"\1\0\1\0\x09\0\0",
        struct.pack("<HHHHb", 1, 1, 8, 0, 5),
        struct.pack("<HHHHb", 1, 2, 9, 0, 5),
        struct.pack("<HHHHb", 2, 1, 9, 0, 5),
    )
    assert [reject.reason for reject in decoded.rejects] == [
        "shorter than the message header of 8",
        "no payload",
        "shorter than the message header of 8",
        "schema id 8, expected 9",
        "unknown template 2",
        "M ends inside its block",
    ]


def test_a_decoder_of_one_message_has_its_fields_as_columns_and_travels() -> None:
    decoder = make_decoder("sbe", {"schema": SBE, "message": "Flight"})
    row = {"delay": 5, "spot": {"x": 0.5}, "tags": ["a", "b"], "carrier": "UA"}
    travelled = pickle.loads(pickle.dumps(decoder))
    assert travelled == decoder
    (found,) = decode(travelled, sbe_message(row, (1, 2))).columns.to_pylist()
    assert found == row | {"tags": [{"tag": "a"}, {"tag": "b"}], "legs": [{"from": 1}, {"from": 2}]}
    with pytest.raises(DecoderError, match="no message 'Train'; there are Flight"):
        make_decoder("sbe", {"schema": SBE, "message": "Train"})
