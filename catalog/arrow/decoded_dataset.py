"""The messages of archives, decoded, as a dataset that is read on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.catalog.arrow.dataset import ARCHIVE_COLUMN, ArchiveDataset
from aerolog.catalog.arrow.lazy_dataset import LazyDataset
from aerolog.catalog.arrow.pushdown import NO_FILTER, ColumnBounds
from aerolog.catalog.decoders import (
    REJECTS_SCHEMA,
    DecoderError,
    decoded_batches,
    decoded_schema,
    sampled_decoder,
)
from aerolog.catalog.decoders.batches import SCANNED_COLUMNS
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from aerolog.catalog.decoders import Decoder

_TIME = "record_time"
#: What the decoding needs; times of rows are made only where they are wanted.
_SCANNED = tuple(name for name in SCANNED_COLUMNS if name != _TIME)


class DecodedDataset(LazyDataset):
    """Rows that a decoder makes of messages, or the rejects of it.

    Bounds of ``recording_id``, ``stream_id``, ``session_id``, ``position`` and ``record_time`` in a
    filter limit what is read and decoded.
    """

    def __init__(self, frames: ArchiveDataset, decoder: Decoder, *, rejects: bool = False) -> None:
        """Create the dataset; only a decoder that infers its schema reads messages for that.

        Args:
            frames: the dataset of the messages.
            decoder: of their payloads.
            rejects: True for the messages that cannot be decoded, False for the rows.

        Raises:
            DecoderError: the schema cannot be inferred, or has the column ``archive_fk``.
        """
        if decoder.needs_sample:
            decoder = sampled_decoder(decoder, frames.read(_SCANNED, NO_FILTER))
        self._frames = frames
        self._decoder = decoder
        self._rejects = rejects
        schema = REJECTS_SCHEMA if rejects else decoded_schema(decoder)
        self._archives = ARCHIVE_COLUMN in frames.schema.names
        if self._archives:
            if ARCHIVE_COLUMN in schema.names:
                raise DecoderError(f"decoder {decoder.name} gives a column {ARCHIVE_COLUMN}")
            schema = schema.append(frames.schema.field(ARCHIVE_COLUMN))
        super().__init__(schema)

    @property
    def decoder(self) -> Decoder:
        """The decoder, whose schema is known."""
        return self._decoder

    def read(
        self, columns: Sequence[str], bounds: ColumnBounds, **options: int
    ) -> Iterator[pa.RecordBatch]:
        """Read messages within bounds and decode them; arguments are those of the base's method."""
        pyarrow = require("pyarrow", "decoding messages")
        schema = pyarrow.schema([self.schema.field(name) for name in columns])
        scanned = (*_SCANNED, ARCHIVE_COLUMN) if self._archives else _SCANNED
        timed = _TIME in columns
        for batch in self._frames.read((*scanned, _TIME) if timed else scanned, bounds, **options):
            if not batch.num_rows:
                continue
            whole = batch if timed else self._untimed(batch)
            for both in decoded_batches([whole], self._decoder):
                part = both[self._rejects]
                arrays = [
                    # A batch is of one recording.
                    pyarrow.repeat(batch.column(name)[0], part.num_rows)
                    if name == ARCHIVE_COLUMN
                    else part.column(name)
                    for name in columns
                ]
                yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)

    def _untimed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch with a column of no times, which nobody wants and the decoding passes on."""
        pyarrow = require("pyarrow", "decoding messages")
        nulls = pyarrow.nulls(batch.num_rows, self._frames.schema.field(_TIME).type)
        names = [*batch.schema.names, _TIME]
        return pyarrow.RecordBatch.from_arrays([*batch.columns, nulls], names)
