"""What can go wrong while Spark reads recordings; each text names recording and position."""

from __future__ import annotations

from aerolog.transport.errors import RecordingChangedError, RecordingDamagedError


class DataLostError(RecordingChangedError):
    """Data that a stream has not read yet was purged or truncated, or its recording is gone."""


class RejectedMessageError(RecordingDamagedError):
    """A message that cannot be decoded, where it was asked to fail then."""


class ChecksumMismatchError(RecordingDamagedError):
    """A frame in checksummed data that is not what was recorded."""
