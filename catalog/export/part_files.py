"""The Parquet files of a part of a recording or of a unit of work, while they are written.

Each is staged and becomes an entry of a manifest. Memory is bounded: rows that wait for their row
group take at most ``WAITING_BYTES`` over all open files, and at most ``OPEN_FILES`` files are open.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from aerolog.catalog.export.manifest import FileEntry
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    import pyarrow as pa

    from aerolog.catalog.export.store import Store

WAITING_BYTES: Final = 128 * 1024 * 1024
ROW_GROUP_BYTES: Final = 64 * 1024 * 1024
OPEN_FILES: Final = 32
_PURPOSE: Final = "exporting recordings to Parquet"

K = TypeVar("K")


class PartFile:
    """A file that is being staged.

    Attributes:
        table: ``rows`` or ``rejects``.
        path: that it will have, which may be changed until it is complete.
        rows: written so far.
        waiting_bytes: of the rows that wait for their row group.
    """

    def __init__(
        self,
        store: Store,
        table: str,
        path: str,
        *,
        staged: str,
        schema: pa.Schema,
        options: Mapping[str, Any],
    ) -> None:
        """Begin the file.

        Args:
            store: of the file.
            table: see the attributes.
            path: see the attributes.
            staged: where it is written.
            schema: of all rows, with the file's metadata.
            options: of ``pyarrow.parquet.ParquetWriter``.
        """
        self.table = table
        self.path = path
        self.rows = 0
        self.waiting_bytes = 0
        self._store = store
        self._staged = staged
        self._waiting: list[pa.RecordBatch] = []
        self._pyarrow = require("pyarrow", _PURPOSE)
        parquet = require("pyarrow.parquet", _PURPOSE)
        with ExitStack() as stack:
            self._sink = stack.enter_context(store.stage(staged))
            self._writer = parquet.ParquetWriter(self._sink, schema, **options)
            self._stack = stack.pop_all()

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows, which wait for their row group."""
        self.waiting_bytes += batch.nbytes
        self._waiting.append(batch)
        if self.waiting_bytes >= ROW_GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows as a row group."""
        if self._waiting:
            self.write_group(self._waiting)
            self._waiting, self.waiting_bytes = [], 0

    def write_group(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Write rows, one batch or more, as one row group."""
        table = self._pyarrow.Table.from_batches(batches)
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        self.rows += table.num_rows

    def finish(self, metadata: Mapping[bytes, str | bytes] | None = None) -> FileEntry:
        """Write the file's end, with more metadata; it is on disk then and waits for its name."""
        self.flush()
        with self._stack:
            if metadata:
                self._writer.add_key_value_metadata(metadata)
            self._writer.close()
            checksum = self._sink.finished_checksum()
        return FileEntry(
            path=self.path,
            table=self.table,
            rows=self.rows,
            bytes=self._sink.length,
            checksum=checksum,
            staged=self._staged,
        )

    def abandon(self) -> None:
        """Remove the file: its writer would write its end when it is collected."""
        with suppress(OSError, ValueError, self._pyarrow.ArrowException):
            self._writer.close()
        # What broke it is told; the next export removes what is left.
        with suppress(OSError):
            self._stack.close()
        with suppress(OSError):
            self._store.remove(self._staged)


class PartFiles(Generic[K]):
    """The open files of a part by key. A context manager: files that are open then are removed.

    Attributes:
        entries: of the files that are complete.
    """

    def __init__(self, begin: Callable[[K], PartFile]) -> None:
        """Begin without a file.

        Args:
            begin: begins the file of a key.
        """
        self.entries: list[FileEntry] = []
        self._begin = begin
        self._open: OrderedDict[K, PartFile] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        while self._open:
            self._open.popitem()[1].abandon()

    def __contains__(self, key: K) -> bool:
        return key in self._open

    def __iter__(self) -> Iterator[PartFile]:
        return iter(self._open.values())

    def file(self, key: K) -> PartFile:
        """The file of a key, begun when it is not open; one that was not used for long ends."""
        if key not in self._open:
            if len(self._open) >= OPEN_FILES:
                self._close(next(iter(self._open)))
            self._open[key] = self._begin(key)
        self._open.move_to_end(key)
        return self._open[key]

    def add(self, key: K, batch: pa.RecordBatch) -> PartFile:
        """Add rows to the file of a key, where they wait for their row group."""
        file = self.file(key)
        file.add(batch)
        while sum(one.waiting_bytes for one in self) > WAITING_BYTES:
            max(self, key=lambda one: one.waiting_bytes).flush()
        return file

    def finish(self, metadata: Mapping[bytes, str | bytes] | None = None) -> None:
        """Complete all files, with more metadata."""
        for key in list(self._open):
            self._close(key, metadata)

    def _close(self, key: K, metadata: Mapping[bytes, str | bytes] | None = None) -> None:
        self.entries.append(self._open[key].finish(metadata))
        del self._open[key]
