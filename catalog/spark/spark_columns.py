"""Converts Arrow data to schemas of Spark, which compares names, order, types and nulls exactly.

A type that Spark lacks becomes the nearest type that holds all its values. The exception are times
finer than a microsecond: they are truncated, and a column beside them holds the exact number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

NANOSECONDS_SUFFIX = "_ns"
_DECIMAL_DIGITS_MAX = 38
_UINT64_DIGITS = 20


class SparkColumns:
    """The Spark schema of an Arrow schema, and the conversion of batches.

    Attributes:
        schema: the Arrow schema of the data that is given to Spark.
    """

    def __init__(self, source: pa.Schema) -> None:
        self._pa = require("pyarrow", "reading recordings in Spark")
        fields: list[Any] = []
        self._makers: list[Callable[[Any], Any]] = []
        for index, field in enumerate(source):
            kind = self._type(field.type)
            fields.append(self._pa.field(field.name, kind, nullable=field.nullable))
            self._makers.append(_caster(index, field.type, kind))
            if self._is_fine_time(field.type):
                name = field.name + NANOSECONDS_SUFFIX
                fields.append(self._pa.field(name, self._pa.int64(), nullable=field.nullable))
                self._makers.append(_caster(index, field.type, self._pa.int64()))
        self.schema = self._pa.schema(fields)
        self.is_same = self.schema.equals(source)

    def struct(self) -> Any:
        """The ``pyspark.sql.types.StructType`` of the schema."""
        types = require("pyspark.sql.pandas.types", "reading recordings in Spark")
        return types.from_arrow_schema(self.schema, prefer_timestamp_ntz=True)

    def batch(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Convert a batch of the source's schema to one of Spark's."""
        if self.is_same:
            return rows
        arrays = [make(rows) for make in self._makers]
        return self._pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _is_fine_time(self, kind: Any) -> bool:
        types = self._pa.types
        return bool((types.is_timestamp(kind) or types.is_duration(kind)) and kind.unit == "ns")

    def _type(self, kind: Any) -> Any:
        pa, types = self._pa, self._pa.types
        if types.is_dictionary(kind):
            return self._type(kind.value_type)
        if types.is_timestamp(kind):
            return pa.timestamp("us", tz="UTC" if kind.tz else None)
        if types.is_duration(kind):
            return pa.duration("us")
        if types.is_time(kind):
            return pa.int64() if kind.unit == "ns" else pa.time64("us")
        if types.is_decimal(kind):
            fits = kind.precision <= _DECIMAL_DIGITS_MAX
            return pa.decimal128(kind.precision, kind.scale) if fits else pa.string()
        if types.is_map(kind):
            return pa.map_(self._type(kind.key_type), self._type(kind.item_type))
        if types.is_nested(kind):
            return self._nested(kind)
        return self._plain(kind)

    def _plain(self, kind: Any) -> Any:
        pa, types = self._pa, self._pa.types
        changed = {
            pa.uint8(): pa.int16(),
            pa.uint16(): pa.int32(),
            pa.uint32(): pa.int64(),
            pa.uint64(): pa.decimal128(_UINT64_DIGITS, 0),
            pa.float16(): pa.float32(),
            pa.date64(): pa.date32(),
            pa.large_string(): pa.string(),
            pa.string_view(): pa.string(),
            pa.large_binary(): pa.binary(),
            pa.binary_view(): pa.binary(),
        }
        if types.is_fixed_size_binary(kind):
            return pa.binary()
        return changed.get(kind, kind)

    def _nested(self, kind: Any) -> Any:
        pa = self._pa
        if pa.types.is_struct(kind):
            parts = (kind.field(index) for index in range(kind.num_fields))
            return pa.struct(
                [pa.field(part.name, self._type(part.type), part.nullable) for part in parts]
            )
        value = kind.value_field
        return pa.list_(pa.field("element", self._type(value.type), value.nullable))


def _caster(index: int, source: Any, target: Any) -> Callable[[Any], Any]:
    """Make a function that takes a column out of a batch and casts it to another type."""
    pa = require("pyarrow", "reading recordings in Spark")
    if source == target and not pa.types.is_nested(source):
        return lambda rows: rows.column(index)
    if pa.types.is_timestamp(source) and pa.types.is_int64(target):
        return lambda rows: rows.column(index).cast(pa.timestamp("ns", source.tz)).cast(target)
    return lambda rows: rows.column(index).cast(target, safe=False)
