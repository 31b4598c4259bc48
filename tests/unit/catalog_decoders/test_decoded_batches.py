"""From scanned batches to rows and rejects that say where they are from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from aerolog.catalog import open_recording
from aerolog.catalog.decoders import (
    REJECTS_SCHEMA,
    Decoded,
    Decoder,
    DecoderError,
    DecodeTotals,
    Reject,
    check_decoded,
    decoded_batches,
    decoded_schema,
    make_decoder,
    sampled_decoder,
)
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MESSAGES = [b'{"a":%d}' % number for number in range(50)]
MESSAGES[7] = b"broken"
MESSAGES[30] = b'{"a":"changed"}'
MESSAGES[31] = b'{"a":"changed"}'


@pytest.fixture
def archive(tmp_path: Path) -> tuple[Path, list[int]]:
    builder = RecordingBuilder(stream_id=33, session_id=44)
    positions = [builder.add(message) for message in MESSAGES]
    builder.write(tmp_path)
    return tmp_path, positions


def scanned(folder: Path, **options: Any) -> Iterator[pa.RecordBatch]:
    with open_recording(folder, 0) as recording:
        yield from recording.to_batches(**options)


@pytest.mark.parametrize("rows_max", [1, 8, 1000])
def test_every_message_of_a_recording_is_in_rows_or_rejects(
    archive: tuple[Path, list[int]], rows_max: int
) -> None:
    folder, positions = archive
    totals = DecodeTotals()
    decoder = make_decoder("json", {"schema": "a int64"})
    parts = list(decoded_batches(scanned(folder, rows_max=rows_max), decoder, totals=totals))
    rows = pa.Table.from_batches([rows for rows, _ in parts])
    rejects = pa.Table.from_batches([rejects for _, rejects in parts])
    assert rows.schema == decoded_schema(decoder)
    assert rejects.schema == REJECTS_SCHEMA
    bad = [7, 30, 31]
    good = [index for index in range(50) if index not in bad]
    assert rows.column("a").to_pylist() == good
    assert rows.column("position").to_pylist() == [positions[index] for index in good]
    assert set(rows.column("session_id").to_pylist()) == {44}
    assert set(rows.column("stream_id").to_pylist()) == {33}
    assert rejects.column("position").to_pylist() == [positions[index] for index in bad]
    assert rejects.column("payload").to_pylist() == [MESSAGES[index] for index in bad]
    change = "schema changed: a is a string, expected int64"
    assert totals == DecodeTotals(50, 47, 3, 2, (0, positions[30], change))


def test_the_schema_of_the_first_messages_holds_for_all(archive: tuple[Path, list[int]]) -> None:
    folder, _ = archive
    decoder = make_decoder("json", {"sample": "3"})
    parts = list(decoded_batches(scanned(folder, rows_max=2), decoder))
    assert len(parts) == 25
    assert parts[0][0].schema.field("a").type == pa.int64()
    assert sum(rejects.num_rows for _, rejects in parts) == 3
    fixed = sampled_decoder(decoder, scanned(folder, rows_max=2))
    assert fixed.options == {"sample": "3", "schema": "a int64"}
    assert sampled_decoder(fixed, iter([])) is fixed
    assert list(decoded_batches([], decoder)) == []
    with pytest.raises(DecoderError, match="no schema can be inferred"):
        sampled_decoder(decoder, iter([]))


def test_columns_whose_names_are_taken_are_renamed() -> None:
    decoder = make_decoder("json", {"schema": "position int64, Stream_Id int32, b string"})
    names = decoded_schema(decoder).names
    assert names[5:] == ["payload_position", "payload_Stream_Id", "b"]
    twice = make_decoder("json", {"schema": "position int64, payload_position int32"})
    with pytest.raises(DecoderError, match="two columns the name 'payload_position'"):
        decoded_schema(twice)


def test_a_message_of_several_rows_repeats_its_place(archive: tuple[Path, list[int]]) -> None:
    batch = pa.RecordBatch.from_pylist(
        [
            {"recording_id": 1, "position": position, "session_id": 2, "stream_id": 3,
             "record_time": None, "payload": payload}
            for position, payload in ((64, b'{"a":1}\n{"a":2}'), (128, b'{"a":3}'))
        ],
        schema=next(scanned(archive[0])).select(
            ["recording_id", "position", "session_id", "stream_id", "record_time", "payload"]
        ).schema,
    )  # fmt: skip
    ((rows, _),) = decoded_batches([batch], make_decoder("json", {"schema": "a int64"}))
    assert rows.column("position").to_pylist() == [64, 64, 128]


def test_a_scan_without_its_columns_is_refused(archive: tuple[Path, list[int]]) -> None:
    without = scanned(archive[0], columns=("recording_id", "position"))
    with pytest.raises(DecoderError, match="needs the column session_id"):
        next(decoded_batches(without, make_decoder("raw")))


class _Custom(Decoder):
    """Gives what a test says."""

    name = "custom"

    def __init__(self, made: Callable[[], Decoded]) -> None:
        super().__init__({})
        self._made = made

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([("x", pa.int64())])

    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        return self._made()


def given(source: list[int], rejects: list[int], name: str = "x", rows: int = -1) -> Decoded:
    count = len(source) if rows < 0 else rows
    batch = pa.RecordBatch.from_arrays([pa.array([0] * count, pa.int64())], [name])
    return Decoded(batch, pa.array(source, pa.int64()), [Reject(at, "no") for at in rejects])


@pytest.mark.parametrize(
    "decoded",
    [
        given([0, 1], []),
        given([0, 1, 2], [2]),
        given([0, 1], [2, 2]),
        given([1, 0, 2], []),
        given([0, 1, 3], []),
        given([0, 1], [-1, 2]),
        given([0, 1, 2], [], name="y"),
        given([0, 1, 2], [], rows=2),
    ],
)
def test_a_decoder_that_loses_or_doubles_messages_is_found_out(decoded: Decoded) -> None:
    decoder = _Custom(lambda: decoded)
    with pytest.raises(DecoderError, match="decoder custom"):
        check_decoded(decoder.decode(pa.array([b"", b"", b""])), decoder, 3)
    check_decoded(given([0, 0, 2], [1]), decoder, 3)
