"""Segment files of a folder as the reference's tool sees them: names as they are, its words.

Rules: spec archive-files 5 and 6, spec archive-tool 15. The order is that of the folder's listing.
"""

from __future__ import annotations

from pathlib import Path

from aerolog.archive.format.layout import MAX_I32, MAX_I64, SEGMENT_SUFFIX
from aerolog.archive.format.segment import TERM_LENGTH_MAX, TERM_LENGTH_MIN, is_power_of_two
from aerolog.tools.command_line.java_error import (
    ARCHIVE_ERROR,
    ASCII_NUMBER_ERROR,
    ILLEGAL_ARGUMENT,
    NOT_EMPTY_ERROR,
    JavaError,
)


def is_term_length(length: int) -> bool:
    """Whether the terms of a log can be that long."""
    return is_power_of_two(length) and TERM_LENGTH_MIN <= length <= TERM_LENGTH_MAX


def check_term_length(length: int) -> None:
    """Whether the terms of a log can be that long, in the reference's words.

    Raises:
        JavaError: they cannot.
    """
    if not is_term_length(length):
        raise JavaError(ILLEGAL_ARGUMENT, f"invalid term buffer length: {length}")


def segments_by_id(folder: str) -> dict[int, list[str]]:
    """Names of the segment files in a folder, by recording.

    A name without a dash behind something belongs to no recording and is passed over.

    Raises:
        JavaError: a name has something other than a number before its dash.
    """
    found: dict[int, list[str]] = {}
    for name in (path.name for path in Path(folder).iterdir()):
        head, dash, _ = name.partition("-")
        if head and dash and name.endswith(SEGMENT_SUFFIX):
            found.setdefault(parse_number(head), []).append(name)
    return found


def base_of(name: str) -> int:
    """The position that a segment file's name starts at.

    Raises:
        JavaError: it has none that can be.
    """
    value = number_of(name)
    if value < 0:
        raise JavaError(
            ARCHIVE_ERROR, f"ERROR - negative position encoded in the file name: {name}"
        )
    return value


def number_of(name: str) -> int:
    """As ``base_of``, but negative positions count as well.

    Raises:
        JavaError: there is no number.
    """
    text = name.partition("-")[2][: -len(SEGMENT_SUFFIX)]
    if not text:
        raise JavaError(ARCHIVE_ERROR, f"ERROR - no position encoded in the segment file: {name}")
    return parse_number(text)


def remove_segment(path: str) -> None:
    """Remove a segment file, as the reference whatever it is; nothing when it is gone.

    Raises:
        OSError: it cannot be removed.
        JavaError: it is a folder with something in it.
    """
    try:
        Path(path).unlink(missing_ok=True)
    except IsADirectoryError:
        try:
            Path(path).rmdir()
        except OSError as error:
            raise JavaError(NOT_EMPTY_ERROR, path) from error


def parse_number(text: str) -> int:
    """A decimal number of 64 bits in a name.

    Raises:
        JavaError: it is none.
    """
    return _parse(text, "long", MAX_I64)


def parse_int(text: str) -> int:
    """A decimal number of 32 bits in a name.

    Raises:
        JavaError: it is none.
    """
    return _parse(text, "int", MAX_I32)


def _parse(text: str, kind: str, most: int) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise JavaError(ASCII_NUMBER_ERROR, f"error parsing {kind}: {text}")
    significant = digits.lstrip("0") or "0"
    # Python refuses int() of a very long digit string, so the length is checked first.
    value = int(significant) if len(significant) <= len(str(most)) else most + 2
    if text.startswith("-"):
        value = -value
    if not -most - 1 <= value <= most:
        raise JavaError(ASCII_NUMBER_ERROR, f"{kind} overflow parsing: {text}")
    return value
