"""Any filter of a dataset gives the rows that it gives of a table of everything."""

from __future__ import annotations

import tempfile
from functools import cache, reduce
from operator import and_, or_
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerolog.catalog.arrow.dataset import ArchiveDataset
from aerolog.catalog.arrow.pushdown import HIGHEST, LOWEST, Bound, bounds_of
from aerolog.testing.recordings import RecordingBuilder

QUICK = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
COLUMNS = ("recording_id", "stream_id", "session_id", "position", "term_offset", "reserved_value")
_FOLDER = tempfile.TemporaryDirectory()

values = st.one_of(
    st.integers(-3, 3),
    st.integers(0, 200_000),
    st.sampled_from([10, 11, 1408, 65536, 65568, 131072, 196608, LOWEST, HIGHEST]),
)


@cache
def recorded(assemble: bool) -> tuple[ArchiveDataset, pa.Table]:
    if not list(Path(_FOLDER.name).iterdir()):
        for recording_id in range(3):
            builder = RecordingBuilder(
                stream_id=10 + recording_id % 2, segment_length=131072, session_id=recording_id
            )
            for index in range(220):
                builder.session_id = recording_id + index // 100
                builder.add(bytes(index * 31 % 3000), reserved_value=index)
            builder.write(_FOLDER.name)
    dataset = ArchiveDataset(_FOLDER.name, assemble=assemble)
    return dataset, dataset.to_table()


def comparisons(column: str) -> st.SearchStrategy[pc.Expression]:
    field = pc.field(column)
    return st.one_of(
        values.map(lambda value: field == value),
        values.map(lambda value: field != value),
        values.map(lambda value: field < value),
        values.map(lambda value: field <= value),
        values.map(lambda value: field > value),
        values.map(lambda value: field >= value),
        values.map(lambda value: pc.scalar(value) < field),
        values.map(lambda value: ~(field > value)),
        st.lists(values, max_size=4).map(lambda many: field.isin(pa.array(many, pa.int64()))),
        st.just(field.is_valid()),
    )


filters = st.recursive(
    st.sampled_from(COLUMNS).flatmap(comparisons),
    lambda inner: st.tuples(
        st.sampled_from([and_, or_]), st.lists(inner, min_size=2, max_size=3)
    ).map(lambda both: reduce(both[0], both[1])),
    max_leaves=6,
)


@QUICK
@given(filters, st.booleans(), st.sets(st.sampled_from((*COLUMNS, "payload"))))
def test_a_dataset_filters_as_a_table_does(
    expression: pc.Expression, assemble: bool, columns: set[str]
) -> None:
    dataset, whole = recorded(assemble)
    names = sorted(columns)
    expected = whole.filter(expression).select(names)
    assert dataset.to_table(columns=names, filter=expression).equals(expected)


@QUICK
@given(filters)
def test_no_row_of_an_answer_is_out_of_its_bounds(expression: pc.Expression) -> None:
    _, whole = recorded(assemble=True)
    bounds = bounds_of(expression)
    found = whole.filter(expression)
    for name in bounds.columns:
        assert all(bounds.of(name).allows(value) for value in found[name].to_pylist())
    if bounds.exact:
        inside = [
            all(bounds.of(name).allows(row[name]) for name in bounds.columns)
            for row in whole.select(COLUMNS).to_pylist()
        ]
        assert whole.filter(pa.array(inside, pa.bool_())).num_rows == found.num_rows


def test_what_an_expression_does_not_say_bounds_nothing() -> None:
    position = pc.field("position")
    for expression in (
        position + 1 > 5,
        position.cast("int32") == 5,
        position > 5.5,
        pc.field("payload") == b"(position > 5)",
        pc.field("payload") == b"x" * 3,
        position.is_null(),
        ~(position == 5),
    ):
        assert bounds_of(expression).of("position") == Bound()
        assert not bounds_of(expression).exact
    quoted = (pc.field("name") == 'a" and (position > 5') & (position < 9)
    assert bounds_of(quoted).of("position") == Bound(high=8)
    assert not bounds_of(quoted).exact


def test_values_that_a_text_leaves_out_bound_nothing() -> None:
    many = pc.field("position").isin(pa.array(range(1000)))
    bounds = bounds_of(many)
    assert bounds.of("position").values is None
    assert not bounds.exact
