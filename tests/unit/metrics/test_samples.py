"""Values as they are collected: merged, bounded, growing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.tools.metrics.samples import OTHER, Bound, Samples, Totals


def values(samples: Samples) -> dict[str, dict[tuple[str, ...], float]]:
    return {one.family.name: one.values for one in samples.collected()}


def test_values_of_the_same_labels_are_merged_as_the_table_says() -> None:
    samples = Samples(0)
    for value in (3, 1, 2):
        samples.add("stream_sessions", value, "d", "1", "c")
        samples.add("stream_subscriber_lag_bytes", value, "d", "1", "c")
        samples.add("stream_publisher_window_bytes", value, "d", "1", "c")
    samples.add("stream_sessions", 9, "d", "2", "c")

    assert values(samples) == {
        "aerolog_stream_sessions": {("d", "1", "c"): 6, ("d", "2", "c"): 9},
        "aerolog_stream_subscriber_lag_bytes": {("d", "1", "c"): 3},
        "aerolog_stream_publisher_window_bytes": {("d", "1", "c"): 1},
    }


def test_a_wrong_number_of_labels_or_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="aerolog_driver_up has the labels"):
        Samples(0).add("driver_up", 1)
    with pytest.raises(KeyError):
        Samples(0).add("nothing", 1)


def test_what_is_admitted_keeps_its_place_until_it_is_gone() -> None:
    bound = Bound(2)

    assert bound.admit([("b",), ("c",)]) == {("b",): ("b",), ("c",): ("c",)}
    assert bound.overflowed == 0

    shown = bound.admit([("a",), ("b",), ("c",), ("d",)])
    assert shown == {("b",): ("b",), ("c",): ("c",), ("a",): (OTHER,), ("d",): (OTHER,)}
    assert bound.overflowed == 2

    shown = bound.admit([("d",), ("a",), ("c",)])
    assert shown == {("c",): ("c",), ("a",): ("a",), ("d",): (OTHER,)}
    assert bound.overflowed == 1


@given(
    st.integers(0, 5),
    st.lists(st.lists(st.tuples(st.integers(0, 9).map(str), st.just("x"))), max_size=8),
)
def test_there_are_never_more_label_sets_than_the_limit_and_other(
    limit: int, rounds: list[list[tuple[str, str]]]
) -> None:
    bound = Bound(limit)
    for wanted in rounds:
        shown = bound.admit(wanted)

        assert set(shown) == set(wanted)
        own = {labels for labels in shown.values() if labels != (OTHER, OTHER)}
        assert len(own) == min(limit, len(set(wanted)))
        assert bound.overflowed == len(set(wanted)) - len(own)
        assert all(labels in {one, (OTHER, OTHER)} for one, labels in shown.items())


def collected(totals: Totals) -> float | None:
    samples = Samples(0)
    totals.finish(samples)
    found = values(samples).get("aerolog_stream_published_bytes_total", {})
    return found.get(("d", "1", "c"))


def add(totals: Totals, source: str, position: int, begin: int | None = 0) -> None:
    totals.add("stream_published_bytes_total", ("d", "1", "c"), source, position, begin)


def test_a_total_does_not_fall_when_a_session_goes() -> None:
    totals = Totals()
    add(totals, "a", 100)
    add(totals, "b", 50)
    assert collected(totals) == 150

    add(totals, "b", 70)
    assert collected(totals) == 170

    add(totals, "b", 70)
    add(totals, "c", 5)
    assert collected(totals) == 175


def test_a_position_whose_beginning_nobody_knows_counts_from_where_it_was_first_seen() -> None:
    totals = Totals()
    add(totals, "a", 1000, None)
    assert collected(totals) == 0

    add(totals, "a", 1030, None)
    assert collected(totals) == 30


def test_a_position_that_goes_back_does_not_count() -> None:
    totals = Totals()
    add(totals, "a", 100)
    assert collected(totals) == 100
    add(totals, "a", 40)
    assert collected(totals) == 100
    add(totals, "a", 110)
    assert collected(totals) == 110


def test_what_is_gone_is_forgotten_and_begins_anew() -> None:
    totals = Totals()
    add(totals, "a", 100)
    assert collected(totals) == 100
    assert collected(totals) is None

    add(totals, "a", 100, None)
    assert collected(totals) == 0
