"""Archive folders to read, and what a data source gives of them without a session of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from aerolog.catalog.spark.filters import RowBounds
from aerolog.catalog.spark.options import Table, parse_options
from aerolog.catalog.spark.partitions import plan
from aerolog.catalog.spark.range_rows import RowSource
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TERM = 64 * 1024


def read(archive: Path | str, *, table: Table = "rows", **options: str) -> pa.Table:
    """All that a read gives, by way of its partitions."""
    from aerolog.catalog.decoders import make_decoder

    parsed = parse_options({"archive": str(archive), **options}, table=table)
    decoder = None
    if parsed.decoder is not None:
        decoder = make_decoder(parsed.decoder, parsed.decoder_options)
    sessions = parsed.choice.session_ids
    source = RowSource(parsed, None if sessions is None else frozenset(sessions), decoder)
    batches = [batch for ranges in plan(parsed, RowBounds()) for batch in source.batches(ranges)]
    return pa.Table.from_batches(batches, source.schema)


@pytest.fixture
def reading() -> Callable[..., pa.Table]:
    """`read`, for test modules."""
    return read


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two recordings of four segments each: 4,000 messages of 24 bytes."""
    archive = tmp_path / "archive"
    archive.mkdir()
    for stream_id in (5, 6):
        builder = RecordingBuilder(stream_id=stream_id, session_id=-stream_id)
        for index in range(4000):
            builder.add(b'{"n": %017d}' % index, reserved_value=index)
        builder.write(archive)
    return archive
