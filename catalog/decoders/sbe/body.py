"""Reads messages of one kind as Arrow columns: fixed fields, groups as lists of structs, data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.sbe.block import BlockReader
from aerolog.catalog.decoders.sbe.characters import codec_of, text_array
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    import pyarrow as pa

    from aerolog.catalog.decoders.sbe.context import Array, Rows
    from aerolog.catalog.decoders.sbe.extents import BodyExtents, DataExtents
    from aerolog.catalog.decoders.sbe.model import Body, Data
else:
    pa = require("pyarrow", "decoding SBE")

np: Any = require("numpy", "decoding SBE")


class BodyReader:
    """The column readers that a body is compiled to.

    Attributes:
        columns: the Arrow fields: those of the block, then the groups, then data.
    """

    def __init__(self, body: Body, order: str, uint64: str) -> None:
        self.body = body
        self._block = BlockReader(body, order, uint64)
        self._groups = [BodyReader(group.body, order, uint64) for group in body.groups]
        self.columns: list[pa.Field] = list(self._block.columns)
        for group, reader in zip(body.groups, self._groups, strict=True):
            self.columns.append(pa.field(group.name, pa.list_(pa.struct(reader.columns))))
        for data in body.data:
            if data.charset is not None:
                codec_of(data.charset)
            kind = pa.binary() if data.charset is None else pa.string()
            self.columns.append(pa.field(data.name, kind))

    @property
    def gathered(self) -> int:
        """The largest number of bytes that are read from a position on."""
        headers = [data.header_size + 8 for data in self.body.data]
        headers += [group.dimension_size + 8 for group in self.body.groups]
        return max([self._block.size, *headers, *(group.gathered for group in self._groups)])

    def read(self, places: BodyExtents) -> list[pa.Array]:
        """Read the columns of all rows, in the order of ``columns``."""
        rows = places.rows
        arrays = self._block.read(rows)
        for at, reader in enumerate(self._groups):
            inner = places.groups[at]
            entries = pa.StructArray.from_arrays(reader.read(inner), fields=reader.columns)
            absent = rows.absent(self.body.groups[at].since)
            arrays.append(_listed(entries, places.counts[at], absent, self.columns[len(arrays)]))
        for data, found in zip(self.body.data, places.data, strict=True):
            arrays.append(_data(data, found, rows))
        return arrays


def _listed(entries: pa.Array, counts: Array, absent: Array | None, column: pa.Field) -> pa.Array:
    places = np.zeros(len(counts) + 1, dtype=np.int32)
    np.cumsum(counts, out=places[1:])
    mask = None if absent is None else pa.array(absent)
    return pa.ListArray.from_arrays(pa.array(places), entries, type=column.type, mask=mask)


def _data(data: Data, found: DataExtents, rows: Rows) -> pa.Array:
    """Copy the values out of the messages by Arrow: every other item of an array over them."""
    count = len(rows)
    places = np.zeros(2 * count + 1, dtype=np.int32)
    places[0 : 2 * count : 2] = found.start
    places[1 : 2 * count : 2] = found.start + found.length
    places[2 * count] = places[2 * count - 1] if count else 0
    everything = pa.Array.from_buffers(
        pa.binary(), 2 * count, [None, pa.py_buffer(places), pa.py_buffer(rows.batch.data)]
    )
    wanted = np.arange(0, 2 * count, 2, dtype=np.int64)
    values = everything.take(pa.array(wanted, mask=rows.absent(data.since)))
    if data.charset is None:
        return values
    return text_array(values, data.charset, rows, data.name)
