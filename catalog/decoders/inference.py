"""Infers a schema from a sample of messages that are objects."""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.base import DecoderError
from aerolog.catalog.decoders.exact_times import moment_ns
from aerolog.catalog.decoders.type_text import DEPTH_MAX
from aerolog.catalog.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
else:
    pa = require("pyarrow", "decoding messages")

SAMPLE_DEFAULT = 1000
SAMPLE_MAX = 1_000_000
FIELDS_MAX = 1000

_TYPES = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    moment_ns: pa.timestamp("ns", tz="UTC"),
}


class _Kind:
    """The type seen for one field: the first type wins, but an integer gives way to a float."""

    def __init__(self) -> None:
        self.type: Any = None  # a key of _TYPES, or list or dict
        self.item: _Kind | None = None
        self.fields: dict[str, _Kind] = {}

    def see(self, value: Any, depth: int, budget: list[int]) -> None:
        if value is None:
            return
        if depth > DEPTH_MAX:
            raise DecoderError(f"the sample is nested deeper than {DEPTH_MAX}: give a schema")
        seen = _kind_of(value)
        if self.type is None:
            self.type = seen
        elif {self.type, seen} == {int, float}:
            self.type = float
        elif self.type is not seen:
            return
        if seen is dict:
            self._see_fields(value, depth, budget)
        elif seen is list:
            self.item = self.item or _Kind()
            for part in value:
                self.item.see(part, depth + 1, budget)

    def _see_fields(self, value: dict[Any, Any], depth: int, budget: list[int]) -> None:
        for name, part in value.items():
            if not isinstance(name, str) or not _is_utf8(name):
                continue
            if name not in self.fields:
                budget[0] -= 1
                if budget[0] < 0:
                    raise DecoderError(
                        f"the sample has more than {FIELDS_MAX} fields: give a schema, "
                        "with a map where the keys are values"
                    )
                self.fields[name] = _Kind()
            self.fields[name].see(part, depth + 1, budget)

    def arrow(self) -> pa.DataType:
        if self.type is dict and self.fields:
            return pa.struct([pa.field(name, kind.arrow()) for name, kind in self.fields.items()])
        if self.type is list and self.item is not None:
            return pa.list_(self.item.arrow())
        return _TYPES.get(self.type, pa.string())


def _kind_of(value: Any) -> Any:
    if isinstance(value, dict):
        return dict
    if isinstance(value, decimal.Decimal):
        return float
    return type(value) if moment_ns(value) is None else moment_ns


def _is_utf8(name: str) -> bool:
    """Whether a name can be a column's; JSON may have halves of surrogate pairs."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def infer_schema(messages: Iterable[dict[str, Any]]) -> pa.Schema:
    """Infer the schema of a sample.

    A field has the type of its first value, or float64 where both integers and floats occur; a
    field that is always null is a string. Columns are in the order in which they first occur.

    Args:
        messages: the decoded messages.

    Raises:
        DecoderError: no message has a field, or there are too many fields.
    """
    whole = _Kind()
    budget = [FIELDS_MAX]
    for message in messages:
        whole.see(message, 0, budget)
    if not whole.fields:
        raise DecoderError(
            "no schema can be inferred: no message of the sample is an object with a field; "
            "give a schema, or another decoder"
        )
    return pa.schema([pa.field(name, kind.arrow()) for name, kind in whole.fields.items()])
