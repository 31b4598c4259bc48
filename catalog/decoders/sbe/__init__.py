"""SBE by its XML schema, which is compiled once to readers of whole batches.

The header of each message names its template, which selects the reader. Fixed fields of all
messages of one kind are gathered at once; ``extents`` handles groups and data, ``block`` fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.base import (
    UINT64_FORMS,
    Decoded,
    Decoder,
    DecoderError,
    Reject,
    as_binary,
)
from aerolog.catalog.decoders.options import Options
from aerolog.catalog.decoders.raw import without_nulls
from aerolog.catalog.decoders.sbe.body import BodyReader
from aerolog.catalog.decoders.sbe.context import Batch
from aerolog.catalog.decoders.sbe.extents import find_body
from aerolog.catalog.decoders.sbe.model import PRIMITIVES
from aerolog.catalog.decoders.sbe.schema_reader import read_schema
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from aerolog.catalog.decoders.sbe.context import Array
    from aerolog.catalog.decoders.sbe.model import Header
else:
    pa = require("pyarrow", "decoding SBE")

np: Any = require("numpy", "decoding SBE")

MESSAGE_COLUMN = "message"
_HEADER_FIELDS = ("schema_id", "template_id", "block_length", "version")


class SbeDecoder(Decoder):
    """Decodes SBE messages.

    Options: ``schema`` (XML) or ``schema_file``; ``message`` lists the messages to decode by name
        or template id, separated by commas, all by default; ``uint64`` is the form of unsigned
        64-bit numbers: ``int64`` (larger ones reject their message), ``decimal`` or ``uint64``.

    With one message its fields are the columns. With several there are a column ``message`` with
    the name, and for each message a struct column that is null in the rows of the others.
    """

    name = "sbe"

    def __init__(self, options: Mapping[str, str]) -> None:
        checked = Options(self.name, options, ("schema", "schema_file", "message", "uint64"))
        what = "the XML of the messages"
        content = checked.required_file("schema_file", "schema", what, is_text=True)
        uint64 = checked.choice("uint64", tuple(UINT64_FORMS))
        super().__init__(checked.values)
        self._messages = read_schema(content)
        order = self._messages.byte_order
        self._readers = {
            template_id: BodyReader(self._messages.messages[template_id], order, uint64)
            for template_id in self._chosen(checked.text("message", ""))
        }
        self._schema = self._arrow_schema()
        sizes = [reader.gathered for reader in self._readers.values()]
        self._header = _header_record(self._messages.header, order)
        self._margin = max([self._messages.header.size + 8, *sizes])

    def _chosen(self, text: str) -> list[int]:
        messages = self._messages.messages
        if not text.strip():
            return list(messages)
        by_name = {body.name: template_id for template_id, body in messages.items()}
        chosen = []
        for part in (one.strip() for one in text.split(",")):
            template_id = by_name.get(part)
            if template_id is None and part.isascii() and part.isdecimal() and len(part) < 12:
                template_id = int(part) if int(part) in messages else None
            if template_id is None:
                raise DecoderError(
                    f"the SBE schema has no message {part!r}; there are {', '.join(by_name)[:500]}"
                )
            chosen.append(template_id)
        return list(dict.fromkeys(chosen))

    def _arrow_schema(self) -> pa.Schema:
        readers = list(self._readers.values())
        if len(readers) == 1:
            return pa.schema(readers[0].columns)
        fields = [pa.field(MESSAGE_COLUMN, pa.string())]
        fields += [
            pa.field(reader.body.name, pa.struct(reader.columns))
            for reader in readers
            if reader.columns  # a message without fields has no column of its own
        ]
        if len({one.name for one in fields}) < len(fields):
            raise DecoderError("two messages of the SBE schema have one name: choose by option")
        return pa.schema(fields)

    @property
    def schema(self) -> pa.Schema:
        """The columns that the XML schema describes."""
        return self._schema

    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode messages; every message of a selected template is a row."""
        present, numbers, nulls = without_nulls(as_binary(payloads))
        batch = Batch(present, self._margin)
        owner, template, length, version = self._headers(batch)
        found = [
            (template_id, *self._read(template_id, batch, owner, template, length, version))
            for template_id in self._readers
        ]
        source = np.flatnonzero(batch.live)
        columns = self._columns(found, batch.live, len(source))
        places = np.asarray(numbers)
        rejects = [Reject(int(places[at]), reason) for at, reason in batch.reasons.items()]
        return Decoded(
            pa.RecordBatch.from_arrays(columns, schema=self._schema),
            pa.array(places[source], pa.int64()),
            sorted([*nulls, *rejects], key=lambda reject: reject.index),
        )

    def _headers(self, batch: Batch) -> tuple[Array, Array, Array, Array]:
        """Indices, templates, block lengths and versions of the messages with a valid header."""
        header = self._messages.header
        size = batch.end - batch.start
        everything = np.arange(len(size), dtype=np.int64)
        short = size < header.size
        if short.any():
            batch.reject(everything[short], f"shorter than the message header of {header.size}")
        owner = everything[~short] if short.any() else everything
        records = batch.records(batch.start[owner], self._header)
        schema_id, template, length, version = (
            records[name].astype(np.int64) for name in _HEADER_FIELDS
        )
        foreign = schema_id != self._messages.schema_id
        if foreign.any():
            reasons = [
                f"schema id {one}, expected {self._messages.schema_id}"
                for one in schema_id[foreign].tolist()
            ]
            batch.reject(owner[foreign], reasons)
        negative = ~foreign & ((length < 0) | (version < 0))
        batch.reject(owner[negative], "the message header has numbers below zero")
        other = ~foreign & ~negative
        for template_id in self._readers:
            other &= template != template_id
        if other.any():
            batch.reject(owner[other], [self._other(one) for one in template[other].tolist()])
        if not batch.reasons:
            return owner, template, length, version
        kept = batch.live[owner]
        return owner[kept], template[kept], length[kept], version[kept]

    def _other(self, template_id: int) -> str:
        body = self._messages.messages.get(template_id)
        if body is None:
            return f"unknown template {template_id}"
        return f"template {template_id}, {body.name}, is not among the messages to decode"

    def _read(
        self, template_id: int, batch: Batch, owner: Array, template: Array, length: Array,
        version: Array,
    ) -> tuple[Array, list[pa.Array]]:  # fmt: skip
        """The indices of the messages of a template, and their columns."""
        reader = self._readers[template_id]
        if len(self._readers) > 1:
            mine = template == template_id
            owner, length, version = owner[mine], length[mine], version[mine]
        position = batch.start[owner] + self._messages.header.size
        order = self._messages.byte_order
        places = find_body(reader.body, batch, owner, position, length, version, order)
        return owner, reader.read(places)

    def _columns(
        self, found: list[tuple[int, Array, list[pa.Array]]], live: Array, rows: int
    ) -> list[pa.Array]:
        """The columns of the messages that are not rejected, in the order of the messages."""
        if len(found) == 1:
            _, owner, arrays = found[0]
            if rows == len(owner):
                return arrays
            keep = pa.array(live[owner])
            return [array.filter(keep) for array in arrays]
        row_of = np.cumsum(live) - 1
        names = np.zeros(rows, dtype=np.int64)
        columns = []
        for number, (template_id, owner, arrays) in enumerate(found):
            kept = np.flatnonzero(live[owner])
            at = row_of[owner[kept]]
            names[at] = number
            fields = self._readers[template_id].columns
            if fields:
                values = pa.StructArray.from_arrays(arrays, fields=fields)
                places = np.zeros(rows, dtype=np.int64)
                places[at] = kept
                mask = np.ones(rows, dtype=bool)
                mask[at] = False
                columns.append(values.take(pa.array(places, mask=mask)))
        titles = pa.array([self._readers[one].body.name for one, _, _ in found], pa.string())
        return [titles.take(pa.array(names)), *columns]


def _header_record(header: Header, order: str) -> Any:
    places = [getattr(header, name) for name in _HEADER_FIELDS]
    return np.dtype(
        {
            "names": list(_HEADER_FIELDS),
            "formats": [order + PRIMITIVES[primitive][1] for _, primitive in places],
            "offsets": [offset for offset, _ in places],
            "itemsize": header.size,
        }
    )
