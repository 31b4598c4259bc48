"""What is wrong: files that cannot be viewed, why, and what to do; errors that they hold."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.transport.memory.error_log import ErrorObservation


class Trouble(StrEnum):
    """Why a directory or file cannot be looked at."""

    MISSING = "missing"
    HALF_DELETED = "half-deleted"
    STARTING = "starting"
    VERSION = "version"
    UNREADABLE = "unreadable"
    DAMAGED = "damaged"


class ViewError(AerologError):
    """Files that cannot be looked at.

    Attributes:
        trouble: the kind of it.
        path: the path of the file or directory.
        reason: what is wrong with it.
        remedy: what to do.
        version: packed, of a file of another version.
        length: bytes of a file that is too short.
    """

    def __init__(
        self,
        trouble: Trouble,
        path: str | Path,
        reason: str,
        remedy: str,
        *,
        version: int | None = None,
        length: int | None = None,
    ) -> None:
        super().__init__(f"{path}: {reason}: {remedy}")
        self.trouble = trouble
        self.path = str(path)
        self.reason = reason
        self.remedy = remedy
        self.version = version
        self.length = length


def error_row(error: ErrorObservation) -> dict[str, Any]:
    """A distinct error of a driver or an archive as JSON."""
    return {
        "count": error.count,
        "first_ms": error.first_ms,
        "last_ms": error.last_ms,
        "text": error.text,
    }
