"""Waiting for what an archive does after it has answered."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

from aerolog.archive.client import RecordingSignal
from aerolog.tools.connection.idle import sleeping_idle
from aerolog.tools.connection.liveness import Watch
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.errors import AeronTimeoutError

if TYPE_CHECKING:
    from aerolog.archive.client import AeronArchive, RecordingSignalEvent

#: An archive deletes one file in a turn of its conductor: patience for each.
_FILE_PATIENCE_S: Final = 0.05


def wait_stopped(archive: AeronArchive, recording_id: int) -> int:
    """The stop position of a recording that has been told to stop.

    Raises:
        AeronTimeoutError: it is still active after the archive's timeout.
    """
    idle = sleeping_idle()
    deadline = Deadline(archive.options.message_timeout)
    while (position := archive.stop_position(recording_id)) is None:
        if deadline.is_over:
            raise AeronTimeoutError(f"recording {recording_id} has not stopped")
        idle(0)
    return position


def wait_recorded(archive: AeronArchive, recording_id: int, position: int) -> None:
    """Returns when the archive has recorded up to a position, or has stopped recording.

    Raises:
        AeronTimeoutError: it does not get on for the archive's timeout.
    """
    idle = sleeping_idle()
    reached = -1
    deadline = Deadline(archive.options.message_timeout)
    while True:
        now = archive.recording_position(recording_id)
        if now is None or now >= position:
            return
        if now > reached:
            reached = now
            deadline = Deadline(archive.options.message_timeout)
        elif deadline.is_over:
            raise AeronTimeoutError(
                f"recording {recording_id} stays at {now}, before position {position}"
            )
        idle(0)


def wait_deleted(archive: AeronArchive, correlation_id: int, files: int) -> None:
    """Returns when the archive has deleted the files of a request.

    Raises:
        ArchiveError: a file could not be deleted.
        AeronTimeoutError: the archive does not say that it is done.
    """
    patience = archive.options.message_timeout + files * _FILE_PATIENCE_S
    wait_for_signal(archive, RecordingSignal.DELETE, correlation_id, patience)


def wait_for_signal(
    archive: AeronArchive, signal: RecordingSignal, correlation_id: int, patience: float
) -> RecordingSignalEvent:
    """The signal that belongs to a request.

    Raises:
        ArchiveError: the archive has reported an error meanwhile.
        AeronTimeoutError: it has not come in ``patience`` seconds.
    """
    watch = Watch(archive.aeron, archive)
    idle = sleeping_idle()
    deadline = Deadline(patience)
    while True:
        events = archive.poll_signals()
        # The signal comes last, even if something went wrong: errors count more.
        watch()
        for event in events:
            if event.signal == signal and event.correlation_id == correlation_id:
                return event
        if deadline.is_over:
            raise AeronTimeoutError(
                f"the archive has not signalled {signal.name} in {patience:g} s; "
                "what was asked for may still go on"
            )
        idle(len(events))


def wait_extended(archive: AeronArchive, correlation_id: int) -> int:
    """The position at which a publication has come to extend a recording, as it was asked to.

    Raises:
        ArchiveError: a publication came that does not continue the recording.
    """
    return wait_for_signal(archive, RecordingSignal.EXTEND, correlation_id, inf).position
