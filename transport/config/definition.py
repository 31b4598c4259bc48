"""What a property is: its names, how its text is read, its default and its range.

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


class Kind(Enum):
    """How the text of a property is read; the value names the accepted form.

    Spec configuration 2.
    """

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
        kind: how its text is read.
        default: its value when nobody gives one; durations in ns, MILLIS in ms, sizes in bytes.
        meaning: one line for the reference page.
        keyword: its name as a keyword argument.
        env: its environment variable.
        low, high: inclusive range that is checked when it is read; what depends on other
            properties is its component's business.
        choices: for NAME: accepted text -> what it stands for.
        plug_ins: for NAME: the entry point group whose names are accepted as well.
        any_case: for BOOL: ``TRUE`` is true as well.
        lenient: a malformed number silently gives the default in the reference; here with a
            warning.
    """

    name: str
    kind: Kind
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
    """The reference's rule: upper case, dots to underscores."""
    return name.upper().replace(".", "_").replace("-", "_")


def keyword_name(name: str, prefix: str = _PREFIX) -> str:
    """A property's name as a keyword: without the prefix, in snake case."""
    return name.removeprefix(prefix).lower().replace(".", "_").replace("-", "_")


class Declare:
    """Makes the properties of one component; `table` holds them in order of declaration.

    Args:
        prefix: what is dropped from a name to get its keyword.
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
        """Bytes."""
        return self._add(name, Kind.SIZE, default, meaning, names, low=low, high=high)

    def duration(
        self, name: str, default_ns: int, meaning: str, *, low: int = 0, high: int = INT64_MAX,
        **names: str,
    ) -> Property[int]:  # fmt: skip
        """Nanoseconds."""
        return self._add(name, Kind.DURATION, default_ns, meaning, names, low=low, high=high)

    def millis(self, name: str, default_ms: int, meaning: str, **names: str) -> Property[int]:
        """Milliseconds, a plain number in the reference."""
        return self._add(
            name, Kind.MILLIS, default_ms, meaning, names, low=0, high=INT64_MAX, lenient=True
        )

    def integer(
        self, name: str, default: int, meaning: str, *, low: int = INT32_MIN,
        high: int = INT32_MAX, lenient: bool = True, **names: str,
    ) -> Property[int]:  # fmt: skip
        """A 32-bit number."""
        return self._add(
            name, Kind.INT, default, meaning, names, low=low, high=high, lenient=lenient
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
        """A 64-bit number."""
        return self._add(
            name, Kind.LONG, default, meaning, names, low=low, high=INT64_MAX, lenient=True
        )

    def double(self, name: str, default: float, meaning: str, **names: str) -> Property[float]:
        """A floating point number."""
        return self._add(name, Kind.DOUBLE, default, meaning, names, lenient=True)

    def boolean(
        self, name: str, default: bool, meaning: str, *, any_case: bool = False, **names: str
    ) -> Property[bool]:
        """``true``, or any other text for false."""
        return self._add(name, Kind.BOOL, default, meaning, names, any_case=any_case)

    def inferable(self, name: str, meaning: str, **names: str) -> Property[Infer]:
        """``infer``, ``true``, or any other text for false."""
        return self._add(name, Kind.INFERABLE, Infer.INFER, meaning, names)

    @overload
    def text(self, name: str, default: str, meaning: str, **names: str) -> Property[str]: ...
    @overload
    def text(
        self, name: str, default: None, meaning: str, **names: str
    ) -> Property[str | None]: ...
    def text(self, name: str, default: str | None, meaning: str, **names: str) -> Property[Any]:
        """Text as it stands."""
        return self._add(name, Kind.TEXT, default, meaning, names)

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
        """One of the built-in names; ``choices`` maps each accepted text to what it stands for."""
        return self._add(
            name, Kind.NAME, default, meaning, names, choices=choices, plug_ins=plug_ins
        )

    def hex_bytes(self, name: str, default: bytes, meaning: str, **names: str) -> Property[bytes]:
        """Bytes as hexadecimal digits."""
        return self._add(name, Kind.HEX, default, meaning, names)

    def port_range(self, name: str, meaning: str, **names: str) -> Property[tuple[int, int] | None]:
        """Two port numbers, or nothing."""
        added: Property[Any] = self._add(name, Kind.PORT_RANGE, None, meaning, names)
        return added

    def _add(
        self, name: str, kind: Kind, default: T, meaning: str, names: Mapping[str, str],
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
