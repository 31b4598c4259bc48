"""MessagePack messages: maps, arrays in the schema's order, extension times, damage."""

from __future__ import annotations

import datetime as dt

import msgpack
import pyarrow as pa
import pytest

from aerolog.catalog.decoders import Decoded, DecoderError, check_decoded, make_decoder

DECODER = make_decoder("msgpack", {"schema": "a int64, b binary, t timestamp[us, UTC]"})


def decode(*messages: bytes) -> Decoded:
    decoded = DECODER.decode(pa.array(messages, pa.binary()))
    check_decoded(decoded, DECODER, len(messages))
    return decoded


def test_maps_and_arrays_in_the_order_of_the_schema_are_rows() -> None:
    moment = dt.datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=dt.UTC)
    as_map = msgpack.packb({"t": moment, "a": 5, "b": b"\0"}, datetime=True)
    as_array = msgpack.packb([6, None, moment], datetime=True)
    assert decode(as_map, as_array).columns.to_pylist() == [
        {"a": 5, "b": b"\0", "t": moment},
        {"a": 6, "b": None, "t": moment},
    ]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b"", "not MessagePack: ValueError: Unpack failed: incomplete input"),
        (b"\xc1", "not MessagePack: FormatError"),
        (b"\xdf\xff\xff\xff\xff", "not MessagePack: ValueError: 4294967295 exceeds max_map_len"),
        (b"\x91" * 100_000, "not MessagePack: StackError"),
        (msgpack.packb({"a": 1}) + b"\0", "not MessagePack: ExtraData"),
        (b"\x81\xa1a\xa1\xff", "not MessagePack: UnicodeDecodeError"),
        (msgpack.packb({"a": msgpack.ExtType(5, b"x")}), "schema changed: a is ExtType"),
        (msgpack.packb({"a": 2**63}), "schema changed: a is out of the range of int64"),
        (msgpack.packb({"a": 1.0}), "schema changed: a is a float, expected int64"),
        (
            msgpack.packb({"x": 1}),
            'the schema lacks the field x of the message: add it, or set extra = "ignore"',
        ),
        (msgpack.packb({1: 1}), "schema changed: a key of the map is no string"),
        (msgpack.packb([1]), "schema changed: an array of 1, expected 3 columns"),
        (msgpack.packb(7), "schema changed: the message is no map"),
    ],
)
def test_what_does_not_fit_says_why(message: bytes, said: str) -> None:
    good = msgpack.packb({"a": 1})
    decoded = decode(good, message, good)
    assert decoded.source.to_pylist() == [0, 2]
    assert decoded.rejects[0].reason.startswith(said)


def test_a_schema_is_inferred_with_the_types_of_the_format() -> None:
    moment = dt.datetime(2024, 5, 6, tzinfo=dt.UTC)
    sample = [msgpack.packb({"b": b"x", "t": moment, "n": [1]}, datetime=True), msgpack.packb([1])]
    found = make_decoder("msgpack", {}).with_sample(pa.array(sample, pa.binary()))
    assert found.options["schema"] == "b binary, t timestamp[ns, tz=UTC], n list<int64>"
    with pytest.raises(DecoderError, match="no message of the sample"):
        make_decoder("msgpack", {}).with_sample(pa.array([b"\xc1"], pa.binary()))
