r"""The text form of Java properties files (spec configuration 3).

``key=value``, ``key: value`` or ``key value``; ``#`` and ``!`` begin a comment line, a backslash at
the end of a line continues it, ``\t \n \r \f \uXXXX`` and an escaped separator are understood.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.transport.errors import ConfigurationError
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANK: Final = " \t\f"
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class Pair:
    """One property of a file.

    Attributes:
        line: number of the line that it begins in, from 1.
        has_separator: whether ``=`` or ``:`` stood after the name.
    """

    name: str
    value: str
    line: int
    has_separator: bool


def parse_properties(text: str) -> Iterator[Pair]:
    """Yield the properties of a text in order.

    Raises:
        ConfigurationError: if a backslash-u is not followed by four hex digits.
    """
    for number, line in _logical_lines(text):
        end = _end_of_name(line)
        rest = line[end:].lstrip(_BLANK)
        has_separator = rest[:1] in {"=", ":"}
        if has_separator:
            rest = rest[1:].lstrip(_BLANK)
        yield Pair(_unescape(line[:end], number), _unescape(rest, number), number, has_separator)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    pending: str | None = None
    begun = 0
    for number, natural in enumerate(_LINE_END.split(text), 1):
        line = natural.lstrip(_BLANK)
        if pending is None:
            if not line or line[0] in "#!":
                continue
            begun = number
            pending = ""
        pending += line
        if _is_continued(pending):
            pending = pending[:-1]
            continue
        yield begun, pending
        pending = None
    if pending:
        yield begun, pending


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _end_of_name(line: str) -> int:
    index = 0
    while index < len(line) and line[index] not in "=: \t\f":
        index += 2 if line[index] == "\\" else 1
    return min(index, len(line))


def _unescape(text: str, line: int) -> str:
    if "\\" not in text:
        return text
    parts: list[str] = []
    index = 0
    while index < len(text):
        char = text[index]
        index += 1
        if char == "\\" and index < len(text):
            char = text[index]
            index += 1
            if char == "u":
                digits = text[index : index + 4]
                if re.fullmatch(r"[0-9a-fA-F]{4}", digits) is None:
                    raise ConfigurationError(f"line {line}: malformed \\u{digits} escape")
                char = chr(int(digits, 16))
                index += 4
            else:
                char = _ESCAPES.get(char, char)
        parts.append(char)
    return "".join(parts)
