"""JSON: a message is an object, or several objects on a line each.

A whole batch goes through Arrow's JSON reader, with every payload wrapped as ``{"m":...}``. Each
wrapping begins an object where no object may be open. A payload that leaves one open causes an
error at the next wrapping, so equal numbers of rows and messages mean one row for each message.
Where the reader refuses a range, it is halved, and small ranges go message by message through
Python's parser.
"""

from __future__ import annotations

import decimal
import json
import re
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.base import (
    SCHEMA_CHANGED,
    Decoded,
    Decoder,
    Reject,
    SchemaUnknownError,
    as_binary,
    counting,
    int64_array,
    one_line,
    split_failures,
)
from aerolog.catalog.decoders.exact_values import Repeated, RowFitter
from aerolog.catalog.decoders.inference import SAMPLE_DEFAULT, SAMPLE_MAX, infer_schema
from aerolog.catalog.decoders.options import Options
from aerolog.catalog.decoders.text import not_utf8
from aerolog.catalog.decoders.type_text import format_schema, parse_schema
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding messages")

OBJECT_OPTIONS = ("schema", "schema_file", "extra", "sample")

_SLOW_RANGE = 256  # messages; below this a retry of the fast reader costs more than it saves
_OPENED_MAX = 400  # brackets in a message, which the stack of Python's parser can hold
_FAST_BYTES_MAX = 1 << 30  # lengths of the reader's blocks and columns have 31 bits
_OTHER_INFINITY = re.compile(rb"Inf(?!inity)")
_REFUSED = (pa.ArrowException, UnicodeDecodeError)


class ObjectDecoder(Decoder):
    """The base of decoders of objects, with a given or an inferred schema.

    Options: ``schema`` (see ``type_text``) or ``schema_file``; ``extra`` is ``reject`` (a field
        that the schema lacks makes its message a reject) or ``ignore``; ``sample`` is the number of
        messages that a schema is inferred from, or was when there is a ``schema`` as well.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        checked = Options(self.name, options, OBJECT_OPTIONS)
        content = checked.inline_file("schema_file", "schema", is_text=True)
        self.ignore_extra = checked.choice("extra", ("reject", "ignore")) == "ignore"
        self._sample = checked.number("sample", SAMPLE_DEFAULT, least=1, most=SAMPLE_MAX)
        super().__init__(checked.values)
        self._schema = None if content is None else parse_schema(content.decode())
        self._fitter: RowFitter | None = None
        if self._schema is not None:
            self._fitter = RowFitter(
                self._schema, extra=self.ignore_extra, inferred="sample" in self.options
            )

    @property
    def schema(self) -> pa.Schema:
        """The schema that was given or inferred."""
        if self._schema is None:
            raise SchemaUnknownError(
                f"the schema of decoder {self.name} is to be inferred: give the option schema, "
                "or show it messages with with_sample"
            )
        return self._schema

    @property
    def fitter(self) -> RowFitter:
        """The fitter of rows to the schema."""
        if self._fitter is None:
            raise SchemaUnknownError(f"decoder {self.name} has no schema yet: use with_sample")
        return self._fitter

    @property
    def needs_sample(self) -> bool:
        """Whether no schema was given."""
        return self._schema is None

    @property
    def sample_size(self) -> int:
        """The option ``sample`` where a sample is needed, else 0."""
        return self._sample if self.needs_sample else 0

    def with_sample(self, payloads: pa.BinaryArray) -> Decoder:
        """Make a decoder with the schema of the first ``sample`` messages."""
        if not self.needs_sample:
            return self
        shown = as_binary(payloads).slice(0, self._sample).to_pylist()
        parsed = (self.parse(payload) for payload in shown if payload is not None)
        rows = (row for part in parsed if isinstance(part, list) for row in part)
        schema = infer_schema(rows)
        # The two together tell that the schema was not given.
        inferred = {"schema": format_schema(schema), "sample": str(self._sample)}
        return type(self)({**self.options, **inferred})

    @abstractmethod
    def parse(self, payload: bytes) -> list[dict[str, Any]] | str:
        """Parse the objects of a message; a text is the reason why it has none."""

    def fit_each(self, payloads: pa.BinaryArray, first: int) -> Decoded:
        """Decode messages one after the other.

        Args:
            payloads: a range of the messages.
            first: the index of the first one.
        """
        return self.fitter.fit_each(payloads.to_pylist(), self._rows, first)

    def _rows(self, payload: bytes | None) -> list[dict[str, Any]] | str:
        found = "no payload" if payload is None else self.parse(payload)
        return one_line(found) if isinstance(found, str) else found


class JsonDecoder(ObjectDecoder):
    """Decodes JSON objects; the options are those of ``ObjectDecoder``."""

    name = "json"

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._fast = self._schema is not None and all(map(_read_fast, self._schema.types))
        # Decimals keep the digits as written, without a conversion to float.
        number = float if self._fast or self._schema is None else decimal.Decimal
        self._loads = json.JSONDecoder(object_pairs_hook=_pairs, parse_float=number).decode
        self._json = require("pyarrow.json", "decoding JSON")

    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode messages; every object is a row, and a message with anything else is a reject."""
        messages = as_binary(payloads)
        schema = self.schema
        good, bad = split_failures(
            0,
            len(messages),
            lambda first, last: self._range(messages.slice(first, last - first), first),
            _REFUSED,
        )
        parts = [part for _, _, part in good]
        batches = [part.columns for part in parts]
        columns = [
            pa.concat_arrays([batch.column(at) for batch in batches] or [pa.array([], kind)])
            for at, kind in enumerate(schema.types)
        ]
        sources = [part.source for part in parts] or [int64_array([])]
        rejects = [reject for part in parts for reject in part.rejects]
        rejects += [Reject(index, one_line(error)) for index, error in bad]
        return Decoded(
            pa.RecordBatch.from_arrays(columns, schema=schema),
            pa.concat_arrays(sources),
            sorted(rejects, key=lambda reject: reject.index),
        )

    def _range(self, messages: pa.BinaryArray, first: int) -> Decoded:
        count = len(messages)
        if not self._fast:
            return self.fit_each(messages, first)
        try:
            batch = self._read(messages)
        except _REFUSED:
            if count > _SLOW_RANGE:
                raise
            return self.fit_each(messages, first)
        return Decoded(batch, counting(first, first + count))

    def _read(self, messages: pa.BinaryArray) -> pa.RecordBatch:
        """Read one row for each message, or raise an error."""
        if messages.null_count or messages.nbytes > _FAST_BYTES_MAX:
            raise pa.ArrowInvalid("not for the fast reader")
        parts = messages.to_pylist()
        wrapped = b'{"m":' + b'}\n{"m":'.join(parts) + b"}"
        wrapped.decode()
        if self.ignore_extra and any(map(_may_be_deep, parts)):
            raise pa.ArrowInvalid("only this reader goes as deep as what is left out may be")
        if _OTHER_INFINITY.search(wrapped):
            raise pa.ArrowInvalid("a spelling of infinity that only this reader knows")
        table = self._json.read_json(
            pa.py_buffer(wrapped),
            self._json.ReadOptions(use_threads=False, block_size=len(wrapped) + 1),
            self._json.ParseOptions(
                explicit_schema=pa.schema([("m", pa.struct(list(self.schema)))]),
                unexpected_field_behavior="ignore" if self.ignore_extra else "error",
            ),
        )
        column = table.column("m").combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0)
        if len(column) != len(messages) or column.null_count or len(table.column_names) != 1:
            raise pa.ArrowInvalid("not one object a message")
        return pa.RecordBatch.from_arrays(column.flatten(), schema=self.schema)

    def parse(self, payload: bytes) -> list[dict[str, Any]] | str:
        """Parse one object, or one on each line."""
        try:
            text = payload.decode()
        except UnicodeDecodeError:
            return not_utf8(payload)
        try:
            try:
                found = [self._loads(text)]
            except json.JSONDecodeError as error:
                lines = [line for line in text.split("\n") if line.strip()]
                if len(lines) < 2 or not error.msg.startswith("Extra data"):
                    return f"not JSON: {error}" if text.strip() else "not JSON: empty message"
                found = [self._loads(line) for line in lines]
        except (RecursionError, ValueError, decimal.DecimalException) as error:
            return f"not JSON: {error}"
        if not all(isinstance(row, dict) for row in found):
            return f"{SCHEMA_CHANGED}the message is no JSON object"
        return found


def _may_be_deep(payload: bytes) -> bool:
    return payload.count(b"[") + payload.count(b"{") > _OPENED_MAX


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    names = [name for name, _ in pairs]
    repeated = Repeated(found)
    repeated.repeated = frozenset(name for name in found if names.count(name) > 1)
    return repeated


def _read_fast(kind: pa.DataType) -> bool:
    """Whether Arrow's JSON reader checks this type as strictly as ``fitting`` does."""
    types = pa.types
    if types.is_struct(kind):
        return all(_read_fast(part.type) for part in kind)
    if types.is_list(kind):
        return _read_fast(kind.value_type)
    plain = (types.is_integer, types.is_float64, types.is_string, types.is_boolean)
    return any(is_kind(kind) for is_kind in plain)
