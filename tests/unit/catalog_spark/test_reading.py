"""What executors read of ranges: rows, rejects, and errors that name recording and position."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.protocol.enums import RecordingState
from aerolog.catalog.arrow.schema import arrow_schema
from aerolog.catalog.decoders import REJECTS_SCHEMA, make_decoder
from aerolog.catalog.spark.errors import ChecksumMismatchError, RejectedMessageError
from aerolog.catalog.spark.filters import RowBounds
from aerolog.catalog.spark.options import parse_options
from aerolog.catalog.spark.partitions import plan
from aerolog.catalog.spark.range_rows import RowSource
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import RecordingChangedError, RecordingDamagedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Reading = Callable[..., pa.Table]

TERM = 64 * 1024
FRAME = 64
A_TERM = TERM // FRAME


def test_rows_have_the_columns_of_the_parquet_schema(folder: Path, reading: Reading) -> None:
    table = reading(folder)
    assert table.schema.equals(arrow_schema())
    assert table.num_rows == 8000
    assert table["reserved_value"].to_pylist() == 2 * list(range(4000))


def test_batches_are_of_ten_thousand_rows_or_a_mebibyte(tmp_path: Path) -> None:
    for length in (10, 3000):
        builder = RecordingBuilder(segment_length=32 * TERM, mtu_length=4096)
        for _ in range(15_000 if length == 10 else 1000):
            builder.add(bytes(length))
        builder.write(tmp_path)
    options = parse_options({"archive": str(tmp_path)})
    batches = [b for part in plan(options, RowBounds()) for b in RowSource(options).batches(part)]
    assert max(batch.num_rows for batch in batches) == 10_000
    assert all(batch.column("payload").nbytes <= 1024 * 1024 + 80_000 for batch in batches)
    assert len(batches) < 8


def test_many_small_recordings_share_batches(tmp_path: Path) -> None:
    for number in range(50):
        builder = RecordingBuilder()
        builder.add(b"%d" % number)
        builder.write(tmp_path)
    options = parse_options({"archive": str(tmp_path)})
    (part,) = plan(options, RowBounds())
    (batch,) = RowSource(options).batches(part)
    assert [int(value) for value in batch.column("payload").to_pylist()] == list(range(50))
    assert batch.column("recording_id").to_pylist() == list(range(50))


def test_sessions_choose_rows_of_an_extended_recording(tmp_path: Path, reading: Reading) -> None:
    builder = RecordingBuilder(session_id=1)
    for session_id in (1, 2):
        builder.session_id = session_id
        for index in range(3):
            builder.add(b"%d" % index)
    builder.write(tmp_path)
    assert reading(tmp_path, sessions="1")["session_id"].to_pylist() == [1, 1, 1]
    assert reading(tmp_path, sessions="1", columns="position").num_rows == 3
    assert reading(tmp_path, sessions="3").num_rows == 0


def test_fragments_are_rows_where_it_is_asked(tmp_path: Path, reading: Reading) -> None:
    builder = RecordingBuilder()
    builder.add(bytes(3000))
    builder.write(tmp_path)
    assert reading(tmp_path).num_rows == 1
    assert reading(tmp_path, rows="fragments")["flags"].to_pylist() == [0x80, 0, 0x40]


def damage(folder: Path, segment: str, offset: int) -> None:
    path = folder / segment
    data = bytearray(path.read_bytes())
    data[offset : offset + 4] = (7).to_bytes(4, "little")
    path.write_bytes(data)


def test_damage_is_an_error_that_names_recording_and_position(
    folder: Path, reading: Reading
) -> None:
    damage(folder, f"1-{TERM}.rec", 10 * FRAME)
    with pytest.raises(RecordingDamagedError) as caught:
        reading(folder)
    assert (caught.value.recording_id, caught.value.position) == (1, TERM + 10 * FRAME)
    assert f"position {TERM + 10 * FRAME} of recording 1" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (type(caught.value), str(caught.value))


@pytest.mark.parametrize("size", ["64k", "1g"])
def test_damage_can_be_passed_over_and_is_a_row_of_the_rejects(
    folder: Path, reading: Reading, size: str
) -> None:
    damage(folder, f"1-{TERM}.rec", 10 * FRAME)
    table = reading(folder, skipDamage="true", partitionBytes=size)
    lost = range(A_TERM + 10, 2 * A_TERM)
    expected = [index for index in range(4000) if index not in lost]
    of_one = table.filter(pa.compute.equal(table["recording_id"], 1))
    assert of_one["reserved_value"].to_pylist() == expected
    rejects = reading(folder, table="rejects", skipDamage="true", partitionBytes=size)
    assert rejects.schema.equals(REJECTS_SCHEMA)
    (reject,) = rejects.to_pylist()
    assert (reject["recording_id"], reject["position"]) == (1, TERM + 10 * FRAME)
    assert "impossible frame length" in reject["reason"]
    assert reject["payload"] is None


@pytest.mark.parametrize("size", ["64k", "1g"])
def test_a_missing_segment_is_one_reject(folder: Path, reading: Reading, size: str) -> None:
    (folder / f"0-{TERM}.rec").unlink()
    with pytest.raises(RecordingDamagedError, match="segment not found") as caught:
        reading(folder, partitionBytes=size)
    assert caught.value.position == TERM
    table = reading(folder, skipDamage="true", partitionBytes=size)
    assert table.num_rows == 8000 - A_TERM
    (reject,) = reading(folder, table="rejects", skipDamage="true", partitionBytes=size).to_pylist()
    assert (reject["recording_id"], reject["position"]) == (0, TERM)


def test_what_is_purged_between_plan_and_read_is_named(folder: Path) -> None:
    options = parse_options({"archive": str(folder)})
    (ranges,) = plan(options, RowBounds())
    with CatalogFile.open(folder) as catalog:
        catalog.update_start_position(0, TERM)
    (folder / "0-0.rec").unlink()
    with pytest.raises(RecordingChangedError, match=f"purged up to position {TERM}"):
        list(RowSource(options).batches(ranges))
    skipping = RowSource(parse_options({"archive": str(folder), "skipDamage": "true"}))
    assert sum(batch.num_rows for batch in skipping.batches(ranges)) == 8000 - A_TERM


def test_a_recording_that_is_gone_is_named(folder: Path) -> None:
    options = parse_options({"archive": str(folder), "skipDamage": "true"})
    (ranges,) = plan(options, RowBounds())
    with CatalogFile.open(folder) as catalog:
        catalog.change_state(0, RecordingState.INVALID)
    plain = RowSource(parse_options({"archive": str(folder)}))
    with pytest.raises(RecordingChangedError, match="recording 0 .* was purged or invalidated"):
        list(plain.batches(ranges))
    assert sum(batch.num_rows for batch in RowSource(options).batches(ranges)) == 4000
    rejecting = RowSource(
        parse_options({"archive": str(folder), "skipDamage": "true"}, table="rejects")
    )
    (batch,) = rejecting.batches(ranges)
    assert batch.to_pylist()[0]["recording_id"] == 0


def test_a_wrong_checksum_is_an_error_or_a_reject(tmp_path: Path, reading: Reading) -> None:
    builder = RecordingBuilder(checksum=checksum_for("CRC-32C"))
    for index in range(2000):
        builder.add(b"%024d" % index)
    builder.data[1500 * FRAME + 40] ^= 1
    builder.write(tmp_path)
    with pytest.raises(ChecksumMismatchError, match=r"1 frames do not match .* of recording 0"):
        reading(tmp_path)
    assert reading(tmp_path, skipDamage="true").num_rows == 2000
    (reject,) = reading(tmp_path, table="rejects", skipDamage="true").to_pylist()
    assert reject["recording_id"] == 0
    assert "do not match their checksum" in reject["reason"]


JSON = {"payload": "decoded", "decoder": "json", "decoder.schema": "n int64"}


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Ten messages; the odd ones are no JSON."""
    builder = RecordingBuilder(session_id=4)
    for index in range(10):
        builder.add(b"oops %d" % index if index % 2 else b'{"n": %d}' % index)
    builder.write(tmp_path)
    return tmp_path


def test_decoded_rows_say_where_they_are_from(mixed: Path, reading: Reading) -> None:
    table = reading(mixed, **JSON)
    assert table.column_names == [
        *("recording_id", "position", "session_id", "stream_id", "record_time", "n")
    ]
    assert table["n"].to_pylist() == [0, 2, 4, 6, 8]
    positions = reading(mixed, columns="position")["position"].to_pylist()
    assert table["position"].to_pylist() == positions[::2]


def test_rejects_are_a_table_of_their_own(mixed: Path, reading: Reading) -> None:
    rejects = reading(mixed, table="rejects", **JSON)
    assert rejects["payload"].to_pylist() == [b"oops %d" % index for index in (1, 3, 5, 7, 9)]
    positions = reading(mixed, columns="position")["position"].to_pylist()
    assert rejects["position"].to_pylist() == positions[1::2]


def test_rejects_inline_make_one_pass_of_both(mixed: Path, reading: Reading) -> None:
    table = reading(mixed, rejects="inline", **JSON)
    assert table.num_rows == 10
    assert set(table["session_id"].to_pylist()) == {4}
    bad = table.filter(pa.compute.is_valid(table["reject_reason"]))
    assert bad["reject_payload"].to_pylist() == [b"oops %d" % index for index in (1, 3, 5, 7, 9)]
    assert bad["n"].null_count == 5
    assert sorted(table["n"].drop_null().to_pylist()) == [0, 2, 4, 6, 8]


def test_rejects_can_be_an_error(mixed: Path, reading: Reading) -> None:
    with pytest.raises(RejectedMessageError, match="of recording 0 cannot be decoded") as caught:
        reading(mixed, rejects="fail", **JSON)
    assert caught.value.recording_id == 0


def test_what_reads_travels_to_the_executors(mixed: Path) -> None:
    options = parse_options({"archive": str(mixed), **JSON})
    decoder = make_decoder("json", {"schema": "n int64"})
    source = pickle.loads(pickle.dumps(RowSource(options, None, decoder)))
    (ranges,) = plan(options, RowBounds())
    assert sum(batch.num_rows for batch in source.batches(ranges)) == 5
