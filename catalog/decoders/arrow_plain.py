"""Converts columns of Arrow messages to plain types, without dictionaries, views or large offsets.

The arrays have been validated in full. Validation skips the slots of nulls, but Arrow's casts read
those of views, so these slots are emptied first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.base import DecoderError
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding Arrow IPC")

np: Any = require("numpy", "decoding Arrow IPC")

VIEW_SIZE = 16


class TooLargeError(ValueError):
    """A message expands to more than its length allows."""


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of decoded columns: plain types, all nullable, without metadata.

    Raises:
        DecoderError: a column has no plain type, a name is no text, or there is no column.
    """
    if not len(schema):
        raise DecoderError("the Arrow schema has no columns")
    try:
        check_names(schema)
    except UnicodeDecodeError as error:
        raise DecoderError("the Arrow schema has a name that is not UTF-8") from error
    return pa.schema([pa.field(column.name, _column_type(column)) for column in schema])


def check_names(fields: Iterable[pa.Field]) -> None:
    """Read all names of columns, of fields inside of them, and of time zones.

    Arrow reads schemas with names of any bytes, and raises an error where such a name is used.

    Raises:
        UnicodeDecodeError: a name is not UTF-8.
    """
    for one in fields:
        _ = one.name, getattr(one.type, "tz", None)
        check_names(one.type.field(at) for at in range(one.type.num_fields))


def _column_type(column: pa.Field) -> pa.DataType:
    """The type that a column is decoded to, without dictionaries, views and 64-bit offsets.

    Raises:
        DecoderError: the column has no plain type.
    """
    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
        if types.is_nested(kind) or types.is_dictionary(kind):
            raise DecoderError(f"column {column.name}: a dictionary of {kind} is not decoded")
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.binary()
    _check_plain(kind, column.name)
    return kind


def _check_plain(kind: pa.DataType, name: str) -> None:
    types = pa.types
    if types.is_struct(kind) or types.is_map(kind) or types.is_list(kind):
        for at in range(kind.num_fields):
            _check_plain(kind.field(at).type, name)
        return
    extension = isinstance(kind, pa.ExtensionType | pa.BaseExtensionType)
    views = types.is_string_view(kind) or types.is_binary_view(kind) or types.is_dictionary(kind)
    if extension or views or types.is_null(kind) or types.is_nested(kind):
        raise DecoderError(f"column {name}: the type {kind} is not decoded")


def plain_array(array: pa.Array, column: pa.Field, limit: int) -> pa.Array:
    """Convert an array that was validated in full to the plain type of its column.

    Args:
        array: an array of a type for which ``plain_schema`` has a plain type.
        column: the column in the plain schema.
        limit: the most bytes of text that the array may expand to.

    Raises:
        TooLargeError: the array expands to more.
    """
    if array.type == column.type:
        return array
    if pa.types.is_dictionary(array.type):
        values = plain_array(array.dictionary, column, limit)
        if _is_text(column.type):
            compute = require("pyarrow.compute", "decoding Arrow IPC")
            total = compute.sum(compute.binary_length(values).take(array.indices)).as_py()
            _check(total or 0, limit, column)
        return values.take(array.indices)
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        array, total = _without_null_views(array)
        _check(total, limit, column)
    return array.cast(column.type)


def check_times(array: pa.Array) -> None:
    """Check that coarse times fit into microseconds, as in ``exact_times``, in nested arrays too.

    Raises:
        pa.ArrowInvalid: a time does not.
    """
    kind = array.type
    if pa.types.is_struct(kind):
        for part in array.flatten():
            check_times(part)
    elif pa.types.is_map(kind):
        check_times(array.keys)
        check_times(array.items)
    elif pa.types.is_list(kind):
        check_times(array.flatten())
    elif pa.types.is_timestamp(kind) and kind.unit in {"s", "ms"}:
        array.cast(pa.timestamp("us", kind.tz))
    elif pa.types.is_duration(kind) and kind.unit in {"s", "ms"}:
        array.cast(pa.duration("us"))


def _check(total: int, limit: int, column: pa.Field) -> None:
    if total > limit:
        raise TooLargeError(f"{column.name} comes to more than {limit} bytes")


def _without_null_views(array: pa.Array) -> tuple[pa.Array, int]:
    """The array with empty views in the slots of nulls, and the total bytes of its values."""
    validity, views, *data = array.buffers()
    first, last = array.offset, array.offset + len(array)
    slots = np.frombuffer(views, dtype=np.uint8, count=last * VIEW_SIZE).copy()
    slots = slots.reshape(last, VIEW_SIZE)
    slots[first:][~np.asarray(array.is_valid())] = 0
    lengths = slots[first:, :4].copy().view("<i4")
    emptied = pa.Array.from_buffers(
        array.type, len(array), [validity, pa.py_buffer(slots), *data], offset=first
    )
    return emptied, int(lengths.sum(dtype=np.int64))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))
