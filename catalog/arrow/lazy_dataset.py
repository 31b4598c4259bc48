"""Arrow datasets whose rows are made on demand.

DuckDB, Polars and others take a ``pyarrow.dataset.Dataset`` and tell its scanner which columns and
rows they want. ``LazyDataset`` is such a dataset; a subclass implements ``read``, and ``answers``
when its reads apply bounds exactly.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from aerolog.catalog.arrow.pushdown import ColumnBounds, as_expression, bounds_of
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import NoReturn, Self

    import polars as pl
    import pyarrow as pa

_PURPOSE = "reading recordings as Arrow data"
_pyarrow = require("pyarrow", _PURPOSE)
_dataset = require("pyarrow.dataset", _PURPOSE)
_fs = require("pyarrow.fs", _PURPOSE)

# Arrow's base class has to name a file; this text is shown to callers of its other methods.
_NO_FILE = "rows are read through scanner(), to_table() or to_reader() of this dataset"


class LazyScanner:
    """A read of a dataset with wanted columns and a filter, which can be repeated."""

    def __init__(
        self,
        dataset: LazyDataset,
        columns: Sequence[str] | None,
        filter: pa.compute.Expression | None,  # noqa: A002 - Arrow's name for it
        options: Mapping[str, int],
    ) -> None:
        names = dataset.schema.names
        wanted = names if columns is None else list(columns)
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise ValueError(f"no such column: {unknown[0]}; there are {', '.join(names)}")
        self._dataset = dataset
        self._filter = filter
        self._options = options
        self.bounds = bounds_of(filter)
        self._is_answered = dataset.answers(self.bounds)
        self._read = wanted if self._is_answered else _with_columns_of(filter, wanted, names)
        self._read = self._read or names[:1]  # A batch without columns would have no rows.
        self.projected_schema = _pyarrow.schema([dataset.schema.field(name) for name in wanted])

    @property
    def dataset_schema(self) -> pa.Schema:
        """The schema of all columns of the dataset."""
        return self._dataset.schema

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read the record batches, in bounded memory.

        Raises:
            RecordingDamagedError: a recording is damaged; it is raised after the rows before the
                damage.
        """
        names = self.projected_schema.names
        return (batch.select(names) for batch in self._chosen())

    def to_reader(self) -> pa.RecordBatchReader:
        """Open a stream of record batches, in bounded memory; errors as for ``to_batches``."""
        return _pyarrow.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def to_table(self) -> pa.Table:
        """Read all rows."""
        return self._table(self._chosen())

    def head(self, num_rows: int) -> pa.Table:
        """Read the first rows, and no more than they need."""
        batches: list[pa.RecordBatch] = []
        left = num_rows
        chosen = self._chosen()
        while left > 0 and (batch := next(chosen, None)) is not None:
            batches.append(batch.slice(0, left))
            left -= batches[-1].num_rows
        return self._table(batches)

    def take(self, indices: Any) -> pa.Table:
        """Select rows by their numbers; all rows are read."""
        return self.to_table().take(indices)

    def count_rows(self) -> int:
        """Count the rows."""
        return sum(batch.num_rows for batch in self._chosen())

    def _chosen(self) -> Iterator[pa.RecordBatch]:
        for batch in self._dataset.read(self._read, self.bounds, **self._options):
            chosen = batch if self._is_answered else batch.filter(self._filter)
            if chosen.num_rows:
                yield chosen

    def _table(self, batches: Any) -> pa.Table:
        schema = _pyarrow.schema([self._dataset.schema.field(name) for name in self._read])
        return _pyarrow.Table.from_batches(batches, schema).select(self.projected_schema.names)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Open a stream through Arrow's C interface."""
        return self.to_reader().__arrow_c_stream__(requested_schema)


class LazyDataset(_dataset.FileSystemDataset):  # type: ignore[misc, name-defined]
    """A dataset whose rows come from ``read``, which subclasses implement."""

    def __new__(cls, *_args: object, **_options: object) -> Self:
        """Create the dataset without the arguments, which Arrow's class would reject."""
        made: Self = super().__new__(cls)
        return made

    def __init__(self, schema: pa.Schema) -> None:
        kind = _dataset.IpcFileFormat()
        store = _fs.LocalFileSystem()
        super().__init__([kind.make_fragment(_NO_FILE, store)], schema, kind, store)
        self._own_filter: Any = None

    @abstractmethod
    def read(
        self, columns: Sequence[str], bounds: ColumnBounds, **options: int
    ) -> Iterator[pa.RecordBatch]:
        """Read batches of these columns; they may contain rows that are out of bounds.

        Args:
            columns: the wanted columns, in this order.
            bounds: the bounds of columns.
            options: options of the subclass.
        """

    def answers(self, bounds: ColumnBounds) -> bool:
        """Whether ``read`` returns all rows that the bounds' filter selects, and no others.

        Without bounds it does. With some it may not, as it applies none of them or as a column may
        be null.
        """
        return bounds.exact and not bounds.columns

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: A002 - Arrow's name for it
        *,
        batch_size: int | None = None,
        **_ignored: object,
    ) -> LazyScanner:
        """Make a scanner of some columns and rows.

        Args:
            columns: the names of the wanted columns.
            filter: an Arrow expression, or comparisons ``(column, operator, value)``.
            batch_size: the most rows of a batch.
            _ignored: other options of Arrow's scanners; none of them changes a result.

        Raises:
            ValueError: a column does not exist, or the filter is malformed.
        """
        options = {} if batch_size is None else {"rows_max": batch_size}
        return LazyScanner(self, columns, self._joined(filter), options)

    def filter(self, expression: Any) -> Self:
        """The dataset of the rows that pass a filter."""
        fewer = type(self).__new__(type(self))
        LazyDataset.__init__(fewer, self.schema)
        fewer.__dict__ |= self.__dict__ | {"_own_filter": self._joined(expression)}
        return fewer

    def _joined(self, given: Any) -> Any:
        expression = as_expression(given)
        if expression is None or self._own_filter is None:
            return self._own_filter if expression is None else expression
        return self._own_filter & expression

    def to_reader(self, **options: Any) -> pa.RecordBatchReader:
        """Open a stream of record batches; options as for ``scanner``."""
        return self.scanner(**options).to_reader()

    def to_batches(self, **options: Any) -> Iterator[pa.RecordBatch]:
        """Read record batches; options as for ``scanner``."""
        return self.scanner(**options).to_batches()

    def to_table(self, **options: Any) -> pa.Table:
        """Read all rows; options as for ``scanner``."""
        return self.scanner(**options).to_table()

    def head(self, num_rows: int, **options: Any) -> pa.Table:
        """Read the first rows; options as for ``scanner``."""
        return self.scanner(**options).head(num_rows)

    def take(self, indices: Any, **options: Any) -> pa.Table:
        """Select rows by their numbers; options as for ``scanner``."""
        return self.scanner(**options).take(indices)

    def count_rows(self, filter: Any = None, **_ignored: object) -> int:  # noqa: A002
        """Count the rows that pass the filter."""
        return self.scanner([], filter).count_rows()

    def to_polars(self) -> pl.LazyFrame:
        """Make a lazy frame of Polars, which hands columns and filters down on collection."""
        polars = require("polars", "reading recordings as Polars frames")
        return polars.scan_pyarrow_dataset(self)

    def get_fragments(self, filter: Any = None) -> NoReturn:  # noqa: A002
        """Raise an error: the dataset has no files, and so it has no fragments."""
        del filter
        raise TypeError(_NO_FILE)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Open a stream of all rows through Arrow's C interface."""
        return self.scanner().__arrow_c_stream__(requested_schema)

    def __reduce__(self) -> NoReturn:
        """Raise a TypeError: a dataset is made in the process that reads it."""
        raise TypeError("this dataset cannot be pickled: make one where it is read")


def _with_columns_of(
    filter: pa.compute.Expression,  # noqa: A002 - Arrow's name for it
    wanted: Sequence[str],
    names: Sequence[str],
) -> list[str]:
    """The wanted columns and those that a filter needs."""
    words = set(re.findall(r"\w+", str(filter)))
    looks_at = set(names) if words & {"FieldPath", "FieldRef"} else words
    return [*wanted, *(name for name in names if name in looks_at and name not in wanted)]
