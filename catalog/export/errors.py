"""Errors of exports. Each text ends with what to do."""

from __future__ import annotations

from aerolog.transport.errors import AerologError


class ExportError(AerologError):
    """An export that cannot be done as asked."""


class ExportUnderWayError(ExportError):
    """Another process exports to the same folder."""


class TargetUnreachableError(ExportError, ConnectionError):
    """An object store does not answer, or it denies access."""


class TargetMismatchError(ExportError, ValueError):
    """A target holds something else: another recording, another layout, or files of no export."""


class ManifestError(ExportError, ValueError):
    """A manifest that is damaged or of another version."""
