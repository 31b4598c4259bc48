"""Arrow IPC: a message is a stream with its schema, or a single record batch without one.

A message is checked before Arrow allocates memory for it: the rows and bytes that it expands to
without compression, dictionaries and views are limited in proportion to its length. Arrow validates
what was read in full before it is used.
"""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.arrow_plain import (
    TooLargeError,
    check_names,
    check_times,
    plain_array,
    plain_schema,
)
from aerolog.catalog.decoders.base import (
    SCHEMA_CHANGED,
    Decoded,
    Decoder,
    DecoderError,
    Reject,
    SchemaUnknownError,
    as_binary,
    empty_batch,
    one_line,
)
from aerolog.catalog.decoders.options import Options
from aerolog.catalog.decoders.type_text import parse_schema
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding Arrow IPC")

EXPANSION_DEFAULT = 256
EXPANSION_FREE = 64 * 1024
SAMPLE_MESSAGES = 100
_INT32, _INT64, _UINT16, _UINT32 = (struct.Struct("<" + code) for code in "iqHI")
# Arrow raises these errors for malformed bytes, MemoryError for a message that does not fit in
# memory.
_ARROW_ERRORS = (pa.ArrowException, OSError, ValueError, TypeError, MemoryError, EOFError)


class _FlatTable:
    """A flatbuffers table; only the few fields that are needed are read, all inside the buffer."""

    def __init__(self, memory: memoryview, at: int) -> None:
        self._memory = memory
        self._at = at
        self._vtable = at - _INT32.unpack_from(memory, at)[0]
        if not 0 <= self._vtable < len(memory):
            raise struct.error("a table outside of the metadata")

    @classmethod
    def root(cls, memory: memoryview) -> _FlatTable:
        """The root table of a buffer."""
        return cls(memory, _UINT32.unpack_from(memory, 0)[0])

    def _place(self, index: int) -> int:
        size = _UINT16.unpack_from(self._memory, self._vtable)[0]
        entry = 4 + 2 * index
        if entry + 2 > size:
            return 0
        offset = int(_UINT16.unpack_from(self._memory, self._vtable + entry)[0])
        return self._at + offset if offset else 0

    def int64(self, index: int) -> int:
        """A number field; 0 where it is left out."""
        place = self._place(index)
        return int(_INT64.unpack_from(self._memory, place)[0]) if place else 0

    def _target(self, index: int) -> int:
        place = self._place(index)
        return place + int(_UINT32.unpack_from(self._memory, place)[0]) if place else 0

    def table(self, index: int) -> _FlatTable | None:
        """A table field; None where it is left out."""
        target = self._target(index)
        return _FlatTable(self._memory, target) if target else None

    def pairs(self, index: int) -> Iterator[tuple[int, int]]:
        """A vector field whose items are pairs of numbers."""
        target = self._target(index)
        count = _UINT32.unpack_from(self._memory, target)[0] if target else 0
        if count > len(self._memory):
            raise struct.error("a vector outside of the metadata")
        for number in range(count):
            place = target + 4 + 16 * number
            yield (
                _INT64.unpack_from(self._memory, place)[0],
                _INT64.unpack_from(self._memory, place + 8)[0],
            )


def claimed_size(message: Any) -> int:
    """The number of rows or bytes, whichever is larger, that a record batch claims to expand to.

    Args:
        message: an Arrow IPC message.

    Raises:
        struct.error: the metadata is damaged.
    """
    kind = message.type
    if kind not in {"record batch", "dictionary"}:
        return 0
    batch = _FlatTable.root(memoryview(message.metadata)).table(2)
    if batch is not None and kind == "dictionary":
        batch = batch.table(1)
    if batch is None:
        raise struct.error("a message without its table")
    rows = batch.int64(0)
    if rows < 0:
        raise struct.error("a number of rows below zero")
    if batch.table(3) is None:
        return rows
    body = memoryview(message.body or b"")
    total = 0
    for offset, length in batch.pairs(2):
        if length >= 8 and 0 <= offset <= len(body) - 8:
            total += max(int(_INT64.unpack_from(body, offset)[0]), 0)
    return max(rows, total)


class ArrowDecoder(Decoder):
    """Decodes Arrow record batches; a message may have any number of rows.

    Options: ``schema`` (text, see ``type_text``) or ``schema_file`` (an Arrow stream or file, or a
        serialised schema; ``schema_ipc`` is its content as base64); without them the schema is that
        of the first stream. ``expansion`` limits the expanded size of a message, as a multiple of
        its length.
    """

    name = "arrow"

    def __init__(self, options: Mapping[str, str]) -> None:
        known = ("schema", "schema_file", "schema_ipc", "expansion")
        checked = Options(self.name, options, known)
        content = checked.inline_file("schema_file", "schema_ipc", is_text=False)
        text = checked.text("schema", "")
        self._expansion = checked.number("expansion", EXPANSION_DEFAULT, least=1, most=1_000_000)
        super().__init__(checked.values)
        self._ipc = require("pyarrow.ipc", "decoding Arrow IPC")
        if text and content is not None:
            raise DecoderError("decoder arrow takes one of schema, schema_file and schema_ipc")
        self._given: pa.Schema | None = parse_schema(text) if text else None
        if content is not None:
            self._given = self._read_schema(content)
        self._schema = None if self._given is None else plain_schema(self._given)

    def _read_schema(self, content: bytes) -> pa.Schema:
        ipc = self._ipc
        forms = [ipc.open_file] if content.startswith(b"ARROW1") else [ipc.open_stream]
        for form in (*forms, ipc.read_schema):
            try:
                found = form(pa.py_buffer(content))
            except _ARROW_ERRORS:
                continue
            schema: pa.Schema = getattr(found, "schema", found)
            return schema.remove_metadata()
        raise DecoderError("option schema_file of decoder arrow is no Arrow file, stream or schema")

    @property
    def schema(self) -> pa.Schema:
        """The schema that was given, or that of the first stream."""
        if self._schema is None:
            raise SchemaUnknownError(
                "the schema of decoder arrow comes from the first message: give schema_file, or "
                "show it messages with with_sample"
            )
        return self._schema

    @property
    def needs_sample(self) -> bool:
        """Whether no schema was given."""
        return self._given is None

    @property
    def sample_size(self) -> int:
        """The number of messages in a sample, one of which must be a stream."""
        return SAMPLE_MESSAGES if self.needs_sample else 0

    def with_sample(self, payloads: pa.BinaryArray) -> Decoder:
        """Make a decoder with the schema of the first stream."""
        if not self.needs_sample:
            return self
        for payload in as_binary(payloads).slice(0, SAMPLE_MESSAGES):
            try:
                schema = self._ipc.open_stream(payload.as_py() or b"").schema
                check_names(schema)
            except _ARROW_ERRORS:
                continue
            content = base64.b64encode(schema.remove_metadata().serialize()).decode()
            return ArrowDecoder({**self.options, "schema_ipc": content})
        raise DecoderError(
            "no schema can be found: none of the first messages is an Arrow stream; "
            "give schema_file"
        )

    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode messages; every row of every batch is a row."""
        schema = self.schema
        batches: list[pa.RecordBatch] = []
        sources: list[pa.Array] = []
        rejects: list[Reject] = []
        for index, payload in enumerate(as_binary(payloads)):
            try:
                found = self._batches(payload.as_buffer())
            except DecoderError as error:
                rejects.append(Reject(index, SCHEMA_CHANGED + one_line(error)))
            except (*_ARROW_ERRORS, struct.error) as error:
                rejects.append(Reject(index, f"not Arrow IPC: {one_line(error)}"))
            else:
                rows = sum(batch.num_rows for batch in found)
                if not rows:
                    rejects.append(Reject(index, "an Arrow stream without rows"))
                    continue
                batches += found
                sources.append(pa.repeat(pa.scalar(index, pa.int64()), rows))
        whole = pa.concat_batches(batches) if batches else empty_batch(schema)
        source = pa.concat_arrays(sources) if sources else pa.array([], pa.int64())
        return Decoded(whole, source, rejects)

    def _batches(self, payload: pa.Buffer | None) -> list[pa.RecordBatch]:
        """The batches of one message in plain types, all checked."""
        if payload is None:
            raise ValueError("no payload")
        limit = EXPANSION_FREE + self._expansion * payload.size
        file = pa.BufferReader(payload)
        messages: list[Any] = []
        claimed = 0
        for message in self._ipc.MessageReader.open_stream(file):
            messages.append(message)
            claimed += claimed_size(message)
            if claimed > limit:
                raise TooLargeError(f"it comes to more than {limit} rows or bytes")
        if not messages:
            raise ValueError("no Arrow message")
        if file.tell() < payload.size:
            raise ValueError(f"{payload.size - file.tell()} bytes behind the stream")
        if messages[0].type == "schema":
            reader = self._ipc.open_stream(pa.BufferReader(payload))
            self._check_schema(reader.schema)
            batches = list(reader)
        else:
            batches = [self._ipc.read_record_batch(one, self._given) for one in messages]
        return [self._plain(batch, limit) for batch in batches]

    def _check_schema(self, found: pa.Schema) -> None:
        expected = self._given
        assert expected is not None
        if found.equals(expected):
            return
        if found.names != expected.names:
            raise DecoderError(f"columns {found.names}, expected {expected.names}")
        for mine, theirs in zip(expected, found, strict=True):
            if mine.type != theirs.type:
                raise DecoderError(f"{mine.name} is {theirs.type}, expected {mine.type}")

    def _plain(self, batch: pa.RecordBatch, limit: int) -> pa.RecordBatch:
        batch.validate(full=True)
        arrays = []
        for array, column in zip(batch.columns, self.schema, strict=True):
            arrays.append(plain_array(array, column, limit))
            check_times(arrays[-1])
        if not arrays:
            raise ValueError("a batch without columns")
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
