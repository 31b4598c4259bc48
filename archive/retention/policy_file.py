"""Reads policies from TOML files and options, whose texts become typed values.

A file has a table ``[[policy]]`` for each policy. An error names the line that causes it.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.retention.errors import PolicyError
from aerolog.archive.retention.policies import Policies, Policy, Space, StreamRange, checked
from aerolog.transport.config.values import (
    INT32_MAX,
    INT32_MIN,
    parse_long_duration_ns,
    parse_size,
)
from aerolog.transport.errors import AerologError, ConfigurationError
from aerolog.transport.memory.filesystem import read_at_most

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

FILE_MAX: Final = 1024 * 1024
_TABLE: Final = re.compile(r"\s*\[\[\s*policy\s*\]\]")
_KEY: Final = re.compile(r"""\s*["']?([A-Za-z0-9_-]+)["']?\s*(?:=|\.)""")
_RANGE: Final = re.compile(r"(-?[0-9]{1,10})\s*(?:\.\.|-)\s*(-?[0-9]{1,10})", re.ASCII)
_PERCENT: Final = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,6})?)\s*%", re.ASCII)


def load_policies(path: str | Path) -> Policies:
    """Return the policies of a file.

    Raises:
        PolicyError: the file is unreadable or not TOML, or a policy is invalid; names the line.
    """
    source = str(path)
    try:
        data = read_at_most(source, FILE_MAX)
    except OSError as error:
        raise PolicyError(f"cannot be read: {error.strerror or error}", source=source) from error
    except ConfigurationError as error:
        raise PolicyError(f"is longer than {FILE_MAX} bytes: no policies", source=source) from error
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise PolicyError(f"is no UTF-8 text: {error}", source=source) from error
    return parse_policies(text, source=source)


def parse_policies(text: str, *, source: str = "policies") -> Policies:
    """Return the policies of a TOML text.

    Args:
        text: the TOML text.
        source: origin of the text, for messages.

    Raises:
        PolicyError: the text is not TOML, or a policy is invalid; names the line.
    """
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # tomllib raises it for overlong numbers
        found = re.search(r"at line ([0-9]+)", str(error))
        line = int(found[1]) if found else None
        if "end of document" in str(error):
            line = text.count("\n") + 1
        raise PolicyError(f"is no TOML: {error}", source=source, line=line) from error
    lines = _Lines(text)
    unknown = sorted(document.keys() - {"policy"})
    if unknown:
        raise PolicyError(
            f"{unknown[0]!r} is not known: a file has tables [[policy]] and nothing else",
            source=source,
            line=lines.top(unknown[0]),
        )
    tables = document.get("policy", [])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise PolicyError("policy is no table: write [[policy]]", source=source)
    if not tables:
        raise PolicyError("has no policy: add a table [[policy]]", source=source)
    found_policies = [
        policy_of(
            table,
            name=f"policy {at + 1}",
            source=source,
            line=lambda key, at=at: lines.of(at, key),  # type: ignore[misc]
        )
        for at, table in enumerate(tables)
    ]
    return checked(found_policies)


def _no_line(_key: str) -> int | None:
    return None


def policy_of(
    values: Mapping[str, Any],
    *,
    name: str,
    source: str,
    line: Callable[[str], int | None] = _no_line,
) -> Policy:
    """Return a policy from plain values of TOML or options, not checked against others.

    Args:
        values: values by their names in the file.
        name: name of the policy unless the values have one.
        source: origin of the values, for messages.
        line: returns the line of a key, or of the policy for "".

    Raises:
        PolicyError: a key is unknown, or a value is invalid.
    """
    made: dict[str, Any] = {"name": name, "source": source, "line": line("")}
    for key, value in values.items():
        reader = _READERS.get(key)
        if reader is None:
            near = difflib.get_close_matches(key, _READERS, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(_READERS)}"
            raise PolicyError(f"{key!r} is not known: {hint}", source=source, line=line(key))
        field, read = reader
        try:
            made[field] = read(key, value)
        except AerologError as error:
            raise PolicyError(str(error), source=source, line=line(key)) from error
    return Policy(**made)


class _Lines:
    """The lines of keys in a text, which the TOML parser does not report."""

    def __init__(self, text: str) -> None:
        self._tops: dict[str, int] = {}
        self._tables: list[dict[str, int]] = []
        for number, line in enumerate(text.splitlines(), 1):
            if _TABLE.match(line):
                self._tables.append({"": number})
                continue
            key = _KEY.match(line)
            if key is not None:
                place = self._tables[-1] if self._tables else self._tops
                place.setdefault(key[1], number)

    def top(self, key: str) -> int | None:
        """Return the line of a key outside the policies."""
        return self._tops.get(key)

    def of(self, index: int, key: str) -> int | None:
        """Return the line of a policy's key, or of the policy."""
        if index >= len(self._tables):
            return None
        table = self._tables[index]
        return table.get(key, table[""])


# -- values ---------------------------------------------------------------------------------------


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{key} is no text: {value!r}")
    return value


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigurationError(f"{key} is true or false, not {value!r}")
    return value


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _channels(key: str, value: Any) -> tuple[str, ...]:
    found = tuple(_text(key, one) for one in _listed(value))
    if not found:
        raise ConfigurationError(f"{key} is an empty list, which no recording matches")
    return found


def _streams(key: str, value: Any) -> tuple[StreamRange, ...]:
    found = tuple(_stream(key, one) for one in _listed(value))
    if not found:
        raise ConfigurationError(f"{key} is an empty list, which no recording matches")
    return found


def _stream(key: str, value: Any) -> StreamRange:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ConfigurationError(f"{key} is a number or a range such as '1000-1999', not {value!r}")
    if isinstance(value, str):
        match = _RANGE.fullmatch(value.strip())
        first, last = (match[1], match[2]) if match else (value, value)
        try:
            numbers = int(first), int(last)
        except ValueError:
            raise ConfigurationError(
                f"{key} is a number or a range such as '1000-1999', not {value!r}"
            ) from None
    else:
        numbers = (value, value)
    if numbers[0] > numbers[1]:
        raise ConfigurationError(f"{key} {value!r}: the range ends before it begins")
    if not INT32_MIN <= numbers[0] <= numbers[1] <= INT32_MAX:
        raise ConfigurationError(f"{key} {value!r} is no stream id: they have 32 bits")
    return StreamRange(*numbers)


def _labels(key: str, value: Any) -> dict[str, str | None]:
    """Return labels from a table of keys and values, or from texts ``key=value`` or ``key``."""
    if isinstance(value, dict):
        return {_text(key, one): _text(key, value[one]) for one in value}
    found: dict[str, str | None] = {}
    for one in _listed(value):
        name, sign, text = _text(key, one).partition("=")
        found[_text(key, name.strip())] = text.strip() if sign else None
    if not found:
        raise ConfigurationError(f"{key} is empty")
    return found


def _duration_ns(key: str, value: Any) -> int:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise ConfigurationError(f"{key} is a duration such as '7d', not {value!r}")
    duration = parse_long_duration_ns(key, text.strip())
    if duration <= 0:
        raise ConfigurationError(f"{key} must be more than 0, or everything goes")
    return duration


def _bytes(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ConfigurationError(f"{key} is a size such as '10g', not {value!r}")
    size = value if isinstance(value, int) else parse_size(key, value.strip())
    if size <= 0:
        raise ConfigurationError(f"{key} must be more than 0, or everything goes")
    return size


def _count(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ConfigurationError(f"{key} is a number of recordings, 1 or more, not {value!r}")
    return value


def _space(key: str, value: Any) -> Space:
    if isinstance(value, str) and "%" in value:
        match = _PERCENT.fullmatch(value.strip())
        if match is None or not float(match[1]):
            raise ConfigurationError(
                f"{key} is a part such as '10%', above 0 and below 100, not {value!r}"
            )
        return Space(part=float(match[1]) / 100)
    return Space(bytes=_bytes(key, value))


_READERS: Final[dict[str, tuple[str, Callable[[str, Any], Any]]]] = {
    "name": ("name", _text),
    "channel": ("channels", _channels),
    "stream": ("streams", _streams),
    "label": ("labels", _labels),
    "everything": ("everything", _flag),
    "max_age": ("max_age_ns", _duration_ns),
    "min_age": ("min_age_ns", _duration_ns),
    "max_size": ("max_size", _bytes),
    "max_stream_size": ("max_stream_size", _bytes),
    "max_total_size": ("max_total_size", _bytes),
    "max_count": ("max_count", _count),
    "free_low": ("free_low", _space),
    "free_high": ("free_high", _space),
    "keep": ("keep", _flag),
    "whole_recordings": ("whole_recordings", _flag),
}
