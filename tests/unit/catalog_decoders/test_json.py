"""JSON messages: a given schema, an inferred one, and what does not fit either."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
import pytest

from aerolog.catalog.decoders import (
    Decoded,
    Decoder,
    DecoderError,
    SchemaUnknownError,
    check_decoded,
    make_decoder,
)


def decode(decoder: Decoder, *messages: bytes | None) -> Decoded:
    decoded = decoder.decode(pa.array(messages, pa.binary()))
    check_decoded(decoded, decoder, len(messages))
    return decoded


def rows(decoder: Decoder, *messages: bytes) -> list[dict[str, Any]]:
    decoded = decode(decoder, *messages)
    assert decoded.rejects == []
    found: list[dict[str, Any]] = decoded.columns.to_pylist()
    return found


def reason(decoder: Decoder, message: bytes) -> str:
    # Between good ones: the fast reader sees all three first.
    decoded = decode(decoder, b"{}", message, b"{}")
    assert decoded.source.to_pylist() == [0, 2]
    (reject,) = decoded.rejects
    assert reject.index == 1
    return reject.reason


FLAT = make_decoder("json", {"schema": "a int64, b string, c double, d bool"})


def test_an_object_is_a_row() -> None:
    assert rows(FLAT, b'{"a":1,"b":"x","c":2,"d":true}', b'{ "d" : null,\n "a":-5}') == [
        {"a": 1, "b": "x", "c": 2.0, "d": True},
        {"a": -5, "b": None, "c": None, "d": None},
    ]


def test_lines_of_a_message_are_rows_of_it() -> None:
    decoded = decode(FLAT, b'{"a":1}', b'{"a":2}\n{"a":3}\n', b'{"a":4}')
    assert decoded.columns.column("a").to_pylist() == [1, 2, 3, 4]
    assert decoded.source.to_pylist() == [0, 1, 1, 2]


def test_a_message_with_one_bad_line_gives_no_row() -> None:
    decoded = decode(FLAT, b'{"a":1}\n{"a":"x"}', b'{"a":2}')
    assert decoded.source.to_pylist() == [1]
    assert decoded.rejects[0].reason == "schema changed: a is a string, expected int64"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b"", "not JSON: empty message"),
        (b" \n", "not JSON: empty message"),
        (b'{"a":', "not JSON: Expecting value: line 1 column 6 (char 5)"),
        (b"{}}", "not JSON: Extra data: line 1 column 3 (char 2)"),
        (b'{"a":\xff}', "not UTF-8: byte 0xff at 5: invalid start byte"),
        (b"null", "schema changed: the message is no JSON object"),
        (b"[1]", "schema changed: the message is no JSON object"),
        (b"17", "schema changed: the message is no JSON object"),
        (b'{"a":"1"}', "schema changed: a is a string, expected int64"),
        (b'{"a":1.0}', "schema changed: a is a float, expected int64"),
        (b'{"a":true}', "schema changed: a is a boolean, expected int64"),
        (b'{"a":9223372036854775808}', "schema changed: a is out of the range of int64: 92233"),
        (b'{"b":{}}', "schema changed: b is an object, expected string"),
        (b'{"b":"\\ud800"}', "schema changed: b has half of a surrogate pair"),
        (b'{"d":0}', "schema changed: d is an integer, expected bool"),
        (b'{"a":1,"a":2}', "schema changed: the message has 'a' twice"),
        (
            b'{"a":1,"z":2}',
            'the schema lacks the field z of the message: add it, or set extra = "ignore"',
        ),
    ],
)
def test_what_does_not_fit_says_why(message: bytes, said: str) -> None:
    assert reason(FLAT, message).startswith(said)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (b'{}}\n{"m":{}', b""),
        (b'{"a":1', b'"b":"x"}'),
        (b'{},"m":{}', b""),
        (b'{}},{"m":{}', b" "),
        (b'{"b":"', b'"}'),
    ],
)
def test_no_message_passes_for_a_part_of_another(first: bytes, second: bytes) -> None:
    """Payloads made to fit the wrapping in which whole batches are read."""
    decoded = decode(FLAT, b'{"a":7}', first, second, b'{"a":8}')
    assert decoded.source.to_pylist() == [0, 3]
    assert decoded.columns.column("a").to_pylist() == [7, 8]


def test_fields_that_are_not_in_the_schema_can_be_left_out() -> None:
    decoder = make_decoder("json", {"schema": "s struct<x: int64>", "extra": "ignore"})
    assert rows(decoder, b'{"z":[{}],"z":1,"s":{"x":1,"y":2}}', b'{"s":{"y":1}}') == [
        {"s": {"x": 1}},
        {"s": {"x": None}},
    ]
    assert "'x' twice" in reason(decoder, b'{"s":{"x":1,"x":2}}')


def test_types_beyond_those_of_json_come_from_text() -> None:
    decoder = make_decoder(
        "json",
        {
            "schema": "t timestamp[us, UTC], d decimal(10, 2), x map<string, int64>, "
            "l list<struct<q: date>>, f float, b binary"
        },
    )
    message = b"""{"t":"2024-02-29T12:00:00.000001Z","d":1.25,"x":{"k":1},
        "l":[{"q":"2024-01-02"},null],"f":0.5,"b":"AAE="}"""
    assert rows(decoder, message) == [
        {
            "t": dt.datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=dt.UTC),
            "d": decimal.Decimal("1.25"),
            "x": [("k", 1)],
            "l": [{"q": dt.date(2024, 1, 2)}, None],
            "f": 0.5,
            "b": b"\0\1",
        }
    ]
    assert "t is not timestamp" in reason(decoder, b'{"t":"yesterday"}')
    assert "d is not decimal" in reason(decoder, b'{"d":1.255}')
    assert "f is out of the range of float" in reason(decoder, b'{"f":1e300}')
    assert "b is not base64" in reason(decoder, b'{"b":"?"}')
    assert "l[].q is not date32" in reason(decoder, b'{"l":[{"q":"x"}]}')


def test_infinity_and_nan_are_no_numbers_of_json_in_any_spelling() -> None:
    for text in ("Infinity", "-Infinity", "NaN", "Inf"):
        assert reason(FLAT, b'{"c":%s}' % text.encode()).startswith("not JSON")
    assert rows(FLAT, b'{"b":"Inf"}', b'{"b":"NaN, Inf}"}') == [
        {"a": None, "b": text, "c": None, "d": None} for text in ("Inf", "NaN, Inf}")
    ]


def test_a_schema_is_inferred_from_a_sample_and_fixed() -> None:
    decoder = make_decoder("json", {"sample": "3"})
    assert decoder.needs_sample
    assert decoder.sample_size == 3
    with pytest.raises(SchemaUnknownError, match="option schema"):
        _ = decoder.schema
    sample = [
        b'{"a":1,"b":null,"n":{"x":[1]}}',
        b"nothing",
        b'{"a":1.5,"odd name":"y","n":{"y":true}}',
        b'{"late":1}',
    ]  # fmt: skip
    fixed = decoder.with_sample(pa.array(sample, pa.binary()))
    assert not fixed.needs_sample
    assert fixed.options["schema"] == (
        'a double, b string, n struct<x: list<int64>, y: bool>, "odd name" string'
    )
    assert make_decoder("json", fixed.options) == fixed
    decoded = decode(fixed, *sample)
    assert decoded.source.to_pylist() == [0, 2]
    late = decoded.rejects[1]
    assert (late.reason, late.schema_changed) == ("schema changed: late is a new field", True)
    assert not decoded.rejects[0].schema_changed


def test_no_schema_is_inferred_from_what_is_no_json() -> None:
    with pytest.raises(DecoderError, match="no message of the sample is an object"):
        make_decoder("json", {}).with_sample(pa.array([b"x", b"[]", None], pa.binary()))
    wide = b"{" + b",".join(b'"k%d":1' % number for number in range(1001)) + b"}"
    with pytest.raises(DecoderError, match="more than 1000 fields: give a schema"):
        make_decoder("json", {}).with_sample(pa.array([wide], pa.binary()))
    deep = b'{"a":' * 40 + b"1" + b"}" * 40
    with pytest.raises(DecoderError, match="nested deeper than 32"):
        make_decoder("json", {}).with_sample(pa.array([deep], pa.binary()))


def test_deep_nesting_ends_no_process() -> None:
    deep = b'{"z":' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}"
    assert "z is a new field" in reason(FLAT, deep) or "not JSON" in reason(FLAT, deep)


def test_what_is_left_out_may_not_be_deeper_alone_than_in_company() -> None:
    decoder = make_decoder("json", {"schema": "a int64", "extra": "ignore"})
    deep = b'{"a":1,"z":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert reason(decoder, deep) == decode(decoder, deep).rejects[0].reason
    wide = b'{"a":1,"z":[' + b",".join([b"[]"] * 5000) + b"]}"
    assert rows(decoder, wide, b'{"a":2}') == [{"a": 1}, {"a": 2}]


def test_one_bad_message_of_thousands_is_found() -> None:
    messages = [b'{"a":%d}' % number for number in range(5000)]
    messages[4321] = b"{"
    decoded = decode(FLAT, *messages)
    assert [reject.index for reject in decoded.rejects] == [4321]
    assert decoded.columns.column("a").to_pylist() == [n for n in range(5000) if n != 4321]


def test_a_name_that_is_no_text_is_not_inferred() -> None:
    messages = pa.array([b'{"\\ud800": 1, "s": {"\\udfff": 1, "t": 1}}', b'{"n": 2}'], pa.binary())
    decoder = make_decoder("json", {}).with_sample(messages)
    assert decoder.schema.names == ["s", "n"]
    assert [reject.index for reject in decoder.decode(messages).rejects] == [0]


IGNORING = make_decoder("json", {"schema": "n int64, d double", "extra": "ignore"})


@pytest.mark.parametrize(
    ("message", "rows_of_it"),
    [
        (b'{"n":1},"x":5', None),
        (b'{"n":1},"y":{"m":1}', None),
        (b'{"n":1}, "z":{}', None),
        (b'{"n":1}}', None),
        (b'{"n":1}}\0', None),
        (b'{"n":1},', None),
        (b'{"n":1}{}', None),
        (b'{"n":1}\n{"x":2}', [{"n": 1, "d": None}, {"n": None, "d": None}]),
        (b'{"n":1}\n{}\n{', None),
        (b'{"n":1,"n":2}', None),
        (b'{"n":null,"n":2}', None),
        (b'{"x":1,"x":2}', [{"n": None, "d": None}]),
        (b'{"d":-0}', [{"n": None, "d": 0.0}]),
        (b'{"x":' + b"9" * 5000 + b"}", [{"n": None, "d": None}]),
        (b'{"x":1e999999999999999999999}', [{"n": None, "d": None}]),
        (b'{"x":NaN}', None),
        (b'{"x":"\\ud800"}', [{"n": None, "d": None}]),
        (b'{"x":' + b"[" * 399 + b"]" * 399 + b"}", [{"n": None, "d": None}]),
        (b'{"x":' + b"[" * 401 + b"]" * 401 + b"}", None),
    ],
)  # fmt: skip
def test_a_message_has_one_result_whatever_stands_beside_it(
    message: bytes, rows_of_it: list[dict[str, Any]] | None
) -> None:
    sound = b'{"n":7}'
    for before, after in (
        ([], []),
        ([sound], []),
        ([], [sound]),
        ([sound] * 400, [sound] * 400),
        ([b"{"], [sound]),
        ([], [b""]),
        ([b'{"n":'], [b"1}"]),
    ):
        decoded = decode(IGNORING, *before, message, *after)
        found = [
            row
            for row, source in zip(
                decoded.columns.to_pylist(), decoded.source.to_pylist(), strict=True
            )
            if source == len(before)
        ]
        assert (repr(found) if found else None) == (repr(rows_of_it) if rows_of_it else None)
