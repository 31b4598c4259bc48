"""Definitions of properties: their names, the form of their text, their default and range.

A component declares its properties once, as a table of `Property`, and reads them from `Settings`
by that object, typed. The reference page is generated from the same tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

from aerolog.transport.config.values import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_PREFIX: Final = "aeron."


class PropertyKind(Enum):
    """How the text of a property is read (spec configuration 2); the value names the form."""

    SIZE = "digits and optionally k, m or g"
    DURATION = "digits and optionally ns, us, ms or s"
    MILLIS = "a whole number of milliseconds"
    INT = "a signed 32-bit number"
    LONG = "a signed 64-bit number"
    DOUBLE = "a number"
    BOOL = "true or false"
    INFERABLE = "infer, true or false"
    TEXT = "text"
    NAME = "one of the built-in names"
    HEX = "an even number of hex digits"
    PORT_RANGE = "two port numbers, 'low high'"


class Infer(Enum):
    """Value of an inferable boolean."""

    INFER = "infer"
    TRUE = "true"
    FALSE = "false"


@dataclass(frozen=True, slots=True, eq=False)
class Property(Generic[T_co]):
    """One property.

    Attributes:
        name: the reference's name, e.g. ``aeron.term.buffer.length``.
        default: the value when none is given; durations in ns, MILLIS in ms, sizes in bytes.
        meaning: one line for the reference page.
        keyword: the property's name as a keyword argument.
        env: the property's environment variable.
        low, high: inclusive range, checked when the property is read. Its component checks what
            depends on other properties.
        choices: for NAME: each accepted text and its meaning.
        plug_ins: for NAME: the entry point group whose names are accepted as well.
        any_case: for BOOL: whether ``TRUE`` is accepted as well as ``true``.
        lenient: whether a malformed number gives the default, with a warning; the reference uses
            the default silently.
    """

    name: str
    kind: PropertyKind
    default: T_co
    meaning: str
    keyword: str
    env: str
    low: int | None = None
    high: int | None = None
    choices: Mapping[str, str] | None = None
    plug_ins: str | None = None
    any_case: bool = False
    lenient: bool = False

    def __repr__(self) -> str:
        return f"<Property {self.name}>"


def environment_name(name: str) -> str:
    """Return a property's environment name by the reference's rule: upper case, ``_`` for dots."""
    return name.upper().replace(".", "_").replace("-", "_")


def keyword_name(name: str, prefix: str = _PREFIX) -> str:
    """Return a property's name as a keyword: without the prefix, in snake case."""
    return name.removeprefix(prefix).lower().replace(".", "_").replace("-", "_")


class Declare:
    """Declares the properties of one component; `table` holds them in order of declaration.

    Args:
        prefix: the part of a name that its keyword does not have.
    """

    def __init__(self, prefix: str = _PREFIX) -> None:
        self._prefix = prefix
        self._properties: list[Property[Any]] = []

    @property
    def table(self) -> tuple[Property[Any], ...]:
        """Every property declared so far."""
        return tuple(self._properties)

    def size(
        self, name: str, default: int, meaning: str, *, low: int = 0, high: int = INT64_MAX,
        **names: str,
    ) -> Property[int]:  # fmt: skip
        """Declare a size in bytes."""
        return self._add(name, PropertyKind.SIZE, default, meaning, names, low=low, high=high)

    def duration(
        self, name: str, default_ns: int, meaning: str, *, low: int = 0, high: int = INT64_MAX,
        **names: str,
    ) -> Property[int]:  # fmt: skip
        """Declare a duration in nanoseconds."""
        return self._add(
            name, PropertyKind.DURATION, default_ns, meaning, names, low=low, high=high
        )

    def millis(self, name: str, default_ms: int, meaning: str, **names: str) -> Property[int]:
        """Declare a number of milliseconds, which is a plain number in the reference."""
        return self._add(
            name,
            PropertyKind.MILLIS,
            default_ms,
            meaning,
            names,
            low=0,
            high=INT64_MAX,
            lenient=True,
        )

    def integer(
        self, name: str, default: int, meaning: str, *, low: int = INT32_MIN,
        high: int = INT32_MAX, lenient: bool = True, **names: str,
    ) -> Property[int]:  # fmt: skip
        """Declare a 32-bit integer."""
        return self._add(
            name, PropertyKind.INT, default, meaning, names, low=low, high=high, lenient=lenient
        )

    @overload
    def long(
        self, name: str, default: int, meaning: str, *, low: int = ..., **names: str
    ) -> Property[int]: ...
    @overload
    def long(
        self, name: str, default: None, meaning: str, *, low: int = ..., **names: str
    ) -> Property[int | None]: ...
    def long(
        self, name: str, default: int | None, meaning: str, *, low: int = INT64_MIN, **names: str
    ) -> Property[Any]:
        """Declare a 64-bit integer."""
        return self._add(
            name, PropertyKind.LONG, default, meaning, names, low=low, high=INT64_MAX, lenient=True
        )

    def double(self, name: str, default: float, meaning: str, **names: str) -> Property[float]:
        """Declare a floating point number."""
        return self._add(name, PropertyKind.DOUBLE, default, meaning, names, lenient=True)

    def boolean(
        self, name: str, default: bool, meaning: str, *, any_case: bool = False, **names: str
    ) -> Property[bool]:
        """Declare a boolean: ``true`` is true, any other text is false."""
        return self._add(name, PropertyKind.BOOL, default, meaning, names, any_case=any_case)

    def inferable(self, name: str, meaning: str, **names: str) -> Property[Infer]:
        """Declare an inferable boolean: ``infer``, ``true``, or any other text for false."""
        return self._add(name, PropertyKind.INFERABLE, Infer.INFER, meaning, names)

    @overload
    def text(self, name: str, default: str, meaning: str, **names: str) -> Property[str]: ...
    @overload
    def text(
        self, name: str, default: None, meaning: str, **names: str
    ) -> Property[str | None]: ...
    def text(self, name: str, default: str | None, meaning: str, **names: str) -> Property[Any]:
        """Declare a text that is used as it stands."""
        return self._add(name, PropertyKind.TEXT, default, meaning, names)

    @overload
    def choice(
        self, name: str, default: str, choices: Mapping[str, str], meaning: str, *,
        plug_ins: str | None = ..., **names: str,
    ) -> Property[str]: ...  # fmt: skip
    @overload
    def choice(
        self, name: str, default: None, choices: Mapping[str, str], meaning: str, *,
        plug_ins: str | None = ..., **names: str,
    ) -> Property[str | None]: ...  # fmt: skip
    def choice(
        self, name: str, default: str | None, choices: Mapping[str, str], meaning: str, *,
        plug_ins: str | None = None, **names: str,
    ) -> Property[Any]:  # fmt: skip
        """Declare one of several names; ``choices`` maps each accepted text to its meaning."""
        return self._add(
            name, PropertyKind.NAME, default, meaning, names, choices=choices, plug_ins=plug_ins
        )

    def hex_bytes(self, name: str, default: bytes, meaning: str, **names: str) -> Property[bytes]:
        """Declare bytes that are written as hexadecimal digits."""
        return self._add(name, PropertyKind.HEX, default, meaning, names)

    def port_range(self, name: str, meaning: str, **names: str) -> Property[tuple[int, int] | None]:
        """Declare an optional range of two port numbers."""
        added: Property[Any] = self._add(name, PropertyKind.PORT_RANGE, None, meaning, names)
        return added

    def _add(
        self, name: str, kind: PropertyKind, default: T, meaning: str, names: Mapping[str, str],
        **limits: Any,
    ) -> Property[T]:  # fmt: skip
        unknown = set(names) - {"keyword", "env"}
        assert not unknown, unknown
        added = Property(
            name,
            kind,
            default,
            meaning,
            names.get("keyword") or keyword_name(name, self._prefix),
            names.get("env") or environment_name(name),
            **limits,
        )
        self._properties.append(added)
        return added
