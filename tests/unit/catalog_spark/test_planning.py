"""Few and large partitions, cut where messages begin."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.catalog.spark.filters import RowBounds
from aerolog.catalog.spark.options import parse_options
from aerolog.catalog.spark.partitions import PARTITION_BYTES_MIN, Range, partition_bytes, plan
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import ConfigurationError, FileFormatError

if TYPE_CHECKING:
    from pathlib import Path

TERM = 64 * 1024


def planned(
    archive: Path, bounds: RowBounds | None = None, **options: str
) -> list[tuple[Range, ...]]:
    return plan(parse_options({"archive": str(archive), **options}), bounds or RowBounds())


def test_small_recordings_share_a_partition(folder: Path) -> None:
    (ranges,) = planned(folder)
    assert [each.recording_id for each in ranges] == [0, 1]


def test_partitions_are_cut_at_segments(folder: Path) -> None:
    parts = planned(folder, partitionBytes="64k")
    assert len(parts) == 8
    assert all(len(ranges) == 1 for ranges in parts)
    assert {ranges[0].from_position % TERM for ranges in parts} == {0}


def test_segments_go_together_in_groups(folder: Path) -> None:
    parts = planned(folder, partitionBytes="128k")
    lengths = [sum(each.length for each in ranges) for ranges in parts]
    assert len(parts) == 4
    assert max(lengths) <= 2 * TERM


def test_a_large_segment_is_cut_at_terms(tmp_path: Path) -> None:
    builder = RecordingBuilder(segment_length=16 * TERM)
    while builder.position < 8 * TERM:
        builder.add(bytes(1000))
    builder.write(tmp_path)
    parts = planned(tmp_path, partitionBytes="64k")
    assert len(parts) == 8
    assert [ranges[0].from_position for ranges in parts] == [TERM * index for index in range(8)]


def test_no_cut_goes_through_a_message_that_wrongly_spans_terms(tmp_path: Path) -> None:
    builder = RecordingBuilder(segment_length=4 * TERM)
    while builder.position < 3 * TERM:
        builder.add(bytes(992))
    builder.data[TERM + 5] = 0x40  # the first frame of the second term is an end without beginning
    builder.data[TERM - 1024 + 5] = 0x80  # and this one a beginning without end
    builder.write(tmp_path)
    starts = [ranges[0].from_position for ranges in planned(tmp_path, partitionBytes="64k")]
    assert starts == [0, 2 * TERM]


def test_a_session_gets_a_partition_for_each_thing_that_runs_at_once() -> None:
    options = parse_options({"archive": "a"}, parallelism=4)
    assert partition_bytes(options, 1024**3) == 1024**3 // 8
    assert partition_bytes(options, 1024**2) == PARTITION_BYTES_MIN
    assert partition_bytes(options, 1024**5) == options.partition_bytes


def test_filters_choose_recordings_and_segments(folder: Path) -> None:
    parts = planned(
        folder,
        RowBounds(recording_ids=frozenset({1}), after_position=TERM + 100, until_position=2 * TERM),
        partitionBytes="64k",
    )
    assert [(each.recording_id, each.from_position, each.until_position) for (each,) in parts] == [
        (1, TERM, 2 * TERM)
    ]


def test_filters_that_leave_nothing_plan_nothing(folder: Path) -> None:
    assert planned(folder, RowBounds(stream_ids=frozenset({7}))) == []
    assert planned(folder, RowBounds(after_position=10**12)) == []


def test_a_partition_says_where_and_no_more(folder: Path) -> None:
    (ranges,) = planned(folder)
    assert len(pickle.dumps(ranges)) < 1000


def test_options_choose_recordings(folder: Path) -> None:
    (ranges,) = planned(folder, stream="6")
    assert [each.recording_id for each in ranges] == [1]
    assert planned(folder, channel="udp") == []
    assert planned(folder, since="1700000002000") == []
    assert planned(folder, until="1700000000000") == []
    assert len(planned(folder, since="1700000000500", until="1700000000600")[0]) == 2


def test_tags_of_a_folder_lead_to_the_catalog(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="sqlite:///FOLDER/aerolog-catalog.db"):
        planned(folder, tags="carrier=AA")


def test_a_damaged_descriptor_is_an_error_or_a_problem(folder: Path) -> None:
    with ArchiveFolder(folder) as archive:
        at = archive.catalog.entry(0).offset
    catalog = folder / "archive.catalog"
    data = bytearray(catalog.read_bytes())
    data[at + 32 + 64 : at + 32 + 68] = (12345).to_bytes(4, "little")  # the term length
    catalog.write_bytes(data)
    with pytest.raises(FileFormatError, match="recording 0: invalid term buffer length"):
        planned(folder)
    (ranges,) = planned(folder, skipDamage="true")
    assert "cannot be opened" in ranges[0].problem
    assert ranges[1].recording_id == 1
