"""A Python source of Spark that reads nothing: what rows cost on their way into the JVM alone."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH_ROWS = 10_000
PARTITIONS = 4


class BareSource(DataSource):
    """Rows of two numbers, from one batch that is sent again and again; option ``rows``."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "bare"

    def schema(self) -> str:
        """The columns that the query sums."""
        return "position bigint not null, term_offset int not null"

    def reader(self, schema: Any) -> BareReader:
        """The object that reads rows."""
        del schema
        return BareReader(int(self.options["rows"]))


class BareReader(DataSourceReader):
    """Sends as many rows as asked for, in partitions of equal size."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def partitions(self) -> list[InputPartition]:
        """The partitions, each with its number of rows."""
        ends = [self._rows * number // PARTITIONS for number in range(PARTITIONS + 1)]
        return [InputPartition(end - start) for start, end in pairwise(ends)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The batch, and what is left of it."""
        schema = pa.schema(
            [
                pa.field("position", pa.int64(), nullable=False),
                pa.field("term_offset", pa.int32(), nullable=False),
            ]
        )
        numbers = np.arange(BATCH_ROWS)
        arrays = [pa.array(numbers, field.type) for field in schema]
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
        for _ in range(partition.value // BATCH_ROWS):
            yield batch
        if partition.value % BATCH_ROWS:
            yield batch.slice(0, partition.value % BATCH_ROWS)
