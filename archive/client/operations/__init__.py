"""Everything that an archive can be asked for, written once for both forms of client."""

from __future__ import annotations

from aerolog.archive.client.operations.query_operations import QueryOperations
from aerolog.archive.client.operations.reader_operations import ReaderOperations
from aerolog.archive.client.operations.recording_operations import RecordingOperations
from aerolog.archive.client.operations.replay_operations import ReplayOperations
from aerolog.archive.client.operations.replication_operations import ReplicationOperations
from aerolog.archive.client.operations.session_operations import SessionOperations
from aerolog.archive.client.operations.signal_operations import HappeningOperations
from aerolog.archive.client.operations.storage_operations import StorageOperations
from aerolog.archive.client.operations.time_operations import TimeOperations

__all__ = ["ArchiveOperations"]


class ArchiveOperations(
    RecordingOperations,
    ReplayOperations,
    QueryOperations,
    TimeOperations,
    ReaderOperations,
    HappeningOperations,
    StorageOperations,
    ReplicationOperations,
    SessionOperations,
):
    """The operations of `AeronArchive`, which waits, and of `AsyncAeronArchive`, which is awaited.

    Each raises ArchiveError when the archive refuses, AeronTimeoutError when it does not answer
    within ``message_timeout``, NotConnectedError when it has gone, BackPressuredError when it does
    not take the request, ResourceClosedError on a client that is closed or was found disconnected,
    and ReentrantCallError when called from a signal handler.
    """
