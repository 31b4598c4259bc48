"""What can be wrong with an export; each text ends with what to do about it."""

from __future__ import annotations

from aerolog.transport.errors import AerologError


class ExportError(AerologError):
    """An export that cannot be done as asked."""


class ExportUnderWayError(ExportError):
    """Another process exports to the same folder."""


class TargetUnreachableError(ExportError, ConnectionError):
    """An object store that does not answer, or does not let us in."""


class TargetMismatchError(ExportError, ValueError):
    """A target holds something else: another recording, another layout, files of somebody."""


class ManifestError(ExportError, ValueError):
    """A manifest that is damaged or of another version."""
