"""Positions, sessions and times choose rows before they become Arrow data."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from aerolog.archive.format.archive_folder import ScanTotals
from aerolog.archive.format.checksum import checksum_for
from aerolog.catalog import open_recording
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

START_MS, STOP_MS = 1_700_000_000_000, 1_700_000_001_000


def table(folder: Path, **options: object) -> pa.Table:
    with open_recording(folder, 0) as recording:
        return recording.to_arrow(**options).replace_schema_metadata()


@pytest.mark.parametrize("assemble", [True, False])
@pytest.mark.parametrize("after", [-5, 0, 1, 64, 1000, 65535, 65536, 65537, 131072, 200_001])
def test_rows_behind_any_position_are_those_of_the_whole(
    folder: Path, after: int, assemble: bool
) -> None:
    whole = table(folder, assemble=assemble)
    expected = whole.filter(pc.field("position") > after)
    assert expected.num_rows > 0
    assert table(folder, assemble=assemble, after_position=after).equals(expected)


def test_what_lies_before_the_term_of_a_position_is_not_read(folder: Path) -> None:
    totals = ScanTotals(0)
    whole = ScanTotals(0)
    table(folder, totals=whole)
    end = whole.position
    last = table(folder, after_position=end - 1, totals=totals)
    assert last["position"].to_pylist() == [end]
    assert 0 < totals.frames < whole.frames // 2


@pytest.mark.parametrize("assemble", [True, False])
@pytest.mark.parametrize("sessions", [[1], [2], [3, 1], [2, 2, 9], [9], []])
def test_rows_of_sessions_are_those_of_the_whole(
    folder: Path, sessions: list[int], assemble: bool
) -> None:
    whole = table(folder, assemble=assemble)
    expected = whole.filter(pc.field("session_id").isin(pa.array(sessions, pa.int32())))
    assert table(folder, assemble=assemble, session_ids=sessions).equals(expected)
    positions = table(folder, assemble=assemble, session_ids=sessions, columns=("position",))
    assert positions.equals(expected.select(["position"]))


def test_a_session_whose_place_a_checksum_took_is_found(tmp_path: Path) -> None:
    builder = RecordingBuilder(session_id=77, checksum=checksum_for("CRC-32"))
    for index in range(50):
        builder.add(b"%d" % index * 900)
    builder.write(tmp_path)
    assert table(tmp_path, session_ids=[77]).num_rows == 50
    assert table(tmp_path, session_ids=[78]).num_rows == 0


def test_positions_alone_take_no_room_for_payloads(folder: Path) -> None:
    before = pa.total_allocated_bytes()
    with open_recording(folder, 0) as recording:
        for batch in recording.to_batches(columns=("position",), rows_max=100):
            assert pa.total_allocated_bytes() - before <= 2 * 1024
            del batch


@pytest.mark.parametrize(
    ("since", "until", "is_there"),
    [
        (None, None, True),
        (STOP_MS, None, True),
        (STOP_MS + 1, None, False),
        (None, START_MS, False),
        (None, START_MS + 1, True),
        (START_MS + 10, START_MS + 20, True),
        (datetime.fromtimestamp(STOP_MS / 1000 + 1, UTC), None, False),
        (datetime.fromtimestamp(STOP_MS / 1000, UTC).replace(tzinfo=None), None, True),
        (None, datetime.fromtimestamp(START_MS / 1000, timezone(timedelta(hours=5))), False),
    ],
)
def test_times_choose_whole_recordings(
    folder: Path, since: object, until: object, is_there: bool
) -> None:
    rows = table(folder, since=since, until=until).num_rows
    assert rows == (table(folder).num_rows if is_there else 0)


def test_a_scan_is_a_stream_that_others_read(folder: Path) -> None:
    with open_recording(folder, 0) as recording:
        reader = recording.scan(columns=("position", "payload"), session_ids=[2])
        assert isinstance(reader, pa.RecordBatchReader)
        assert reader.schema.names == ["position", "payload"]
        again = pa.RecordBatchReader.from_stream(reader).read_all()
    assert again.equals(table(folder, columns=("position", "payload"), session_ids=[2]))
