"""Columns on their way from a recording to a table, in types that Arrow, Spark and Parquet share.

Between reading and writing, rows have five columns more: what the row is, its date, the reason and
the payload of a reject, and which rules the row breaks although it is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aerolog.catalog.decoders import decoded_schema
from aerolog.catalog.export.pipeline.errors import PipelineError
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    import pyarrow as pa

    from aerolog.catalog.decoders import Decoder
else:
    pa = require("pyarrow", "pipelines")

KIND: Final = "__aerolog_kind"
DATE: Final = "__aerolog_date"
TEXT: Final = "__aerolog_text"
PAYLOAD: Final = "__aerolog_payload"
KEPT: Final = "__aerolog_kept"
OURS: Final = (KIND, DATE, TEXT, PAYLOAD, KEPT)

#: What a row is: a row to load, a reject, the totals of a slice (in its text), or the reason why
#: the unit cannot be loaded (in its text).
ROW: Final = 0
REJECT: Final = 1
TOTALS: Final = 2
FAILURE: Final = 3

#: The schema of the table of rejects.
REJECTS: Final = pa.schema(
    [
        ("archive", pa.string()),
        ("recording_id", pa.int64()),
        ("position", pa.int64()),
        ("reason", pa.string()),
        ("payload", pa.binary()),
    ]
)


def portable(kind: pa.DataType) -> pa.DataType:
    """The type that a column gets in Spark and Parquet. Nanoseconds become microseconds."""
    types: Any = pa.types
    direct = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.float16(): pa.float32(),
        pa.large_string(): pa.string(),
        pa.string_view(): pa.string(),
        pa.large_binary(): pa.binary(),
        pa.binary_view(): pa.binary(),
        pa.date64(): pa.date32(),
        pa.null(): pa.string(),
    }
    if kind in direct:
        return direct[kind]
    if types.is_timestamp(kind):
        return pa.timestamp("us", tz=kind.tz)
    if types.is_time(kind) or types.is_duration(kind):
        return pa.int64()
    if types.is_dictionary(kind):
        return portable(kind.value_type)
    if types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(portable(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([pa.field(one.name, portable(one.type)) for one in kind])
    if types.is_map(kind):
        return pa.map_(portable(kind.key_type), portable(kind.item_type))
    return kind


def row_schema(decoder: Decoder) -> pa.Schema:
    """The columns of a row: those that say where it is from, then the decoded ones."""
    fields = decoded_schema(decoder)
    for column in fields:
        if column.name in OURS:
            raise PipelineError(f"the decoder gives a column the name {column.name}, which is ours")
    return pa.schema([pa.field(one.name, portable(one.type)) for one in fields])


def carried_schema(rows: pa.Schema) -> pa.Schema:
    """The columns of a row, followed by those that go along between reading and writing."""
    ours = [(KIND, pa.int32()), (DATE, pa.date32()), (TEXT, pa.string()), (PAYLOAD, pa.binary())]
    return pa.schema([*rows, *(pa.field(*one) for one in ours), pa.field(KEPT, pa.int64())])


def table_schema(rows: pa.Schema, date_column: str) -> pa.Schema:
    """The columns of the table's files. The partition columns are in the names of folders.

    Raises:
        PipelineError: two columns have one name.
    """
    fields = [pa.field("archive", pa.string())]
    fields += [one for one in rows if one.name != "stream_id"]
    taken = {date_column.casefold(), "stream_id"}
    for column in fields:
        if column.name.casefold() in taken:
            raise PipelineError(
                f"two columns would have the name {column.name!r}; set output.date-column, or"
                " rename it in the decoder's schema"
            )
        taken.add(column.name.casefold())
    return pa.schema(fields)


def described(schema: pa.Schema) -> list[list[str]]:
    """Names and types as texts, as a manifest has them."""
    return [[one.name, str(one.type)] for one in schema]


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch's columns, in order, in the schema's types."""
    arrays = [
        column if column.type == wanted.type else _cast(column, wanted.type)
        for column, wanted in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast(column: Any, kind: pa.DataType) -> Any:
    if pa.types.is_time(column.type) or pa.types.is_duration(column.type):
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return column.cast(kind, safe=False)
