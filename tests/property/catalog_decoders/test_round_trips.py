"""What an encoder of the format wrote, the decoder reads."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from payload_decoders import ENCODERS, SBE, decoder, sbe_message

from aerolog.catalog.decoders import check_decoded, make_decoder

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "carrier": TEXT,
            "delay": st.integers(-(2**63) + 1, 2**63 - 1),
            "tags": st.lists(TEXT, max_size=3),
            "spot": st.fixed_dictionaries({"x": st.floats(allow_nan=False, allow_infinity=False)}),
        }
    ),
    max_size=8,
)


@pytest.mark.parametrize("name", [name for name in ENCODERS if name != "sbe"])
def test_rows_come_back(name: str) -> None:
    made = decoder(name)

    @settings(max_examples=40, deadline=None)
    @given(rows=ROWS)
    def holds(rows: list[dict[str, Any]]) -> None:
        payloads = pa.array([ENCODERS[name](row) for row in rows], pa.binary())
        decoded = made.decode(payloads)
        check_decoded(decoded, made, len(rows))
        assert decoded.rejects == []
        assert decoded.columns.to_pylist() == rows

    holds()


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, legs=st.lists(st.lists(st.integers(0, 65_535), max_size=4), min_size=8))
def test_groups_and_data_come_back(rows: list[dict[str, Any]], legs: list[list[int]]) -> None:
    made = make_decoder("sbe", {"schema": SBE})
    messages = [sbe_message(row, tuple(leg)) for row, leg in zip(rows, legs, strict=False)]
    decoded = made.decode(pa.array(messages, pa.binary()))
    assert decoded.rejects == []
    assert decoded.columns.to_pylist() == [
        row | {"tags": [{"tag": tag} for tag in row["tags"]], "legs": [{"from": n} for n in leg]}
        for row, leg in zip(rows, legs, strict=False)
    ]
