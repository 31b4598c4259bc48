"""`Settings`: the values of a table of properties, read from their layers and checked."""

from __future__ import annotations

import difflib
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from aerolog.transport.config.definition import Infer, Property, PropertyKind
from aerolog.transport.config.known_names import (
    STRICT,
    tell_once,
    unknown_names,
    warn_on_stderr,
)
from aerolog.transport.config.sources import Properties, RawValue
from aerolog.transport.config.values import (
    INT32_MAX,
    INT32_MIN,
    INT64_MAX,
    INT64_MIN,
    duration_to_ns,
    format_duration,
    format_size,
    parse_duration_ns,
    parse_hex_bytes,
    parse_port_range,
    parse_size,
    size_to_int,
)
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

T = TypeVar("T")

_NUMBER: Final = re.compile(r"([+-]?)(0[xX]|#|0(?=[0-9]))?([0-9a-fA-F]+)", re.ASCII)


class Settings:
    """The value of every property of a table.

    Attributes:
        strict: whether an unknown name is an error.
        warnings: one line for each doubtful value that was accepted.
        unknown: one line for each property or variable that no component knows.
    """

    def __init__(
        self,
        table: Sequence[Property[Any]],
        properties: Properties | None = None,
        keywords: Mapping[str, Any] | None = None,
    ) -> None:
        """Read and check every property.

        Args:
            table: the properties to read.
            properties: the texts of the properties; those of the environment if None.
            keywords: values by keyword, which take precedence. A duration is float or int seconds,
                a timedelta, or text; it is an int if the keyword has ``_ns`` (or ``_ms``) appended.
                None means that the value is not given.

        Raises:
            ConfigurationError: if a keyword is unknown or a value cannot be used, or, when the
                settings are strict, if a name is unknown.
        """
        self.table = tuple(table)
        self.warnings: list[str] = []
        self.adjusted: list[str] = []
        self._values: dict[str, Any] = {}
        self._sources: dict[str, str] = {}
        given = _by_property(self.table, keywords or {})
        layers = Properties.from_environment() if properties is None else properties
        for prop in self.table:
            raw = layers.get(prop.name, prop.env)
            if prop.name in given:
                keyword, value = given[prop.name]
                self._set(prop, _from_keyword(prop, keyword, value), f"keyword {keyword}")
            elif raw is not None:
                value = self._from_text(prop, raw)
                if raw.from_environment:
                    value = self._within_range(prop, value, raw.source)
                self._set(prop, value, raw.source)
            else:
                self._values[prop.name] = prop.default
        self.strict = self._strictness(layers)
        self.unknown = tuple(unknown_names(layers, self.table))
        if self.strict and (problems := [*self.unknown, *self.adjusted]):
            raise ConfigurationError(problems[0])

    def __getitem__(self, prop: Property[T]) -> T:
        return cast("T", self._values[prop.name])

    def __iter__(self) -> Iterator[tuple[Property[Any], Any]]:
        return ((prop, self._values[prop.name]) for prop in self.table)

    def is_given(self, prop: Property[Any]) -> bool:
        """Whether the value was given, and is therefore not the default."""
        return prop.name in self._sources

    def set_default(self, prop: Property[T], value: T) -> None:
        """Set the value of a property that was not given, where it depends on other values."""
        if not self.is_given(prop):
            self._values[prop.name] = value

    def source(self, prop: Property[Any]) -> str:
        """Describe for messages where the value comes from."""
        return self._sources.get(prop.name, "default")

    def report(self, write: Callable[[str], object] = warn_on_stderr) -> None:
        """Write a line for each warning, and for each unknown name once in this process."""
        for line in (*self.warnings, *filter(tell_once, self.unknown)):
            write(line)

    def describe(self) -> list[tuple[str, str, str]]:
        """Return name, value as text, and source of every property, in the order of the table."""
        return [
            (prop.name, format_value(prop, self._values[prop.name]), self.source(prop))
            for prop in self.table
        ]

    def _strictness(self, layers: Properties) -> bool:
        if STRICT.name in self._values:
            return cast("bool", self._values[STRICT.name])
        raw = layers.get(STRICT.name, STRICT.env)
        return False if raw is None else cast("bool", self._from_text(STRICT, raw))

    def _set(self, prop: Property[Any], value: Any, source: str) -> None:
        limit = _violated_limit(prop, value)
        if limit is not None:
            word = "less than the least" if value < limit else "more than the most"
            raise ConfigurationError(
                f"{prop.name}={format_value(prop, value)} is {word}, "
                f"{format_value(prop, limit)} ({source})",
                reference_type="io.aeron.exceptions.ConfigurationException",
            )
        self._values[prop.name] = value
        self._sources[prop.name] = source

    def _within_range(self, prop: Property[Any], value: Any, source: str) -> Any:
        """Return the nearest value in range, as the C driver does with its variables."""
        limit = _violated_limit(prop, value)
        if limit is None:
            return value
        self.adjusted.append(
            f"{prop.name}={format_value(prop, value)} is out of range ({source}); "
            f"using {format_value(prop, limit)}"
        )
        return limit

    def _from_text(self, prop: Property[Any], raw: RawValue) -> Any:
        try:
            return _parse(prop, raw)
        except ConfigurationError as error:
            if not (prop.lenient or (raw.from_environment and prop.kind is not PropertyKind.NAME)):
                raise ConfigurationError(
                    f"{error} ({raw.source})",
                    reference_type=error.reference_type,
                    reference_message=error.reference_message,
                ) from error
            shown = format_value(prop, prop.default)
            self.warnings.append(f"{error} ({raw.source}); using default {shown}")
            return prop.default


def format_value(prop: Property[Any], value: Any) -> str:
    """Format a value as the text of its property."""
    if value is None:
        return ""
    if isinstance(value, Infer):
        return value.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.hex()
    if prop.kind is PropertyKind.SIZE:
        return format_size(value)
    if prop.kind is PropertyKind.DURATION:
        return format_duration(value) if value >= 0 else str(value)
    if prop.kind is PropertyKind.PORT_RANGE:
        return f"{value[0]} {value[1]}"
    return str(value)


def _by_property(
    table: Sequence[Property[Any]], keywords: Mapping[str, Any]
) -> dict[str, tuple[str, Any]]:
    accepted: dict[str, Property[Any]] = {}
    for prop in table:
        accepted.setdefault(prop.keyword, prop)
        if prop.kind is PropertyKind.DURATION:
            accepted[prop.keyword + "_ns"] = prop
        elif prop.kind is PropertyKind.MILLIS:
            accepted[prop.keyword + "_ms"] = prop
    given: dict[str, tuple[str, Any]] = {}
    for keyword, value in keywords.items():
        found = accepted.get(keyword)
        if found is None:
            close = difflib.get_close_matches(keyword, accepted, 3)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise ConfigurationError(f"unknown keyword {keyword!r}{hint}")
        if value is None:
            continue
        if found.name in given:
            raise ConfigurationError(f"{keyword} and {given[found.name][0]} are the same property")
        given[found.name] = (keyword, value)
    return given


def _parse(prop: Property[Any], raw: RawValue) -> Any:
    text = raw.text
    parser = _PARSERS.get(prop.kind)
    if parser is not None:
        return parser(prop.name, text)
    if prop.kind is PropertyKind.BOOL:
        return _parse_bool(prop, raw)
    if prop.kind is PropertyKind.INFERABLE:
        return _INFERABLE.get(text, Infer.FALSE)
    if prop.kind is PropertyKind.NAME:
        return _choose(prop, text)
    if "\0" in text:
        raise ConfigurationError(
            f"{prop.name}: {text!r} has a NUL, which is in no path and no name"
        )
    return text


def _parse_bool(prop: Property[Any], raw: RawValue) -> bool:
    if not raw.from_environment:
        return (raw.text.lower() if prop.any_case else raw.text) == "true"
    if raw.text.startswith(("1", "on", "true")):
        return True
    if raw.text.startswith(("0", "off", "false")):
        return False
    raise ConfigurationError(f"{prop.name}: {raw.text!r} is not true, on, 1, false, off or 0")


def _choose(prop: Property[Any], text: str) -> str:
    assert prop.choices is not None
    chosen = prop.choices.get(text)
    if chosen is not None:
        return chosen
    from importlib.metadata import entry_points  # takes longer to import than this package

    group = prop.plug_ins
    if group is not None and entry_points(group=group, name=text):
        return text
    accepted = ", ".join(prop.choices)
    or_installed = f" and names in the entry point group {group}" if group else ""
    raise ConfigurationError(
        f"{prop.name}: {text!r} is not built in; accepted are {accepted}{or_installed}"
    )


def _parse_number(name: str, text: str, low: int, high: int) -> int:
    match = _NUMBER.fullmatch(text)
    if match is not None and len(text) <= 24:
        sign, radix, digits = match.groups()
        base = 10 if radix is None else 8 if radix == "0" else 16
        try:
            value = int(sign + digits, base)
        except ValueError:
            value = high + 1
        if low <= value <= high:
            return value
    raise ConfigurationError(f"{name}: {text!r} is not a number from {low} to {high}")


def _parse_double(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigurationError(f"{name}: {text!r} is not a number") from None


def _parse_duration(name: str, text: str) -> int:
    # The reference writes -1 for "not set" where a property may be unset.
    return -1 if text == "-1" else parse_duration_ns(name, text)


_INFERABLE: Final = {"infer": Infer.INFER, "true": Infer.TRUE}
_PARSERS: Final[dict[PropertyKind, Callable[[str, str], Any]]] = {
    PropertyKind.SIZE: parse_size,
    PropertyKind.DURATION: _parse_duration,
    PropertyKind.MILLIS: lambda name, text: _parse_number(name, text, INT64_MIN, INT64_MAX),
    PropertyKind.INT: lambda name, text: _parse_number(name, text, INT32_MIN, INT32_MAX),
    PropertyKind.LONG: lambda name, text: _parse_number(name, text, INT64_MIN, INT64_MAX),
    PropertyKind.DOUBLE: _parse_double,
    PropertyKind.HEX: parse_hex_bytes,
    PropertyKind.PORT_RANGE: parse_port_range,
}


def _from_keyword(prop: Property[Any], keyword: str, value: Any) -> Any:
    kind = prop.kind
    if kind in {PropertyKind.DURATION, PropertyKind.MILLIS}:
        return _duration_keyword(prop, keyword, value)
    if kind is PropertyKind.SIZE:
        return size_to_int(keyword, value)
    if kind is PropertyKind.BOOL and isinstance(value, bool):
        return value
    if kind is PropertyKind.INFERABLE and isinstance(value, (bool, Infer)):
        return Infer("true" if value else "false") if isinstance(value, bool) else value
    if kind is PropertyKind.DOUBLE and isinstance(value, (int, float)):
        return float(value)
    if (
        kind in {PropertyKind.INT, PropertyKind.LONG}
        and isinstance(value, int)
        and not isinstance(value, bool)
    ):
        return value
    if kind is PropertyKind.HEX and isinstance(value, bytes):
        return value
    if kind is PropertyKind.PORT_RANGE and isinstance(value, (tuple, list)) and len(value) == 2:
        return _parse(prop, RawValue(f"{value[0]} {value[1]}", keyword))
    text = getattr(value, "__fspath__", lambda: value)()
    if isinstance(text, str):
        return _parse(prop, RawValue(text, keyword))
    raise ConfigurationError(f"{keyword}: {value!r} is not {kind.value}")


def _duration_keyword(prop: Property[Any], keyword: str, value: Any) -> int:
    unit_ns = 1 if prop.kind is PropertyKind.DURATION else NS_PER_MS
    if keyword != prop.keyword:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigurationError(f"{keyword}: {value!r} is not a whole number")
        return value
    if prop.default == -1 and value == -1:
        return -1
    if isinstance(value, (str, int, float, timedelta)):
        return duration_to_ns(keyword, value) // unit_ns
    raise ConfigurationError(
        f"{keyword}: {value!r} is not a duration: seconds, a timedelta, or text such as '5s'"
    )


def _violated_limit(prop: Property[Any], value: Any) -> int | None:
    """Return the end of the range that a value is beyond, None for a value that may be used."""
    if not isinstance(value, int) or isinstance(value, bool) or value == prop.default:
        return None
    if prop.low is not None and value < prop.low:
        return prop.low
    if prop.high is not None and value > prop.high:
        return prop.high
    return None
