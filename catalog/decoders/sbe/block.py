"""Reads the fields of fixed blocks as Arrow arrays, for all rows at once.

Each body of the schema has a `BlockReader`. It gathers the blocks of all rows into one array of
records and takes each field out of it as a column.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.base import (
    SCHEMA_CHANGED,
    UINT64_FORMS,
    DecoderError,
    check_schema_value,
)
from aerolog.catalog.decoders.sbe.characters import codec_of, text_array
from aerolog.catalog.decoders.sbe.model import PRIMITIVES, BitSet, Composite, Enum, Field, Scalar
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from aerolog.catalog.decoders.sbe.context import Array, Rows
    from aerolog.catalog.decoders.sbe.model import Body

    Read = Callable[[Array, Rows], pa.Array]
else:
    pa = require("pyarrow", "decoding SBE")

np: Any = require("numpy", "decoding SBE")

_WIDENED = {"uint8": pa.int16(), "uint16": pa.int32(), "uint32": pa.int64()}
_SIGNED = {
    "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "float": pa.float32(), "double": pa.float64(),
}  # fmt: skip


class BlockReader:
    """Reads the fields of one body.

    Attributes:
        columns: the Arrow fields in the order of the schema's fields.
        size: the bytes that are gathered of each block.
    """

    def __init__(self, body: Body, order: str, uint64: str) -> None:
        self._leaves: list[tuple[str, Any, int]] = []
        self._order = order
        self._uint64 = uint64
        self.columns: list[pa.Field] = []
        self._reads: list[Read] = []
        for field in body.fields:
            kind, read = self._compile(field, 0, field.name)
            self.columns.append(pa.field(field.name, kind))
            self._reads.append(read)
        self.size = body.block_size
        self._record = np.dtype(
            {
                "names": [name for name, _, _ in self._leaves],
                "formats": [leaf for _, leaf, _ in self._leaves],
                "offsets": [offset for _, _, offset in self._leaves],
                "itemsize": self.size,
            }
        )

    def read(self, rows: Rows) -> list[pa.Array]:
        """Read the columns of all rows."""
        blocks = rows.batch.gather(rows.position, self.size)
        if self.size and len(rows):
            blocks = blocks.view(self._record)
        else:
            blocks = np.zeros(len(rows), dtype=self._record)
        return [read(blocks, rows) for read in self._reads]

    def _leaf(self, primitive: str, length: int, offset: int) -> str:
        name = f"f{len(self._leaves)}"
        kind: Any = self._order + PRIMITIVES[primitive][1]
        self._leaves.append((name, (kind, (length,)) if length != 1 else kind, offset))
        return name

    def _compile(self, field: Field, base: int, path: str) -> tuple[pa.DataType, Read]:
        kind = field.type
        offset = base + field.offset
        if isinstance(kind, Composite):
            return self._composite(kind, offset, field.since, path)
        if isinstance(kind, BitSet):
            return _bits(kind, self._leaf(kind.primitive, 1, offset), field.since)
        if kind.constant is not None:
            return _constant(kind, kind.constant)
        if isinstance(kind, Enum):
            return _enum(kind, self._leaf(kind.primitive, 1, offset), field.since, path)
        if kind.length == 0:
            raise DecoderError(f"SBE field {path} has the length 0")
        name = self._leaf(kind.primitive, kind.length, offset)
        if kind.primitive == "char":
            codec_of(kind.charset or "US-ASCII")
            return pa.string(), _characters(kind, name, field.since, path)
        if kind.length > 1:
            return self._array(kind, name, field.since, path)
        arrow = self._number_type(kind.primitive)
        return arrow, _number(kind, name, field.since, path, arrow)

    def _number_type(self, primitive: str) -> pa.DataType:
        if primitive == "uint64":
            return UINT64_FORMS[self._uint64]
        return _WIDENED.get(primitive) or _SIGNED[primitive]

    def _composite(
        self, kind: Composite, offset: int, since: int, path: str
    ) -> tuple[pa.DataType, Read]:
        parts = [
            (member.name, *self._compile(member, offset, f"{path}.{member.name}"))
            for member in kind.members
        ]
        fields = [pa.field(name, arrow) for name, arrow, _ in parts]

        def read(blocks: Array, rows: Rows) -> pa.Array:
            mask = rows.absent(since)
            return pa.StructArray.from_arrays(
                [inner(blocks, rows) for _, _, inner in parts],
                fields=fields,
                mask=None if mask is None else pa.array(mask),
            )

        return pa.struct(fields), read

    def _array(self, kind: Scalar, name: str, since: int, path: str) -> tuple[pa.DataType, Read]:
        """Compile an array: bytes become binary, other numbers a list."""
        length = kind.length
        if kind.primitive == "uint8":

            def read_bytes(blocks: Array, rows: Rows) -> pa.Array:
                flat = np.ascontiguousarray(blocks[name])
                places = np.arange(0, flat.size + 1, length, dtype=np.int32)
                mask = rows.absent(since)
                array = pa.Array.from_buffers(
                    pa.binary(), len(rows), [None, pa.py_buffer(places), pa.py_buffer(flat)]
                )
                return array if mask is None else _with_nulls(array, mask)

            return pa.binary(), read_bytes
        item = self._number_type(kind.primitive)

        def read_list(blocks: Array, rows: Rows) -> pa.Array:
            flat = np.ascontiguousarray(blocks[name]).reshape(-1)
            # Elements have no presence of their own, so null values stay as they are.
            values, too_large = _to_arrow(flat, item, None)
            if too_large is not None:
                _reject_large(rows, too_large.reshape(-1, length).any(axis=1), path)
            places = pa.array(np.arange(0, flat.size + 1, length, dtype=np.int32))
            array = pa.ListArray.from_arrays(places, values)
            mask = rows.absent(since)
            return array if mask is None else _with_nulls(array, mask)

        return pa.list_(item), read_list


def _with_nulls(array: pa.Array, mask: Array) -> pa.Array:
    """The array with nulls where the mask is set."""
    numbers = np.arange(len(array), dtype=np.int64)
    return array.take(pa.array(numbers, mask=mask))


def _either(first: Array | None, second: Array | None) -> Array | None:
    if first is None or second is None:
        return second if first is None else first
    return first | second


def _constant(kind: Scalar | Enum, constant: str | float) -> tuple[pa.DataType, Read]:
    if isinstance(constant, str):
        check_schema_value(constant, "a constant")
        arrow = pa.string()
    else:
        primitive = kind.primitive
        arrow = _WIDENED.get(primitive) or _SIGNED.get(primitive, pa.int64())
        if primitive == "uint64" and constant > 2**63 - 1:
            arrow = pa.uint64()
    value = pa.scalar(constant, arrow)
    return arrow, lambda _blocks, rows: pa.repeat(value, len(rows))


def _number(kind: Scalar, name: str, since: int, path: str, arrow: pa.DataType) -> Read:
    null = kind.null
    is_nan = math.isnan(null)

    def read(blocks: Array, rows: Rows) -> pa.Array:
        values = blocks[name]
        mask = rows.absent(since)
        if kind.optional:
            mask = _either(mask, np.isnan(values) if is_nan else values == null)
        array, too_large = _to_arrow(values, arrow, mask)
        if too_large is not None:
            _reject_large(rows, too_large, path)
        return array

    return read


def _reject_large(rows: Rows, mask: Array, path: str) -> None:
    rows.reject(
        mask, f"{SCHEMA_CHANGED}{path} is larger than int64 holds; option uint64 has other forms"
    )


def _to_arrow(values: Array, arrow: pa.DataType, mask: Array | None) -> tuple[pa.Array, Any]:
    """Numbers of any byte order as an Arrow array, and a mask of those that it cannot hold."""
    too_large = None
    if arrow == pa.decimal128(20, 0):
        native = values.astype(np.uint64)
        return pa.array(native, pa.uint64(), mask=mask, from_pandas=False).cast(arrow), None
    if values.dtype.kind == "u" and arrow == pa.int64() and values.dtype.itemsize == 8:
        found = values > np.uint64(2**63 - 1)
        if mask is not None:
            found &= ~mask
        too_large = found if found.any() else None
    native = np.ascontiguousarray(values.astype(arrow.to_pandas_dtype()))
    return pa.array(native, arrow, mask=mask, from_pandas=False), too_large


def _enum(kind: Enum, name: str, since: int, path: str) -> tuple[pa.DataType, Read]:
    for one in kind.names.values():
        check_schema_value(one, path)
    known = np.array(sorted(kind.names), dtype=object)
    dtype = np.uint64 if PRIMITIVES[kind.primitive][1][0] == "u" else np.int64
    numbers = np.array(known, dtype=dtype)
    names = pa.array([kind.names[value] for value in known], pa.string())
    null = dtype(kind.null)

    def read(blocks: Array, rows: Rows) -> pa.Array:
        values = blocks[name].astype(dtype)
        places = np.searchsorted(numbers, values)
        if len(numbers):
            places = np.minimum(places, len(numbers) - 1)
            listed = numbers[places] == values
        else:
            listed = np.zeros(len(values), dtype=bool)
        mask = _either(~listed & (values == null), rows.absent(since))
        unknown = ~listed if mask is None else ~listed & ~mask
        if unknown.any():
            rows.reject(
                unknown,
                [
                    f"{SCHEMA_CHANGED}{path} has no value {value}"
                    for value in values[unknown].tolist()
                ],
            )
            mask = _either(mask, unknown)
        return names.take(pa.array(places.astype(np.int64), mask=mask))

    return pa.string(), read


def _bits(kind: BitSet, name: str, since: int) -> tuple[pa.DataType, Read]:
    fields = [pa.field(choice, pa.bool_()) for choice in kind.bits]

    def read(blocks: Array, rows: Rows) -> pa.Array:
        values = blocks[name].astype(np.uint64)
        mask = rows.absent(since)
        return pa.StructArray.from_arrays(
            [
                pa.array((values >> np.uint64(bit) & np.uint64(1)).astype(bool))
                for bit in kind.bits.values()
            ],
            fields=fields,
            mask=None if mask is None else pa.array(mask),
        )

    return pa.struct(fields), read


def _characters(kind: Scalar, name: str, since: int, path: str) -> Read:
    """Compile text up to the first zero; an optional text is null when it begins with its null."""
    length = kind.length

    def read(blocks: Array, rows: Rows) -> pa.Array:
        values = np.ascontiguousarray(blocks[name]).reshape(-1, length)
        ended = values == 0
        lengths = np.where(ended.any(axis=1), ended.argmax(axis=1), length)
        mask = rows.absent(since)
        if kind.optional:
            mask = _either(mask, values[:, 0] == kind.null)
        inside = np.arange(length) < lengths[:, None]
        places = np.zeros(len(rows) + 1, dtype=np.int32)
        np.cumsum(lengths, out=places[1:])
        array = pa.Array.from_buffers(
            pa.binary(), len(rows), [None, pa.py_buffer(places), pa.py_buffer(values[inside])]
        )
        texts = text_array(array, kind.charset or "US-ASCII", rows, path)
        return texts if mask is None else _with_nulls(texts, mask)

    return read
