"""Checks the bytes of Avro data against the writer's schema, before they are read.

The reader of Avro is lenient: it takes the last one of an enum or a union for a number below zero,
cuts a number of more than 64 bits, and puts a time outside of the day into it. Each of these is a
malformed message here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.catalog.decoders.base import DecoderError

if TYPE_CHECKING:
    from collections.abc import Callable

    # Returns the offset after the value; raises ValueError or IndexError where it is malformed.
    Walk = Callable[[bytes, int], int]

_DAY_S = 86_400
_TIMES = {("int", "time-millis"): 1000 * _DAY_S, ("long", "time-micros"): 1_000_000 * _DAY_S}
_DECIMAL_BYTES_MAX = 256  # 16 have 38 digits; more digits take long to convert
_SIZES = {"null": 0, "float": 4, "double": 8}


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag number and the offset after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than ten bytes")
    if value >> 64:
        raise ValueError("a number of more than 64 bits")
    return (value >> 1) ^ -(value & 1), at


def _whole(least: int, most: int, what: str) -> Walk:
    def walk(data: bytes, at: int) -> int:
        byte = data[at]
        value, after = (byte >> 1) ^ -(byte & 1), at + 1
        if byte >= 0x80:
            value, after = _varint(data, at)
        if not least <= value <= most:
            raise ValueError(f"{value} is {what}")
        return after

    return walk


def _sized(most: int) -> Walk:
    def walk(data: bytes, at: int) -> int:
        size, at = _varint(data, at)
        if not 0 <= size <= len(data) - at:
            raise ValueError(f"a length of {size} where {len(data) - at} bytes are left")
        if size > most:
            raise ValueError(f"a decimal of {size} bytes")
        return at + size

    return walk


def _skip(size: int) -> Walk:
    return lambda _data, at: at + size


def _boolean(data: bytes, at: int) -> int:
    if data[at] > 1:
        raise ValueError(f"{data[at]} is no boolean")
    return at + 1


class AvroWalk:
    """Walks over the bytes of one value.

    Args:
        schema: a parsed schema for which ``check_finite`` has passed.
    """

    def __init__(self, schema: Any) -> None:
        self._named: dict[str, Walk] = {}
        self._walk = self._compile(schema)

    def check(self, data: bytes) -> None:
        """Check that the bytes are one value and nothing more.

        Raises:
            ValueError: they are malformed.
        """
        try:
            end = self._walk(data, 0)
        except IndexError:
            end = len(data) + 1
        if end > len(data):
            raise ValueError("the datum is longer than the message")
        if end < len(data):
            raise ValueError(f"{len(data) - end} bytes behind the datum")

    def _compile(self, schema: Any) -> Walk:
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, str):
            return self._named.get(schema) or self._simple(schema, "")
        kind = schema["type"]
        walk = self._complex(kind, schema)
        if "name" in schema:
            self._named[schema["name"]] = walk
        return walk

    def _simple(self, kind: str, logical: str) -> Walk:
        if kind in {"int", "long"}:
            if (kind, logical) in _TIMES:
                return _whole(0, _TIMES[kind, logical] - 1, "no time of the day")
            most = (1 << (31 if kind == "int" else 63)) - 1
            return _whole(-most - 1, most, f"out of the range of {kind}")
        if kind in {"bytes", "string"}:
            return _sized(_DECIMAL_BYTES_MAX if logical == "decimal" else 1 << 31)
        if kind == "boolean":
            return _boolean
        if kind in _SIZES:
            return _skip(_SIZES[kind])
        raise DecoderError(f"the Avro type {kind!r} is not decoded")

    def _complex(self, kind: Any, schema: dict[str, Any]) -> Walk:
        if kind in {"record", "error"}:
            parts = [self._compile(one["type"]) for one in schema["fields"]]

            def record(data: bytes, at: int) -> int:
                for part in parts:
                    at = part(data, at)
                return at

            return record
        if kind == "enum":
            return _whole(0, len(schema["symbols"]) - 1, "no symbol of the enum")
        if kind == "fixed":
            return _skip(int(schema["size"]))
        if kind == "array":
            return _blocks([self._compile(schema["items"])])
        if kind == "map":
            return _blocks([_sized(1 << 31), self._compile(schema["values"])])
        if isinstance(kind, str) and kind not in self._named:
            return self._simple(kind, schema.get("logicalType", ""))
        return self._compile(kind)

    def _union(self, schema: list[Any]) -> Walk:
        branches = [self._compile(one) for one in schema]
        index = _whole(0, len(branches) - 1, "no branch of the union")

        def walk(data: bytes, at: int) -> int:
            after = index(data, at)
            chosen, _ = _varint(data, at)
            return branches[chosen](data, after)

        return walk


def _blocks(parts: list[Walk]) -> Walk:
    def walk(data: bytes, at: int) -> int:
        while True:
            count, at = _varint(data, at)
            if count == 0:
                return at
            if count < 0:
                count = -count
                _, at = _varint(data, at)
            if count > len(data):
                raise ValueError(f"a block of {count} items")
            for _ in range(count):
                for part in parts:
                    at = part(data, at)
            if at > len(data):
                raise IndexError

    return walk
