"""Errors of reading recordings in Spark; each text names recording and position."""

from __future__ import annotations

from aerolog.transport.errors import RecordingChangedError, RecordingDamagedError


class DataLostError(RecordingChangedError):
    """Data that a stream has not read yet was purged or truncated, or the recording is gone."""


class RejectedMessageError(RecordingDamagedError):
    """A message cannot be decoded, and the options ask to fail then."""


class ChecksumMismatchError(RecordingDamagedError):
    """A frame in checksummed data differs from what was recorded."""
