"""Rows of any range of time are those of a scan of everything, whatever the index says."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.catalog.arrow.arrow_recording import record_batches
from aerolog.catalog.arrow.dataset import ArchiveDataset
from aerolog.catalog.times import TimeRange
from aerolog.testing.recordings import RecordingBuilder, write_time_index

QUICK = settings(deadline=None, max_examples=120, suppress_health_check=list(HealthCheck))
START_NS = 1_700_000_000_000_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FOLDER = tempfile.TemporaryDirectory()


@cache
def recorded() -> tuple[str, list[int]]:
    """A folder with a recording of three terms, and where its messages begin."""
    builder = RecordingBuilder(segment_length=131072)
    begins = []
    for index in range(160):
        end = builder.add(bytes(index * 31 % 3000))
        begins.append(end)
    builder.write(_FOLDER.name)
    return _FOLDER.name, begins


steps = st.one_of(st.integers(0, 3_000_000), st.sampled_from([0, 1_000, -5_000_000, 60_000_000]))


@st.composite
def indexes(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Entries at the begin and any other positions, with pauses and steps of the clock.

    No time is known before the first entry, and where a position is repeated.
    """
    _, ends = recorded()
    places = sorted({0} | draw(st.sets(st.sampled_from(ends), max_size=30)))
    times = accumulate((draw(steps) for _ in places), initial=START_NS)
    return list(zip(times, places, strict=False))


def micros(ns: int) -> datetime:
    return EPOCH + timedelta(microseconds=ns // 1000)


def scanned(folder: str, **options: Any) -> pa.Table:
    with ArchiveFolder(folder) as archive:
        batches = list(record_batches(archive.recording(0), rows_max=16, **options))
    return pa.Table.from_batches(batches) if batches else pa.table({"position": []})


@QUICK
@given(entries=indexes(), data=st.data())
def test_rows_of_a_range_are_those_whose_time_is_in_it(
    entries: list[tuple[int, int]], data: st.DataObject
) -> None:
    folder, _ = recorded()
    write_time_index(folder, 0, entries)
    columns = ("position", "record_time")
    everything = scanned(folder, columns=columns)
    assert everything["record_time"].null_count == 0
    moments = [time_ns // 1000 for time_ns, _ in entries]
    moments += [time.value for time in everything["record_time"][::7]]
    near = st.sampled_from(moments).flatmap(lambda us: st.integers(us - 2, us + 2))
    since, until = data.draw(st.none() | near), data.draw(st.none() | near)
    after = data.draw(st.sampled_from([None, 0, 70_000, 131_072]))
    found = scanned(
        folder,
        columns=columns,
        within=TimeRange(since, until),
        after_position=after,
    )
    numbers = pc.cast(everything["record_time"], pa.int64())
    wanted = [
        position
        for position, us in zip(
            everything["position"].to_pylist(), numbers.to_pylist(), strict=True
        )
        if (since is None or us >= since)
        and (until is None or us < until)
        and (after is None or position > after)
    ]
    assert found["position"].to_pylist() == wanted


@QUICK
@given(entries=indexes(), data=st.data())
def test_a_filter_by_record_time_finds_what_it_finds_in_a_table(
    entries: list[tuple[int, int]], data: st.DataObject
) -> None:
    folder, _ = recorded()
    write_time_index(folder, 0, entries)
    dataset = ArchiveDataset(folder)
    everything = dataset.to_table(columns=["position", "record_time"])
    moments = everything["record_time"].to_pylist()[::5] + [micros(ns) for ns, _ in entries]
    column, chosen = pc.field("record_time"), st.sampled_from(moments)
    one = data.draw(chosen)
    expression = data.draw(
        st.sampled_from(
            [
                column >= one,
                column < one,
                column == one,
                ~(column > one),
                column.is_null(),
                pc.scalar(one) < column,
                (column >= one) & (column < data.draw(chosen)),
                (column <= one) | (column > data.draw(chosen)),
                (column <= one) & (pc.field("position") > 65536),
            ]
        )
    )
    found = dataset.to_table(columns=["position"], filter=expression)
    assert found["position"].to_pylist() == everything.filter(expression)["position"].to_pylist()
