"""Every decoder over arbitrary bytes: each message is in rows or in rejects, nothing is raised."""

from __future__ import annotations

import decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from payload_decoders import ENCODERS, OPTIONS, ROWS, arrow_stream, base64_of, decoder

from aerolog.catalog.decoders import check_decoded

ENCODED = {name: [encode(row) for row in ROWS] for name, encode in ENCODERS.items()}
TEXTS = [b"", b"plain", "\u20ac".encode(), b"\xff\xfe"]


@st.composite
def damaged(draw: st.DrawFn, valid: list[bytes]) -> bytes:
    """A message that is cut, overwritten in a few places, or has something behind it."""
    message = bytearray(draw(st.sampled_from(valid)))
    for _ in range(draw(st.integers(0, 4))):
        if message:
            at = draw(st.integers(0, len(message) - 1))
            message[at] = draw(st.integers(0, 255))
    cut = draw(st.integers(0, len(message)))
    tail = draw(st.binary(max_size=8))
    return bytes(message) if draw(st.booleans()) else bytes(message[:cut]) + tail


def batches(name: str) -> st.SearchStrategy[list[bytes | None]]:
    valid = ENCODED.get(name, TEXTS)
    one = st.one_of(
        st.none(), st.binary(max_size=64), st.sampled_from(valid), damaged(valid), damaged(valid)
    )
    return st.lists(one, max_size=12)


@pytest.mark.parametrize("name", OPTIONS)
def test_every_message_is_a_row_or_a_reject(name: str) -> None:
    made = decoder(name)
    valid = ENCODED.get(name, [text for text in TEXTS if name == "raw" or text != b"\xff\xfe"])

    @settings(max_examples=50, deadline=None)
    @given(messages=batches(name))
    def holds(messages: list[bytes | None]) -> None:
        payloads = pa.array(messages, pa.binary())
        decoded = made.decode(payloads)
        check_decoded(decoded, made, len(messages))
        decoded.columns.validate(full=True)
        assert all(reject.reason and "\n" not in reject.reason for reject in decoded.rejects)
        rejected = {reject.index for reject in decoded.rejects}
        assert not [index for index in rejected if messages[index] in valid]

    holds()


@pytest.mark.parametrize("name", OPTIONS)
def test_a_verdict_is_the_same_in_any_company(name: str) -> None:
    """A message decodes alone as it does between others."""
    made = decoder(name)

    @settings(max_examples=15, deadline=None)
    @given(messages=batches(name))
    def holds(messages: list[bytes | None]) -> None:
        together = made.decode(pa.array(messages, pa.binary()))
        rows = iter(together.columns.to_pylist())
        reasons = {reject.index: reject.reason for reject in together.rejects}
        found = together.source.to_pylist()
        for index, message in enumerate(messages):
            alone = made.decode(pa.array([message], pa.binary()))
            mine = [next(rows) for one in found if one == index]
            assert repr(alone.columns.to_pylist()) == repr(mine)
            assert [one.reason for one in alone.rejects] == (
                [reasons[index]] if index in reasons else []
            )

    holds()


@pytest.mark.parametrize("name", OPTIONS)
def test_a_slice_of_an_array_is_decoded_as_an_array_of_its_own(name: str) -> None:
    made = decoder(name)
    messages = [*ENCODED.get(name, TEXTS), b"\xc1", None]
    whole = pa.array([b"before", *messages, b"behind"], pa.binary())
    sliced = made.decode(whole.slice(1, len(messages)))
    copied = made.decode(pa.array(messages, pa.binary()))
    assert sliced.columns.equals(copied.columns)
    assert sliced.source.equals(copied.source)
    assert sliced.rejects == copied.rejects


RICH = pa.schema(
    [
        ("view", pa.string_view()),
        ("dictionary", pa.dictionary(pa.int8(), pa.large_string())),
        ("large", pa.large_binary()),
        ("lists", pa.list_(pa.struct([("x", pa.float32())]))),
        ("map", pa.map_(pa.string(), pa.int64())),
        ("decimal", pa.decimal128(10, 2)),
        ("bool", pa.bool_()),
    ]
)
RICH_ROWS = [
    {"view": "y" * 30, "dictionary": "d", "large": b"1", "lists": [{"x": 1.0}, None],
     "map": [("k", 1)], "decimal": decimal.Decimal("1.25"), "bool": True},
    dict.fromkeys(RICH.names),
]  # fmt: skip
RICH_MESSAGES = [
    arrow_stream(RICH_ROWS, RICH),
    arrow_stream(RICH_ROWS, RICH, compression="zstd"),
    pa.RecordBatch.from_pylist(RICH_ROWS, schema=RICH).serialize().to_pybytes(),
]


@settings(max_examples=60, deadline=None)
@given(messages=st.lists(damaged(RICH_MESSAGES), max_size=8))
def test_damaged_arrow_of_all_types_is_read_nowhere_outside(messages: list[bytes]) -> None:
    made = decoder("arrow", schema_ipc=base64_of(RICH.serialize().to_pybytes()))
    decoded = made.decode(pa.array(messages, pa.binary()))
    check_decoded(decoded, made, len(messages))
    decoded.columns.validate(full=True)
    assert len(decoded.columns.to_pylist()) == decoded.columns.num_rows
