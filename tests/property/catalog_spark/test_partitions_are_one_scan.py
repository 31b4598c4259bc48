"""However recordings are cut into partitions, their rows together are those of one scan."""

from __future__ import annotations

import tempfile

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.checksum import checksum_for
from aerolog.catalog.arrow.arrow_recording import record_batches
from aerolog.catalog.arrow.schema import COLUMN_NAMES
from aerolog.catalog.spark.filters import RowBounds
from aerolog.catalog.spark.options import parse_options
from aerolog.catalog.spark.partitions import plan
from aerolog.catalog.spark.range_rows import RowSource
from aerolog.testing.recordings import RecordingBuilder

TERM = 64 * 1024
LENGTHS = st.one_of(
    st.integers(0, 200), st.integers(1300, 5000), st.just(20_000), st.just(TERM - 3000)
)


@st.composite
def recordings(draw: st.DrawFn) -> RecordingBuilder:
    """Frames of a recording: short and fragmented messages, padding, any start."""
    builder = RecordingBuilder(
        term_length=TERM,
        segment_length=TERM << draw(st.integers(0, 3)),
        stream_id=draw(st.integers(1, 3)),
        session_id=draw(st.integers(-5, 5)),
        start_position=draw(st.sampled_from((0, 32, 4096, TERM, 5 * TERM + 96))),
        checksum=draw(st.sampled_from((None, checksum_for("CRC-32")))),
    )
    for length in draw(st.lists(LENGTHS, max_size=40)):
        builder.add(bytes(length), reserved_value=length)
        if length % 7 == 0:
            builder.pad()
    return builder


def one_scan(folder: str) -> pa.Table:
    with ArchiveFolder(folder) as archive:
        batches = [
            batch for recording in archive.recordings() for batch in record_batches(recording)
        ]
    from aerolog.catalog.arrow.schema import arrow_schema

    return pa.Table.from_batches(batches, arrow_schema())


@settings(deadline=None, max_examples=60)
@given(
    builders=st.lists(recordings(), min_size=1, max_size=4),
    stopped=st.booleans(),
    size=st.integers(1, 6 * TERM),
)
def test_rows_of_all_partitions_are_the_rows_of_one_scan(
    builders: list[RecordingBuilder], stopped: bool, size: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for builder in builders:
            builder.write(folder, stopped=stopped)
        options = parse_options({"archive": folder, "partitionBytes": str(size)})
        parts = plan(options, RowBounds())
        source = RowSource(options)
        batches = [batch for ranges in parts for batch in source.batches(ranges)]
        assert pa.Table.from_batches(batches, source.schema).equals(one_scan(folder))


@settings(deadline=None, max_examples=60)
@given(
    builder=recordings(),
    size=st.integers(1, 3 * TERM),
    after=st.integers(-40, 8 * TERM),
    until=st.integers(0, 12 * TERM),
)
def test_positions_choose_exactly_the_rows_between_them(
    builder: RecordingBuilder, size: int, after: int, until: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        builder.write(folder)
        options = parse_options({"archive": folder, "partitionBytes": str(size)})
        bounds = RowBounds(after_position=after, until_position=until)
        source = RowSource(options)
        batches = [batch for ranges in plan(options, bounds) for batch in source.batches(ranges)]
        found = pa.Table.from_batches(batches, source.schema)
        everything = one_scan(folder)
        assert found.column_names == list(COLUMN_NAMES)
        wanted = [after < each <= until for each in everything["position"].to_pylist()]
        assert found.equals(everything.filter(pa.array(wanted, pa.bool_())))
