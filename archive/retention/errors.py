"""What can be wrong with policies, holds, the journal, or a run; all of it under one root."""

from __future__ import annotations

from aerolog.transport.errors import AerologError


class RetentionError(AerologError):
    """Root of what retention raises: nothing more is deleted after it."""


class PolicyError(RetentionError, ValueError):
    """A policy that cannot be meant so: a value, a contradiction, or that it matches everything.

    Attributes:
        source: the file, or what else the policy came from.
        line: of the file, None where there is none.
    """

    def __init__(self, text: str, *, source: str, line: int | None = None) -> None:
        where = source if line is None else f"{source}:{line}"
        super().__init__(f"{where}: {text}")
        self.source = source
        self.line = line


class RetentionLockedError(RetentionError):
    """Another run has the folder.

    Attributes:
        holder: what the other run says of itself.
    """

    def __init__(self, text: str, holder: str) -> None:
        super().__init__(text)
        self.holder = holder


class HoldsDamagedError(RetentionError):
    """The file of holds cannot be read, or is gone: what is held is not known."""


class JournalDamagedError(RetentionError):
    """The journal cannot be written, or is of a version that is not known here."""


class ClockError(RetentionError):
    """The clock says what cannot be: ages mean nothing by it."""
