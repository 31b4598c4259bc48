"""Every decoder over arbitrary bytes: each message is in rows or in rejects, nothing is raised."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from payload_decoders import ENCODERS, OPTIONS, ROWS, decoder

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

    @settings(max_examples=80, deadline=None)
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

    @settings(max_examples=25, deadline=None)
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
