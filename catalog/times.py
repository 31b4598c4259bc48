"""Times as options give them, and which recordings they choose.

Until recordings have a time index, a time chooses whole recordings, by the start and stop times of
their descriptors.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from aerolog.archive.files.layout import NULL_TIMESTAMP

if TYPE_CHECKING:
    from aerolog.archive.files.descriptor import RecordingDescriptor

    Time = int | datetime


def epoch_ms(time: Time) -> int:
    """UTC epoch milliseconds.

    Args:
        time: epoch milliseconds, or a datetime; one without a zone is UTC.
    """
    if isinstance(time, int):
        return time
    aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1000)


def is_within(descriptor: RecordingDescriptor, since: Time | None, until: Time | None) -> bool:
    """Whether a recording was going on at some time from ``since`` on and before ``until``.

    Args:
        descriptor: of the recording; an active one has no end yet.
        since: None for no bound.
        until: None for no bound.
    """
    stopped = descriptor.stop_timestamp
    if since is not None and stopped != NULL_TIMESTAMP and stopped < epoch_ms(since):
        return False
    return until is None or descriptor.start_timestamp < epoch_ms(until)
