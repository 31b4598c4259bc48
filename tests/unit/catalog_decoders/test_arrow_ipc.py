"""Arrow IPC messages: streams, single batches, and claims that a message cannot keep."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from payload_decoders import arrow_stream

from aerolog.catalog.decoders import (
    Decoded,
    Decoder,
    DecoderError,
    SchemaUnknownError,
    check_decoded,
    make_decoder,
)

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = pa.schema([("a", pa.int64()), ("s", pa.string())])
TEXT = {"schema": "a int64, s string"}


def decode(decoder: Decoder, *messages: bytes | None) -> Decoded:
    decoded = decoder.decode(pa.array(messages, pa.binary()))
    check_decoded(decoded, decoder, len(messages))
    return decoded


def rows(*numbers: int) -> list[dict[str, Any]]:
    return [{"a": number, "s": str(number)} for number in numbers]


def batch_message(*numbers: int) -> bytes:
    """An encapsulated record batch, without its schema."""
    return pa.RecordBatch.from_pylist(rows(*numbers), schema=SCHEMA).serialize().to_pybytes()


def test_a_stream_of_several_batches_gives_all_its_rows() -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        for numbers in ((1, 2), (3,)):
            writer.write_batch(pa.RecordBatch.from_pylist(rows(*numbers), schema=SCHEMA))
    decoded = decode(make_decoder("arrow", TEXT), sink.getvalue().to_pybytes(), batch_message(4))
    assert decoded.columns.to_pylist() == rows(1, 2, 3, 4)
    assert decoded.source.to_pylist() == [0, 0, 0, 1]


def test_the_schema_of_the_first_stream_is_fixed() -> None:
    decoder = make_decoder("arrow", {})
    with pytest.raises(SchemaUnknownError, match="give schema_file"):
        _ = decoder.schema
    shown = pa.array([b"x", None, arrow_stream(rows(1), SCHEMA)], pa.binary())
    fixed = decoder.with_sample(shown)
    assert fixed.schema == SCHEMA
    assert pickle.loads(pickle.dumps(fixed)) == fixed
    with pytest.raises(DecoderError, match="no schema can be found"):
        decoder.with_sample(pa.array([b"x", batch_message(1)], pa.binary()))


def test_another_schema_half_way_is_told() -> None:
    other = pa.schema([("a", pa.int32()), ("s", pa.string())])
    renamed = pa.schema([("b", pa.int64())])
    decoded = decode(
        make_decoder("arrow", TEXT),
        arrow_stream(rows(1), SCHEMA),
        arrow_stream(rows(2), other),
        arrow_stream([{"b": 1}], renamed),
    )
    assert decoded.source.to_pylist() == [0]
    assert [reject.reason for reject in decoded.rejects] == [
        "schema changed: a is int32, expected int64",
        "schema changed: columns ['b'], expected ['a', 's']",
    ]


def test_dictionaries_views_and_large_offsets_become_plain_columns(tmp_path: Path) -> None:
    kinds = (
        pa.dictionary(pa.int8(), pa.string()),
        pa.string_view(),
        pa.large_string(),
        pa.large_binary(),
    )
    schema = pa.schema([(f"c{at}", kind) for at, kind in enumerate(kinds)])
    row = {"c0": "x", "c1": "y" * 20, "c2": "z", "c3": b"\0"}
    file = tmp_path / "schema.arrow"
    with pa.ipc.new_file(file, schema):
        pass
    decoder = make_decoder("arrow", {"schema_file": str(file)})
    assert decoder.schema.types == [pa.string(), pa.string(), pa.string(), pa.binary()]
    message = arrow_stream([row, dict.fromkeys(row)], schema)
    assert decode(decoder, message).columns.to_pylist() == [row, dict.fromkeys(row)]


def test_the_view_of_a_null_may_hold_anything() -> None:
    """Validation passes over it, and so must we: Arrow's cast would read where it points."""
    schema = pa.schema([("v", pa.string_view())])
    long = "y" * 30
    message = arrow_stream([{"v": long}, {"v": None}, {"v": "z"}], schema)
    at = message.index(b"\x1e\0\0\0yyyy") + 16
    assert message[at : at + 16] == bytes(16)
    damaged = message[:at] + b"\xff\xff\xff\x7f" + b"\x7f" * 12 + message[at + 16 :]
    decoder = make_decoder("arrow", {"schema_ipc": _base64(schema)})
    decoded = decode(decoder, message, damaged)
    assert decoded.columns.column("v").to_pylist() == [long, None, "z"] * 2


def test_a_dictionary_of_views_becomes_plain() -> None:
    schema = pa.schema([("d", pa.dictionary(pa.int8(), pa.string_view()))])
    values = pa.array(["a" * 20, "b"], pa.string_view())
    column = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), values)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([column], schema=schema))
    decoder = make_decoder("arrow", {"schema_ipc": _base64(schema)})
    decoded = decode(decoder, sink.getvalue().to_pybytes())
    assert decoded.columns.column("d").to_pylist() == ["b", None, "a" * 20]


def test_types_without_a_plain_form_are_refused() -> None:
    for kind in (pa.null(), pa.list_(pa.string_view()), pa.list_view(pa.int8())):
        content = pa.schema([("c", kind)])
        message = arrow_stream([{"c": None}], content)
        with pytest.raises(DecoderError, match="column c"):
            make_decoder("arrow", {}).with_sample(pa.array([message], pa.binary()))


def test_what_a_compressed_message_comes_to_is_bounded() -> None:
    many = [{"a": 0, "s": ""}] * 200_000
    message = arrow_stream(many, SCHEMA, compression="zstd")
    assert len(message) < 5000
    decoded = decode(make_decoder("arrow", TEXT), message)
    assert "it comes to more than" in decoded.rejects[0].reason
    wide = make_decoder("arrow", TEXT | {"expansion": "100000"})
    assert decode(wide, message).columns.num_rows == 200_000


def test_what_a_dictionary_comes_to_is_bounded() -> None:
    schema = pa.schema([("s", pa.dictionary(pa.int8(), pa.string()))])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 5000, pa.int8()), ["x" * 100_000])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([column], schema=schema))
    message = sink.getvalue().to_pybytes()
    decoder = make_decoder("arrow", {"schema_ipc": _base64(schema)})
    assert "s comes to more than" in decode(decoder, message).rejects[0].reason


def test_nothing_behind_the_first_part_of_a_message_is_lost() -> None:
    decoder = make_decoder("arrow", TEXT)
    one, two = arrow_stream(rows(1), SCHEMA), arrow_stream(rows(2), SCHEMA)
    decoded = decode(decoder, one + two, batch_message(3) + batch_message(4), one + b"\0" * 3)
    assert decoded.columns.to_pylist() == rows(3, 4)
    assert [reject.reason for reject in decoded.rejects] == [
        f"not Arrow IPC: {len(two)} bytes behind the stream",
        "not Arrow IPC: 3 bytes behind the stream",
    ]


def test_what_holds_no_rows_is_a_reject() -> None:
    decoder = make_decoder("arrow", TEXT)
    decoded = decode(decoder, b"", None, arrow_stream([], SCHEMA), b"\xff" * 40, b"ARROW1\0\0")
    assert len(decoded.rejects) == 5
    assert decoded.rejects[2].reason == "an Arrow stream without rows"


def test_options_that_are_no_schema_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"no arrow")
    with pytest.raises(DecoderError, match="no Arrow file, stream or schema"):
        make_decoder("arrow", {"schema_file": str(tmp_path / "x")})
    with pytest.raises(DecoderError, match="takes one of"):
        make_decoder("arrow", TEXT | {"schema_ipc": _base64(SCHEMA)})


def _base64(schema: pa.Schema) -> str:
    from payload_decoders import base64_of

    return base64_of(schema.serialize().to_pybytes())


@pytest.mark.parametrize("field", ["naaame", "inneer"])
def test_a_name_that_is_not_utf_8_is_a_reject(field: str, tmp_path: Path) -> None:
    schema = pa.schema([("naaame", pa.struct([("inneer", pa.int64())]))])
    good = arrow_stream([{"naaame": {"inneer": 1}}], schema)
    bad = good.replace(field.encode(), b"\xff" + field.encode()[1:])
    assert bad != good
    decoder = make_decoder("arrow", {}).with_sample(pa.array([bad, good], pa.binary()))
    decoded = decode(decoder, good, bad, good)
    assert decoded.columns.num_rows == 2
    assert [reject.index for reject in decoded.rejects] == [1]
    (tmp_path / "schema").write_bytes(bad)
    with pytest.raises(DecoderError, match="a name that is not UTF-8"):
        make_decoder("arrow", {"schema_file": str(tmp_path / "schema")})
