"""Readers of Arrow take the memory that the scan wrote to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pytest

from aerolog.catalog import open_recording

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def batch(folder: Path) -> pa.RecordBatch:
    with open_recording(folder, 0) as recording:
        return next(recording.to_batches())


def addresses(array: pa.Array) -> list[int]:
    return [buffer.address for buffer in array.buffers() if buffer is not None]


def test_a_stream_by_the_c_interface_is_not_copied(batch: pa.RecordBatch) -> None:
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch])
    (got,) = pa.RecordBatchReader.from_stream(reader)
    for name in ("position", "session_id", "payload"):
        assert addresses(got[name]) == addresses(batch[name])


@pytest.mark.parametrize("read", [pl.from_arrow, pl.DataFrame])
def test_polars_reads_numbers_and_payloads_where_they_are(batch: pa.RecordBatch, read) -> None:
    frame = read(pa.RecordBatchReader.from_batches(batch.schema, [batch]))
    numbers = frame["position"].to_numpy(allow_copy=False)
    assert numbers.__array_interface__["data"][0] == addresses(batch["position"])[-1]
    views = frame.select("payload").to_arrow(compat_level=pl.CompatLevel.newest())
    payloads = batch["payload"].buffers()[-1]
    memory = range(payloads.address, payloads.address + payloads.size)
    assert any(address in memory for address in addresses(views["payload"].chunk(0)))
