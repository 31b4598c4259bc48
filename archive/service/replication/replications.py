"""Replications: recordings of other archives, copied (spec archive-protocol 15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aerolog.archive import protocol as ap
from aerolog.archive.retention.reader_query import REPLICATION, RecordingReader
from aerolog.archive.service import properties as p
from aerolog.archive.service.replication.replication_order import ReplicationOrder, Request
from aerolog.archive.service.replication.replication_session import ReplicationSession
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.service.conductor.control_session import ControlSession
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.recorder.recordings import Recordings


class Replications:
    """All replications under way; there may be any number.

    Args:
        context: the archive's surroundings.
        recordings: those that are active.
        next_session_id: gives an id that no session of the archive has.
    """

    def __init__(
        self,
        context: ArchiveContext,
        recordings: Recordings,
        next_session_id: Callable[[], int],
    ) -> None:
        self._context = context
        self._recordings = recordings
        self._next_session_id = next_session_id
        self._sessions: dict[int, ReplicationSession] = {}

    @property
    def is_busy(self) -> bool:
        """Whether something is under way that only a turn can bring on."""
        return any(not session.is_following for session in self._sessions.values())

    def handlers(self) -> dict[type[ap.Message], Callable[[ControlSession, Any], int | None]]:
        """What carries each of the requests out."""
        return {
            ap.ReplicateRequest: self.start,
            ap.TaggedReplicateRequest: self.start,
            ap.ReplicateRequest2: self.start,
            ap.StopReplicationRequest: self.stop,
        }

    def start(self, control: ControlSession, request: Request) -> int:
        """Copy a recording of another archive.

        Returns:
            Id of the replication.

        Raises:
            ArchiveError: the request is refused.
            ChannelUriError: the replication channel is none.
        """
        order = ReplicationOrder.of(request, self._context.config[p.REPLICATION_CHANNEL])
        destination = order.dst_recording_id
        if destination != ap.NULL_VALUE:
            if destination not in self._context.catalog:
                raise ArchiveError(
                    ArchiveErrorCode.UNKNOWN_RECORDING,
                    f"unknown destination recording id {destination}",
                )
            if destination in self._recordings.sessions:
                raise ArchiveError(
                    ArchiveErrorCode.ACTIVE_RECORDING,
                    f"cannot replicate to active recording {destination}",
                )
        replication_id = self._next_session_id()
        self._sessions[replication_id] = ReplicationSession(
            self._context, self._recordings, control, order, replication_id
        )
        return replication_id

    def stop(self, _control: ControlSession, request: ap.StopReplicationRequest) -> int:
        """End a replication; what it has copied stays.

        Raises:
            ArchiveError: there is none of that id.
        """
        session = self._sessions.get(request.replication_id)
        if session is None:
            raise ArchiveError(
                ArchiveErrorCode.UNKNOWN_REPLICATION,
                f"unknown replication id {request.replication_id}",
            )
        session.abort()
        return 0

    def readers(self) -> list[RecordingReader]:
        """Recordings that are being made: all of each is needed until it is whole."""
        ids = {session.dst_recording_id for session in self._sessions.values()}
        return [RecordingReader(one, REPLICATION, 0) for one in ids if one != ap.NULL_VALUE]

    def do_work(self, _now_ns: int, _now_ms: int) -> int:
        """Turn every replication."""
        work = 0
        for session in reversed(list(self._sessions.values())):
            work += session.do_work()
            if session.is_done:
                del self._sessions[session.replication_id]
                self._context.reporter.run(session.close)
                work += 1
        return work

    def close(self) -> None:
        """End every replication."""
        while self._sessions:
            _, session = self._sessions.popitem()
            self._context.reporter.run(session.close)
