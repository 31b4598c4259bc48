"""What can be wrong with the database of a catalog; each text ends with what to do about it.

Texts name databases without their passwords.
"""

from __future__ import annotations

from aerolog.transport.errors import AerologError


class CatalogError(AerologError):
    """A SQL catalog that cannot be used as asked."""


class CatalogUrlError(CatalogError, ValueError):
    """A URL that names no database that a catalog can be in."""


class CatalogUnreachableError(CatalogError, ConnectionError):
    """No server answers, the connection broke, or the file cannot be opened."""


class CatalogCredentialsError(CatalogError, PermissionError):
    """The server wants a password, another one, or a user with more rights."""


class CatalogLockedError(CatalogError, TimeoutError):
    """Another process holds the database's lock for longer than was waited."""


class CatalogReadOnlyError(CatalogError, PermissionError):
    """The database, its file or its disk takes no changes."""


class CatalogOutOfDateError(CatalogError):
    """The database has another version of the catalog's tables than this package.

    Attributes:
        found: the revision of its tables, None when there is none.
        wanted: the revision that this package works with.
    """

    def __init__(
        self, message: str, *, found: str | None = None, wanted: str | None = None
    ) -> None:
        super().__init__(message)
        self.found = found
        self.wanted = wanted


class NotACatalogError(CatalogError, ValueError):
    """A database or file that is damaged or holds something else."""


class JournalError(CatalogError):
    """A fact that cannot be noted in an archive's journal, or whose subject does not exist."""


class SearchError(CatalogError, ValueError):
    """A search condition that is malformed or out of range."""


class LabelError(CatalogError, ValueError):
    """A tag or name that cannot be given: malformed, taken, or of a recording that is not there."""
