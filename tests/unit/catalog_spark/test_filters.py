"""Filters that Spark hands over, taken or given back."""

from __future__ import annotations

from pyspark.sql.datasource import (
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
)

from aerolog.catalog.spark.filters import RowBounds


def test_what_is_taken_is_exact_and_does_not_go_back() -> None:
    bounds = RowBounds()
    left = bounds.push(
        [
            GreaterThan(("position",), 100),
            LessThanOrEqual(("position",), 5000),
            In(("recording_id",), (1, 2, None)),
            GreaterThanOrEqual(("recording_id",), 2),
            EqualTo(("session_id",), -7),
            EqualTo(("stream_id",), 10),
        ]
    )
    assert left == []
    assert (bounds.after_position, bounds.until_position) == (100, 5000)
    assert not bounds.has_recording(1)
    assert bounds.has_recording(2)
    assert not bounds.has_recording(3)
    assert bounds.session_ids == {-7}
    assert bounds.has_stream(10)
    assert not bounds.has_stream(11)


def test_comparisons_narrow_from_both_sides() -> None:
    bounds = RowBounds()
    bounds.push([GreaterThanOrEqual(("position",), 64), LessThan(("position",), 96)])
    bounds.push([EqualTo(("position",), 64)])
    assert (bounds.after_position, bounds.until_position) == (63, 64)


def test_what_is_not_understood_goes_back_as_it_came() -> None:
    filters = [
        IsNotNull(("position",)),
        Not(EqualTo(("recording_id",), 1)),
        StringContains(("payload",), "x"),
        GreaterThan(("session_id",), 1),
        In(("position",), (1, 2)),
        EqualTo(("position", "x"), 1),
        EqualTo(("recording_id",), True),
        EqualTo(("recording_id",), None),
        EqualTo(("reserved_value",), 3),
    ]
    bounds = RowBounds()
    left = bounds.push(filters)
    assert [id(each) for each in left] == [id(each) for each in filters]
    assert bounds == RowBounds()
