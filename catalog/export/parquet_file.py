"""A Parquet file that is being written to a store, a row group at a time."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from aerolog.catalog.export.store import Sink

_PURPOSE: Final = "exporting recordings to Parquet"


class ParquetFile:
    """Rows on their way to one file.

    Attributes:
        sink: of the file's bytes; whoever opened it ends it.
        rows: written so far.
    """

    def __init__(self, sink: Sink, schema: pa.Schema, options: Mapping[str, Any]) -> None:
        """Begin the file.

        Args:
            sink: of a store.
            schema: of all rows, with the file's metadata.
            options: of ``pyarrow.parquet.ParquetWriter``.
        """
        self.sink = sink
        self.rows = 0
        self._pyarrow = require("pyarrow", _PURPOSE)
        parquet = require("pyarrow.parquet", _PURPOSE)
        self._writer = parquet.ParquetWriter(sink, schema, **options)

    def write_group(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Write rows, one batch or more, as one row group."""
        table = self._pyarrow.Table.from_batches(batches)
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        self.rows += table.num_rows

    def finish(self, metadata: Mapping[bytes, str | bytes] | None = None) -> tuple[int, str]:
        """Write the file's end, with more metadata; its length in bytes, and its checksum."""
        if metadata:
            self._writer.add_key_value_metadata(metadata)
        self._writer.close()
        return self.sink.length, self.sink.finished_checksum()

    def abandon(self) -> None:
        """Let go of it, incomplete: it would write its end when it is collected."""
        with suppress(OSError, ValueError, self._pyarrow.ArrowException):
            self._writer.close()
