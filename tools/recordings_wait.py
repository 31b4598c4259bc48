"""Waiting for what an archive does after it has answered."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from aerolog.tools.following import Idle
from aerolog.transport.errors import AeronTimeoutError

if TYPE_CHECKING:
    from aerolog.archive.client import AeronArchive


def wait_stopped(archive: AeronArchive, recording_id: int) -> int:
    """The stop position of a recording that has been told to stop.

    Raises:
        AeronTimeoutError: it is still active after the archive's timeout.
    """
    idle = Idle()
    deadline = time.monotonic() + archive.options.message_timeout
    while (position := archive.stop_position(recording_id)) is None:
        if time.monotonic() > deadline:
            raise AeronTimeoutError(f"recording {recording_id} has not stopped")
        idle(0)
    return position


def wait_recorded(archive: AeronArchive, recording_id: int, position: int) -> None:
    """Returns when the archive has recorded up to a position, or has stopped recording.

    Raises:
        AeronTimeoutError: it does not get on for the archive's timeout.
    """
    idle = Idle()
    reached = -1
    deadline = time.monotonic() + archive.options.message_timeout
    while True:
        now = archive.recording_position(recording_id)
        if now is None or now >= position:
            return
        if now > reached:
            reached = now
            deadline = time.monotonic() + archive.options.message_timeout
        elif time.monotonic() > deadline:
            raise AeronTimeoutError(
                f"recording {recording_id} stays at {now}, before position {position}"
            )
        idle(0)
