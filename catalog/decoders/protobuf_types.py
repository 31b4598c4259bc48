"""The columns of Protobuf message types, and functions that read their values from messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.base import UINT64_FORMS, DecoderError, check_schema_value
from aerolog.catalog.decoders.exact_times import whole
from aerolog.catalog.decoders.exact_values import UnknownFieldError
from aerolog.catalog.decoders.misfits import MisfitError
from aerolog.catalog.extras import require
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    Take = Callable[[Any], Any]
else:
    pa = require("pyarrow", "decoding Protobuf")

FIELDS_MAX = 10_000
DEPTH_MAX = 16
_INT64_MAX = 2**63 - 1

# The numbers of FieldDescriptor.CPPTYPE_...
_INT32, _INT64, _UINT32, _UINT64, _DOUBLE, _FLOAT, _BOOL, _ENUM, _STRING, _MESSAGE = range(1, 11)
_TYPE_BYTES = 12
_SIMPLE = {
    _INT32: pa.int32(), _INT64: pa.int64(), _UINT32: pa.int64(), _DOUBLE: pa.float64(),
    _FLOAT: pa.float32(), _BOOL: pa.bool_(),
}  # fmt: skip
_WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)


def _same(value: Any) -> Any:
    return value


class MessageColumns:
    """The columns of a message type.

    Attributes:
        fields: the Arrow fields in the order in which the descriptor numbers them.
        has_times: whether a field is a Timestamp or a Duration, in inner messages too.
    """

    def __init__(
        self,
        descriptor: Any,
        *,
        uint64: str,
        time_unit: str,
        ignore_unknown: bool,
        path: str = "",
        inside: tuple[str, ...] = (),
        budget: list[int] | None = None,
    ) -> None:
        self._uint64 = uint64
        self._time_unit = time_unit
        self._ignore = ignore_unknown
        self._inside = (*inside, descriptor.full_name)
        self._budget = [FIELDS_MAX] if budget is None else budget
        self._unknown: Any = require(
            "google.protobuf.unknown_fields", "decoding Protobuf"
        ).UnknownFieldSet
        self._path = path
        self._takes: list[tuple[str, Take]] = []
        self.fields: list[pa.Field] = []
        self.has_times = False
        for field in descriptor.fields:
            self._budget[0] -= 1
            if self._budget[0] < 0 or len(self._inside) > DEPTH_MAX:
                raise DecoderError("the Protobuf message has too many or too deep fields")
            kind, take = self._compile(field, f"{path}{field.name}")
            self.fields.append(pa.field(field.name, kind))
            self._takes.append((field.name, take))

    def row(self, message: Any) -> dict[str, Any]:
        """Read the values of a message.

        Raises:
            MisfitError: the message has fields that its type lacks, or a number that does not fit.
        """
        if not self._ignore:
            unknown = self._unknown(message)
            if len(unknown):
                where = f" of {self._path[:-1]}" if self._path else ""
                raise UnknownFieldError(f"{unknown[0].field_number}{where}")
        return {name: take(message) for name, take in self._takes}

    def _compile(self, field: Any, path: str) -> tuple[pa.DataType, Take]:
        name = field.name
        inner = field.message_type
        if inner is not None and inner.GetOptions().map_entry:
            return self._map(field, path)
        kind, convert = self._value(field, path)
        if _is_repeated(field):

            def repeated(message: Any) -> Any:
                return [convert(part) for part in getattr(message, name)]

            return pa.list_(kind), repeated
        if field.has_presence:

            def optional(message: Any) -> Any:
                return convert(getattr(message, name)) if message.HasField(name) else None

            return kind, optional
        if convert is _same:
            return kind, lambda message: getattr(message, name)
        return kind, lambda message: convert(getattr(message, name))

    def _map(self, field: Any, path: str) -> tuple[pa.DataType, Take]:
        name = field.name
        parts = field.message_type.fields_by_name
        key_type, key = self._value(parts["key"], f"{path}{{}}")
        value_type, value = self._value(parts["value"], f"{path}{{}}")

        def take(message: Any) -> Any:
            entries = getattr(message, name)
            return {key(one): value(entries[one]) for one in entries}

        return pa.map_(key_type, value_type), take

    def _value(self, field: Any, path: str) -> tuple[pa.DataType, Take]:
        """The type of a single value, and the function that converts it."""
        kind = field.cpp_type
        if kind in _SIMPLE:
            return _SIMPLE[kind], _same
        if kind == _UINT64:
            return UINT64_FORMS[self._uint64], self._unsigned(path)
        if kind == _ENUM:
            names = {one.number: one.name for one in reversed(field.enum_type.values)}
            for one in names.values():
                check_schema_value(one, path)
            return pa.string(), lambda value: _enum_name(names, value, path)
        if kind == _STRING:
            return (pa.binary() if field.type == _TYPE_BYTES else pa.string()), _same
        return self._message(field.message_type, path)

    def _unsigned(self, path: str) -> Take:
        if self._uint64 != "int64":
            return _same

        def check(value: int) -> int:
            if value > _INT64_MAX:
                raise MisfitError(f"{path} is larger than int64 holds; option uint64 has others")
            return value

        return check

    def _message(self, descriptor: Any, path: str) -> tuple[pa.DataType, Take]:
        name = descriptor.full_name
        if name in {"google.protobuf.Timestamp", "google.protobuf.Duration"}:
            self.has_times = True
            unit = self._time_unit
            is_moment = name.endswith("Timestamp")
            return _time(pa.timestamp(unit, "UTC") if is_moment else pa.duration(unit), path)
        if name in _WRAPPERS:
            kind, convert = self._value(descriptor.fields_by_name["value"], path)
            return kind, lambda value: convert(value.value)
        if name in self._inside or not descriptor.fields:
            # A type that contains itself has no column type, so its serialized bytes are kept.
            return pa.binary(), lambda value: value.SerializeToString(deterministic=True)
        columns = MessageColumns(
            descriptor,
            uint64=self._uint64,
            time_unit=self._time_unit,
            ignore_unknown=self._ignore,
            path=f"{path}.",
            inside=self._inside,
            budget=self._budget,
        )
        self.has_times |= columns.has_times
        return pa.struct(columns.fields), columns.row


def _time(kind: pa.DataType, path: str) -> tuple[pa.DataType, Take]:
    """A column of a Timestamp or a Duration, and the function that converts it exactly."""

    def take(value: Any) -> int:
        found = whole(int(value.seconds) * NS_PER_S + int(value.nanos), kind, path)
        if not -_INT64_MAX - 1 <= found <= _INT64_MAX:
            raise MisfitError(f"{path} is out of the range of {kind}; option time_unit has others")
        return found

    return kind, take


def _enum_name(names: dict[int, str], value: int, path: str) -> str:
    name = names.get(value)
    if name is None:
        raise MisfitError(f"{path} has no value {value}")
    return name


def _is_repeated(field: Any) -> bool:
    repeated = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if repeated is None else repeated)
