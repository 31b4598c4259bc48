"""Times in Spark: ranges choose what is planned; a batch that is repeated has the same ones."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import GreaterThanOrEqual, LessThan

from aerolog.catalog.spark.filters import RowBounds
from aerolog.catalog.spark.offsets import from_spark, to_spark
from aerolog.catalog.spark.options import parse_options
from aerolog.catalog.spark.partitions import plan, split_ranges
from aerolog.catalog.spark.range_rows import RowSource
from aerolog.catalog.spark.stream_progress import Limits, OffsetReader
from aerolog.catalog.times import MissingTimesWarning
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Reading = Callable[..., pa.Table]

TERM = 64 * 1024
FRAME = 64
LENGTH = 4 * TERM
START = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
START_NS = 1_700_000_000_000_000_000
#: A quarter of a second each.
MOMENTS = [(START_NS + 250_000_000 * at, TERM * at) for at in range(5)]


def moment(ms: int) -> datetime:
    return START + timedelta(milliseconds=ms)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A recording of four terms in a second; a second one like it, without an index."""
    folder = tmp_path / "archive"
    folder.mkdir()
    for stream_id in (5, 6):
        builder = RecordingBuilder(stream_id=stream_id)
        while builder.position < LENGTH:
            builder.add(bytes(24), reserved_value=START_NS + builder.position * 1000)
        builder.write(folder)
    write_time_index(folder, 0, MOMENTS)
    return folder


def of_first(table: pa.Table) -> pa.Table:
    return table.filter(pa.compute.equal(table["recording_id"], 0))


def test_rows_have_their_times(archive: Path, reading: Reading) -> None:
    table = reading(archive, partitionBytes="64k")
    times = of_first(table)["record_time"].to_pylist()
    assert times[0] == START
    assert times == sorted(times)
    assert times[TERM // FRAME] == moment(250)
    assert table["record_time"].null_count == LENGTH // FRAME


def test_a_plan_tells_recordings_whose_rows_have_no_times(archive: Path) -> None:
    with pytest.warns(MissingTimesWarning) as told:
        plan(parse_options({"archive": str(archive)}), RowBounds())
    (warning,) = told
    assert f"recordings of {archive} have no time index: " in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingTimesWarning)
        plan(parse_options({"archive": str(archive), "timeSource": "none"}), RowBounds())


def test_a_range_of_time_plans_its_segments_alone(archive: Path, reading: Reading) -> None:
    options = {"since": "2023-11-14T22:13:20.300Z", "until": "2023-11-14T22:13:20.700Z"}
    parsed = parse_options({"archive": str(archive), "recordings": "0", **options})
    (ranges,) = plan(parsed, RowBounds())
    assert [(each.from_position, each.until_position) for each in ranges] == [(TERM, 3 * TERM)]
    for name in ("0-0.rec", f"0-{3 * TERM}.rec"):
        (archive / name).unlink()
    table = reading(archive, recordings="0", **options)
    times = table["record_time"].to_pylist()
    assert moment(300) <= times[0] < times[-1] < moment(700)
    assert len(times) == pytest.approx((700 - 300) * LENGTH // FRAME // 1000, abs=1)


def test_a_range_that_nothing_was_recorded_in_has_no_rows(archive: Path, reading: Reading) -> None:
    write_time_index(
        archive, 0, [*MOMENTS[:2], (START_NS + 900_000_000, TERM), (START_NS + 10**9, LENGTH)]
    )
    span = {"since": "2023-11-14T22:13:20.400Z", "until": "2023-11-14T22:13:20.800Z"}
    assert (
        plan(parse_options({"archive": str(archive), "recordings": "0", **span}), RowBounds()) == []
    )
    # Without an index the recording was going on then, as far as anybody knows.
    assert set(reading(archive, **span)["recording_id"].to_pylist()) == {1}


def test_filters_that_spark_hands_over_choose_segments_and_go_back(archive: Path) -> None:
    bounds = RowBounds()
    filters: list[Any] = [
        GreaterThanOrEqual(("record_time",), moment(510)),
        LessThan(("record_time",), moment(740)),
    ]
    assert bounds.push(filters) == filters
    parsed = parse_options({"archive": str(archive)})
    (ranges,) = plan(parsed, bounds)
    (only,) = ranges  # rows of the other recording have no times to compare
    assert (only.recording_id, only.from_position, only.until_position) == (0, 2 * TERM, 3 * TERM)
    naive = RowBounds()
    naive.push([LessThan(("record_time",), datetime(2023, 1, 1))])  # noqa: DTZ001 - it is the point
    assert not naive.within


def test_timestamps_in_messages_may_be_the_times(archive: Path, reading: Reading) -> None:
    table = reading(archive, timeSource="reserved", since="2023-11-14T22:13:20.200Z")
    assert table["record_time"].null_count == 0
    assert min(table["record_time"].to_pylist()) >= moment(200)
    assert table.num_rows == 2 * (LENGTH - 200_000) // FRAME
    with pytest.raises(ConfigurationError, match=r"timeSource='clock'.*no source of times"):
        parse_options({"archive": "a", "timeSource": "clock"})


def test_decoded_rows_have_times_too(archive: Path, reading: Reading) -> None:
    table = reading(archive, recordings="0", payload="decoded", decoder="raw")
    assert table["record_time"].null_count == 0


def test_a_batch_that_is_repeated_has_the_same_times(tmp_path: Path) -> None:
    builder = RecordingBuilder()
    while builder.position < LENGTH:
        builder.add(bytes(24))
    builder.write(tmp_path, stopped=False)
    write_time_index(tmp_path, 0, MOMENTS[:3])
    follow = OffsetReader(parse_options({"archive": str(tmp_path)}))
    end = from_spark(to_spark(follow.latest({}, Limits())))

    def times() -> list[Any]:
        parts = split_ranges(follow.options, follow.ranges({}, end))
        return [
            time
            for ranges in parts
            for batch in RowSource(follow.options).batches(ranges)
            for time in batch["record_time"].to_pylist()
        ]

    before = times()
    assert before[0] == START
    assert before[-1] is None, "the index was behind, and nobody goes on with it"
    write_time_index(tmp_path, 0, MOMENTS)
    assert times() == before


def test_a_checkpoint_from_before_has_no_times_and_is_read(tmp_path: Path) -> None:
    old = {str(tmp_path): {"0": {"start": 0, "position": 64, "ended": False}}}
    (progress,) = from_spark(old).values()
    assert progress.times == ()
    assert to_spark(from_spark(old)) == old
    with pytest.raises(ConfigurationError, match="checkpoint"):
        from_spark(
            {"p": {"0": {"start": 0, "position": 64, "ended": False, "times": [1, 2, 3, 4, 5]}}}
        )
