"""JSON: a message is an object, or several objects on a line each.

A whole batch goes through Arrow's JSON reader, with an empty object on a line between two payloads.
Every payload begins an object. Where one is left open, either the empty object or the payload after
it is an error, so that no payload is part of another, and equal numbers of rows and payloads mean
one row for each. Where the reader refuses a range, it is halved, and small ranges go message by
message through Python's parser.

Both give the same: what only one of them takes, or takes otherwise, is searched for in the text and
goes through Python's parser.
"""

from __future__ import annotations

import json
import math
import re
from abc import abstractmethod
from itertools import accumulate
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
from aerolog.catalog.decoders.exact_numbers import written_integer, written_number
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
_OPENED_MAX = 400  # brackets that are open at once, which the stack of Python's parser can hold
_FAST_BYTES_MAX = 1 << 30  # lengths of the reader's blocks and columns have 31 bits
_WHOLE_MAX = float(1 << 53)  # below it every integer is a float64
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")
# Arrow's reader ends at a zero byte, and knows infinity and NaN, which are no JSON.
_NOT_JSON = (rb"\0", rb"NaN\s*[,}\]]", rb"Inf(?:inity)?\s*[,}\]]")
# It makes -0.0 of -0, and zero of numbers that are too small.
_ODD_FLOAT = (rb"-0\s*[,}\]]", rb"e-\d{3,}\s*[,}\]]", rb"E-\d{3,}\s*[,}\]]", rb"\.0{200}")
_FLOAT_DIGITS_MAX = 309
_LARGE_INTEGER = re.compile(rb"[:\[,]\s*(-?\d{16,})(?=\s*[,}\]])")
_numpy: Any = require("numpy", "decoding messages")
_compute: Any = require("pyarrow.compute", "decoding messages")
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
        kinds = [] if self._schema is None else self._schema.types
        self._fast = self._schema is not None and all(map(_read_fast, kinds))
        self._has_floats = any(map(_holds_floats, kinds))
        odd = (*_NOT_JSON, *(_ODD_FLOAT if self._has_floats else ()))
        self._odd = [re.compile(one) for one in odd]
        self._loads = json.JSONDecoder(
            object_pairs_hook=with_repeated,
            parse_float=written_number,
            parse_int=written_integer,
            parse_constant=_no_constant,
        ).decode
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
        begins = _compute.all(_compute.starts_with(messages, "{")).as_py()
        if not begins and not all(part.lstrip().startswith(b"{") for part in parts):
            raise pa.ArrowInvalid("a message begins no object")
        text = b"\n{}\n".join(parts)
        text.decode()
        if self.ignore_extra and any(map(_may_be_deep, parts)):
            raise pa.ArrowInvalid("only this reader goes as deep as what is left out may be")
        if any(odd.search(text) for odd in self._odd):
            raise pa.ArrowInvalid("a number that only this reader takes, or takes otherwise")
        table = self._json.read_json(
            pa.py_buffer(text),
            self._json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            self._json.ParseOptions(
                explicit_schema=self.schema,
                unexpected_field_behavior="ignore" if self.ignore_extra else "error",
            ),
        )
        if table.num_rows != 2 * len(parts) - 1:
            raise pa.ArrowInvalid("not one object a message")
        every_other = _numpy.arange(0, table.num_rows, 2)
        (rows,) = table.take(every_other).combine_chunks().to_batches()
        if self._has_floats:
            _check_floats(rows.columns, text)
        return rows

    def parse(self, payload: bytes) -> list[dict[str, Any]] | str:
        """Parse one object, or one on each line."""
        try:
            text = payload.decode()
        except UnicodeDecodeError:
            return not_utf8(payload)
        if _may_be_deep(payload) and _depth(payload) > _OPENED_MAX:
            return f"not JSON: more than {_OPENED_MAX} brackets are open at once"
        try:
            try:
                found = [self._loads(text)]
            except json.JSONDecodeError as error:
                lines = [line for line in text.split("\n") if line.strip()]
                if len(lines) < 2 or not error.msg.startswith("Extra data"):
                    return f"not JSON: {error}" if text.strip() else "not JSON: empty message"
                found = [self._loads(line) for line in lines]
        except (RecursionError, ValueError) as error:
            return f"not JSON: {error}"
        if not all(isinstance(row, dict) for row in found):
            return f"{SCHEMA_CHANGED}the message is no JSON object"
        return found


def _may_be_deep(payload: bytes) -> bool:
    return payload.count(b"[") + payload.count(b"{") > _OPENED_MAX


def _depth(payload: bytes) -> int:
    """The most brackets that are open at once."""
    brackets = _BRACKET.findall(_STRING.sub(b"", payload))
    return max(accumulate(1 if one in b"[{" else -1 for one in brackets), default=0)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _check_floats(columns: list[pa.Array], text: bytes) -> None:
    """Check that no number has become infinite, and that every integer is exact as a float64.

    Raises:
        pa.ArrowInvalid: a number has become another one, or may have.
    """
    largest = max(map(_largest, columns))
    if largest < _WHOLE_MAX:
        return
    if math.isinf(largest):
        raise pa.ArrowInvalid("a number is out of the range of double")
    for found in _LARGE_INTEGER.finditer(text):
        digits = found[1]
        if len(digits) > _FLOAT_DIGITS_MAX or int(float(digits)) != int(digits):
            raise pa.ArrowInvalid("an integer may not be exact as double")


def _largest(column: pa.Array) -> float:
    """The largest absolute value of the floats in a column, in nested columns too."""
    kind = column.type
    if pa.types.is_struct(kind):
        return max((_largest(part) for part in column.flatten()), default=0.0)
    if pa.types.is_list(kind):
        return _largest(column.flatten())
    if not pa.types.is_float64(kind):
        return 0.0
    found = _compute.max(_compute.abs(column)).as_py()
    return 0.0 if found is None else float(found)


def with_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of a parser's names and values; it is ``Repeated`` where a name occurs twice."""
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


def _holds_floats(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(_holds_floats(part.type) for part in kind)
    return _holds_floats(kind.value_type) if pa.types.is_list(kind) else pa.types.is_float64(kind)
