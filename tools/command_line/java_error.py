"""Errors that end the reference's tool: its class and message, which scripts look for."""

from __future__ import annotations

import os
from typing import Final

from aerolog.transport.errors import AerologError

AERON_ERROR: Final = "io.aeron.exceptions.AeronException"
ARCHIVE_ERROR: Final = "io.aeron.archive.client.ArchiveException"
ASCII_NUMBER_ERROR: Final = "org.agrona.AsciiNumberFormatException"
CLUSTER_ERROR: Final = "io.aeron.cluster.client.ClusterException"
DRIVER_TIMEOUT: Final = "io.aeron.exceptions.DriverTimeoutException"
ILLEGAL_ARGUMENT: Final = "java.lang.IllegalArgumentException"
ILLEGAL_STATE: Final = "java.lang.IllegalStateException"
IO_ERROR: Final = "java.io.IOException"
NOT_EMPTY_ERROR: Final = "java.nio.file.DirectoryNotEmptyException"
NO_ELEMENT: Final = "java.util.NoSuchElementException"
NULL_POINTER: Final = "java.lang.NullPointerException"
NUMBER_FORMAT: Final = "java.lang.NumberFormatException"
OUT_OF_BOUNDS: Final = "java.lang.IndexOutOfBoundsException"
NO_SUCH_FILE: Final = "java.nio.file.NoSuchFileException"
PATTERN_SYNTAX: Final = "java.util.regex.PatternSyntaxException"
#: Errors of the file system, and what the reference throws for all others of it.
_OF_FILES: Final[dict[type[OSError], str]] = {
    FileNotFoundError: NO_SUCH_FILE,
    PermissionError: "java.nio.file.AccessDeniedException",
    FileExistsError: "java.nio.file.FileAlreadyExistsException",
}
_OF_OTHER_FILES: Final = "java.nio.file.FileSystemException"

_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
_LONG_DIGITS = len(str(_LONG_MAX))


class JavaError(AerologError):
    """What the reference throws out of its main method.

    Attributes:
        java_class: full name of the exception's class.
        message: the text behind the class; None when there is none.
    """

    def __init__(self, java_class: str, message: str | None = None) -> None:
        super().__init__(java_class if message is None else f"{java_class}: {message}")
        self.java_class = java_class
        self.message = message


def unknown_recording(recording_id: int) -> JavaError:
    """There is no such recording."""
    return JavaError(AERON_ERROR, f"ERROR - no recording found with recordingId: {recording_id}")


def out_of_bounds(start: int, size: int, length: int) -> JavaError:
    """Bytes from ``start`` on were wanted of something that has ``length`` bytes."""
    return JavaError(
        OUT_OF_BOUNDS,
        f"Range [{start}, {start} + {size}) out of bounds for length {length}",
    )


def parse_long(text: str) -> int:
    """A decimal number as the reference reads it: sign allowed, 64 bits, nothing around it.

    Raises:
        JavaError: it is none.
    """
    digits = text[1:] if text[:1] in {"-", "+"} else text
    if digits.isascii() and digits.isdigit() and len(digits.lstrip("0")) <= _LONG_DIGITS:
        value = int(text[: -len(digits)] + (digits.lstrip("0") or "0"))
        if _LONG_MIN <= value <= _LONG_MAX:
            return value
    raise JavaError(NUMBER_FORMAT, f'For input string: "{text}"')


def java_error_of(error: AerologError | OSError) -> JavaError:
    """Any error of ours in the reference's words, as far as it has words for it."""
    if isinstance(error, JavaError):
        return error
    if isinstance(error, OSError):
        java_class = _OF_FILES.get(type(error))
        if java_class is not None:
            return JavaError(java_class, str(error.filename))
        where = f"{error.filename}: " if error.filename else ""
        reason = error.strerror or (os.strerror(error.errno) if error.errno else str(error))
        return JavaError(_OF_OTHER_FILES, where + reason)
    return JavaError(AERON_ERROR, f"ERROR - {error}")
