"""Errors of policies, holds, the journal and runs, all with one base class."""

from __future__ import annotations

from aerolog.transport.errors import AerologError, StorageSpaceError


class RetentionError(AerologError):
    """Base class of retention's errors; after one of them nothing more is deleted."""


class PolicyError(RetentionError, ValueError):
    """A policy has an invalid value, contradicts another one or matches everything unintentionally.

    Attributes:
        source: file or other origin of the policy.
        line: line in the file, None where there is none.
    """

    def __init__(self, text: str, *, source: str, line: int | None = None) -> None:
        where = source if line is None else f"{source}:{line}"
        super().__init__(f"{where}: {text}")
        self.source = source
        self.line = line


class RetentionLockedError(RetentionError):
    """Another run has locked the folder.

    Attributes:
        holder: description of the other run.
    """

    def __init__(self, text: str, holder: str) -> None:
        super().__init__(text)
        self.holder = holder


class NoRoomError(RetentionError, StorageSpaceError):
    """The disk is full, and no room is reserved for retention's own files yet."""


class NeedsUnknownError(RetentionError):
    """What tells who needs a recording is missing, out of date or unreadable."""


class HoldsDamagedError(RetentionError):
    """The file of holds is unreadable or missing, so that held recordings are not known."""


class JournalDamagedError(RetentionError):
    """The journal cannot be written, or has an unknown version."""
