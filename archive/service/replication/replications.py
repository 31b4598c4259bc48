"""All replications of an archive (spec archive-protocol 15)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.extension_query import REPLICATION, RecordingReader
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
    """The active replications, of which there may be any number.

    Args:
        context: the objects that all parts of the archive use.
        recordings: the active recordings.
        next_session_id: returns an id that no session of the archive has.
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
        """Whether there is work that only ``do_work`` advances."""
        return any(not session.is_following for session in self._sessions.values())

    def handlers(self) -> dict[type[ap.Message], Callable[[ControlSession, Any], int | None]]:
        """Return the handlers of these requests by message class."""
        return {
            ap.ReplicateRequest: self.start,
            ap.TaggedReplicateRequest: self.start,
            ap.ReplicateRequest2: self.start,
            ap.StopReplicationRequest: self.stop,
        }

    def start(self, control: ControlSession, request: Request) -> int:
        """Start to copy a recording of another archive.

        Returns:
            The id of the replication.

        Raises:
            ArchiveError: the request is refused.
            ChannelUriError: the replication channel cannot be parsed.
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

    def stop(self, control: ControlSession, request: ap.StopReplicationRequest) -> None:
        """End a replication and keep what it has copied; the answer comes when it has ended.

        Raises:
            ArchiveError: no replication has this id.
        """
        session = self._sessions.get(request.replication_id)
        if session is None:
            raise ArchiveError(
                ArchiveErrorCode.UNKNOWN_REPLICATION,
                f"unknown replication id {request.replication_id}",
            )
        session.abort(partial(control.send_ok, request.correlation_id))

    def readers(self) -> list[RecordingReader]:
        """Return the recordings that are being made; all of each is needed until it is complete."""
        ids = {session.dst_recording_id for session in self._sessions.values()}
        return [RecordingReader(one, REPLICATION, 0) for one in ids if one != ap.NULL_VALUE]

    def do_work(self, _now_ns: int, _now_ms: int) -> int:
        """Run every replication once."""
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
