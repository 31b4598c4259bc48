"""Errors of a catalog's database; each text ends with what to do about it.

The texts name databases without their passwords.
"""

from __future__ import annotations

from aerolog.transport.errors import AerologError


class CatalogError(AerologError):
    """A SQL catalog cannot be used as asked."""


class CatalogUrlError(CatalogError, ValueError):
    """The URL names no database that can hold a catalog."""


class CatalogUnreachableError(CatalogError, ConnectionError):
    """The server does not answer, the connection broke, or the file cannot be opened."""


class CatalogCredentialsError(CatalogError, PermissionError):
    """The server demands a password, rejects the one given, or the user lacks rights."""


class CatalogLockedError(CatalogError, TimeoutError):
    """Another process held the database's lock for longer than the time-out."""


class CatalogReadOnlyError(CatalogError, PermissionError):
    """The database, its file or its disk is read-only."""


class CatalogOutOfDateError(CatalogError):
    """The database's tables are of another version than this package's.

    Attributes:
        found: the revision of the database's tables, None when they have none.
        wanted: the revision that this package needs.
    """

    def __init__(
        self, message: str, *, found: str | None = None, wanted: str | None = None
    ) -> None:
        super().__init__(message)
        self.found = found
        self.wanted = wanted


class NotACatalogError(CatalogError, ValueError):
    """The database or file is damaged or holds something other than a catalog."""


class JournalError(CatalogError):
    """A fact cannot be noted in an archive's journal, or its recording does not exist."""


class SearchError(CatalogError, ValueError):
    """A condition of a search is malformed or out of range."""


class LabelError(CatalogError, ValueError):
    """A tag or name cannot be given: it is malformed or taken, or the recording does not exist."""
