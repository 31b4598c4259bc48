"""Fits rows of Python values to Arrow schemas: a value that does not fit makes a reject.

The values come from parsers that return Python objects (JSON where the fast reader gave up,
MessagePack). A value of another type than its column's makes its message a reject whose reason says
so. ``exact_numbers`` and ``exact_times`` have the rules of single values.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.base import (
    SCHEMA_CHANGED,
    Decoded,
    DecoderError,
    Reject,
    int64_array,
    lacks_field,
    one_line,
)
from aerolog.catalog.decoders.exact_numbers import fit_decimal, fit_floating, fit_integer
from aerolog.catalog.decoders.exact_times import fit_date, fit_duration, fit_time, fit_timestamp
from aerolog.catalog.decoders.misfits import Fit, MisfitError, misfit
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding messages")

_ARROW_ERRORS = (pa.ArrowException, ValueError, TypeError, OverflowError)


class Repeated(dict[str, Any]):
    """An object in which some keys occurred more than once.

    Attributes:
        repeated: these keys.
    """

    repeated: frozenset[str] = frozenset()


def _text(kind: pa.DataType, path: str) -> Fit:
    def fit(value: Any) -> Any:
        if type(value) is not str:
            raise misfit(path, kind, value)
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise MisfitError(f"{path} has half of a surrogate pair") from error
        return value

    return fit


def _boolean(kind: pa.DataType, path: str) -> Fit:
    def fit(value: Any) -> Any:
        if type(value) is not bool:
            raise misfit(path, kind, value)
        return value

    return fit


def _binary(kind: pa.DataType, path: str) -> Fit:
    def fit(value: Any) -> Any:
        if type(value) is bytes:
            return value
        if type(value) is not str:
            raise misfit(path, kind, value)
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError) as error:
            raise MisfitError(f"{path} is not base64, which binary is as text") from error

    return fit


def _listed(kind: pa.DataType, path: str, extra: bool) -> Fit:
    inner = fitting(kind.value_type, f"{path}[]", extra=extra)

    def fit(value: Any) -> Any:
        if type(value) is not list:
            raise misfit(path, kind, value)
        return [None if part is None else inner(part) for part in value]

    return fit


def _mapped(kind: pa.DataType, path: str, extra: bool) -> Fit:
    key = fitting(kind.key_type, f"{path}{{}}", extra=extra)
    item = fitting(kind.item_type, f"{path}{{}}", extra=extra)

    def fit(value: Any) -> Any:
        if not isinstance(value, dict):
            raise misfit(path, kind, value)
        if isinstance(value, Repeated):
            raise MisfitError(f"{path} has a key twice")
        pairs = [(key(name), None if part is None else item(part)) for name, part in value.items()]
        if len({name for name, _ in pairs}) < len(pairs):  # two texts of one time, for example
            raise MisfitError(f"{path} has a key twice")
        return pairs

    return fit


def _structured(kind: pa.DataType, path: str, extra: bool) -> Fit:
    parts = [(part.name, fitting(part.type, f"{path}.{part.name}", extra=extra)) for part in kind]
    names = frozenset(name for name, _ in parts)

    def fit(value: Any) -> Any:
        if not isinstance(value, dict):
            raise misfit(path, "an object", value)
        check_keys(value, names, path, extra=extra)
        return {
            name: None if (part := value.get(name)) is None else inner(part)
            for name, inner in parts
        }

    return fit


class UnknownFieldError(MisfitError):
    """An object has a field that the schema lacks; the text is the field's path."""


def check_keys(value: dict[Any, Any], names: frozenset[str], path: str, *, extra: bool) -> None:
    """Check that no column occurs twice, and unless ``extra`` is set, that no field is unknown.

    Raises:
        MisfitError: the object has such a key.
    """
    if isinstance(value, Repeated):
        twice = sorted(value.repeated & names) if extra else sorted(value.repeated)
        if twice:
            raise MisfitError(f"{path or 'the message'} has {twice[0]!r} twice")
    if not extra and not value.keys() <= names:
        unknown = next(name for name in value if name not in names)
        raise UnknownFieldError(f"{path + '.' if path else ''}{unknown}")


_PLAIN = (
    (pa.types.is_integer, fit_integer),
    (pa.types.is_floating, fit_floating),
    (pa.types.is_decimal, fit_decimal),
    (pa.types.is_string, _text),
    (pa.types.is_boolean, _boolean),
    (pa.types.is_binary, _binary),
    (pa.types.is_timestamp, fit_timestamp),
    (pa.types.is_date, fit_date),
    (pa.types.is_time, fit_time),
    (pa.types.is_duration, fit_duration),
)


def fitting(kind: pa.DataType, path: str, *, extra: bool) -> Fit:
    """Make a function that checks a value other than None and returns what ``pa.array`` takes.

    Args:
        kind: the type of the column.
        path: the column's name, for messages.
        extra: whether objects may have more fields than the type.

    Raises:
        DecoderError: there is no rule for the type.
    """
    types = pa.types
    for is_kind, make in _PLAIN:
        if is_kind(kind):
            return make(kind, path)
    if types.is_struct(kind):
        return _structured(kind, path, extra)
    if types.is_map(kind):
        return _mapped(kind, path, extra)
    if types.is_list(kind):
        return _listed(kind, path, extra)
    raise DecoderError(f"column {path} cannot be decoded to {kind}")


class RowFitter:
    """Turns objects into rows of a schema, and those that do not fit into rejects.

    Args:
        schema: the schema of the rows.
        extra: whether objects may have fields that the schema lacks, which are left out then.
        inferred: whether the schema was inferred from earlier messages, and not given.

    Raises:
        DecoderError: there is no rule for a column's type.
    """

    def __init__(self, schema: pa.Schema, *, extra: bool, inferred: bool = False) -> None:
        self.schema = schema
        self._inferred = inferred
        self._extra = extra
        self._names = frozenset(schema.names)
        self._fits = [fitting(column.type, column.name, extra=extra) for column in schema]
        self._exact = [_exact_type(column.type) for column in schema]

    def fit_each(
        self,
        payloads: Iterable[bytes | None],
        parse: Callable[[bytes | None], list[dict[str, Any]] | str],
        first: int = 0,
    ) -> Decoded:
        """Convert messages that are parsed one after the other.

        Args:
            payloads: the messages.
            parse: returns a message's rows, or the reason why it has none.
            first: the index of the first message.
        """
        rows: list[dict[str, Any]] = []
        source: list[int] = []
        rejects: list[Reject] = []
        for index, payload in enumerate(payloads, first):
            found = parse(payload)
            if isinstance(found, str):
                rejects.append(Reject(index, found))
            else:
                rows.extend(found)
                source.extend([index] * len(found))
        return self.fit(rows, source, rejects)

    def fit(
        self, rows: Sequence[dict[str, Any]], source: Sequence[int], rejects: list[Reject]
    ) -> Decoded:
        """Convert rows to columns.

        A message with a row that does not fit gets no rows at all.

        Args:
            rows: the rows in the order of their messages.
            source: for each row the index of its message, ascending.
            rejects: the rejects with other reasons, to which those of rows that do not fit are
                added.
        """
        bad: dict[int, str] = {}
        try:
            columns = self._columns(rows)
        except _ARROW_ERRORS:
            rows, source = self._fitting_rows(rows, source, bad)
            columns = self._columns(rows)
        batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        found = [*rejects, *(Reject(index, reason) for index, reason in bad.items())]
        found.sort(key=lambda reject: reject.index)
        return Decoded(batch, int64_array(source), found)

    def _fitting_rows(
        self, rows: Sequence[dict[str, Any]], source: Sequence[int], bad: dict[int, str]
    ) -> tuple[list[dict[str, Any]], list[int]]:
        """The rows of messages all of whose rows fit; the other messages' reasons go to ``bad``."""
        kept: list[dict[str, Any]] = []
        kept_source: list[int] = []
        for row, index in zip(rows, source, strict=True):
            if index in bad:
                continue
            try:
                self._check(row)
            except _ARROW_ERRORS as error:
                bad[index] = self._reason(error)
                while kept_source and kept_source[-1] == index:  # earlier rows of the same message
                    kept.pop()
                    kept_source.pop()
                continue
            kept.append(row)
            kept_source.append(index)
        return kept, kept_source

    def _reason(self, error: Exception) -> str:
        text = one_line(error)
        if not isinstance(error, UnknownFieldError):
            return SCHEMA_CHANGED + text
        return f"{SCHEMA_CHANGED}{text} is a new field" if self._inferred else lacks_field(text)

    def _check(self, row: dict[str, Any]) -> None:
        check_keys(row, self._names, "", extra=self._extra)
        for column, fit in zip(self.schema, self._fits, strict=True):
            value = row.get(column.name)
            if value is not None:
                fit(value)

    def _columns(self, rows: Sequence[dict[str, Any]]) -> list[pa.Array]:
        for row in rows:
            if type(row) is not dict or not row.keys() <= self._names:
                check_keys(row, self._names, "", extra=self._extra)
        columns = []
        for column, fit, exact in zip(self.schema, self._fits, self._exact, strict=True):
            values = [row.get(column.name) for row in rows]
            if exact is None or not exact.issuperset(map(type, values)):
                values = [None if value is None else fit(value) for value in values]
            columns.append(pa.array(values, column.type))
        return columns


def _exact_type(kind: pa.DataType) -> frozenset[type] | None:
    """The Python types whose values Arrow checks as strictly as ``fitting`` does."""
    if pa.types.is_integer(kind):
        return frozenset({int, type(None)})
    if pa.types.is_float64(kind):
        return frozenset({float, type(None)})
    if pa.types.is_string(kind):
        return frozenset({str, type(None)})
    if pa.types.is_boolean(kind):
        return frozenset({bool, type(None)})
    return None
