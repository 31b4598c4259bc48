"""The replicated state of a module: what a log or a snapshot rebuilds (spec cluster 10, 16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.cluster.errors import ClusterError
from aerolog.cluster.module import properties as p
from aerolog.cluster.module.event_log import ClusterEventCode
from aerolog.cluster.module.extension import ControlState, ExtensionMessage, extension_call
from aerolog.cluster.module.pending_messages import PendingMessages, service_of
from aerolog.cluster.module.session import Session
from aerolog.cluster.module.timers import timers_of
from aerolog.cluster.protocol import (
    NULL_VALUE,
    SCHEMA,
    SESSION_HEADER_LENGTH,
    ClusterSession,
    ConsensusModule,
    NewLeadershipTermEvent,
    PendingMessageTracker,
    SessionCloseEvent,
    SessionMessageHeader,
    SessionOpenEvent,
    Timer,
    TimerEvent,
    semantic_version_major,
    semantic_version_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.cluster.module.module_context import ModuleContext
    from aerolog.cluster.module.sessions import Sessions
    from aerolog.cluster.protocol import Message


class ReplicatedState:
    """Sessions, timers and pending messages, changed by events of the log in their order.

    Attributes:
        sessions: all sessions.
        timers: all timers.
        pending: the queues of the services' own messages, by service.
        log_position: where the log was read to, bytes.
        recording_id: the recording that is read, -1 before.
    """

    def __init__(self, context: ModuleContext, sessions: Sessions) -> None:
        self._context = context
        self.sessions = sessions
        self.timers = timers_of(context.config)
        self.pending = [PendingMessages(i) for i in range(context.config[p.SERVICE_COUNT])]
        self.log_position = 0
        self.recording_id = NULL_VALUE

    # -- the log ---------------------------------------------------------------------------------

    def on_log(self, data: bytes, position: int) -> Message | None:
        """Change by an event that a replay brings, and return the event.

        Args:
            data: the event.
            position: where it ends in the log, bytes.

        Raises:
            ClusterError: the log belongs to another application version or time unit.
        """
        extension = self._context.extension
        foreign = None if extension is None else ExtensionMessage.found_in(data, position)
        if extension is not None and foreign is not None:
            with extension_call("on_log_message"):
                extension.on_log_message(foreign)
            self.log_position = position
            return None
        event = SCHEMA.decode(data)
        match event:
            case SessionMessageHeader():
                if event.cluster_session_id < 0:
                    self._pending_of(event.cluster_session_id).on_log_message(
                        event.cluster_session_id
                    )
            case SessionOpenEvent():
                self.sessions.on_log_open(event, position)
            case SessionCloseEvent():
                self.sessions.on_log_close(event.cluster_session_id, event.close_reason)
            case TimerEvent():
                self.timers.on_timer_event(event.correlation_id)
            case NewLeadershipTermEvent():
                self._context.events.log(
                    ClusterEventCode.REPLAY_NEW_LEADERSHIP_TERM,
                    True,
                    event.leadership_term_id,
                    event.log_position,
                    event.term_base_log_position,
                    event.app_version,
                    event.timestamp,
                    event.time_unit,
                )
                self._check_term(event)
                self._context.leadership_term_id = event.leadership_term_id
                if extension is not None:
                    term = ControlState(False, event.leadership_term_id, self.recording_id)
                    with extension_call("on_new_leadership_term"):
                        extension.on_new_leadership_term(term)
        self.log_position = position
        return event

    def _pending_of(self, session_id: int) -> PendingMessages:
        service_id = service_of(session_id)
        if service_id >= len(self.pending):
            raise ClusterError(
                f"the log has messages of service {service_id}, and aeron.cluster.service.count is"
                f" {len(self.pending)}"
            )
        return self.pending[service_id]

    def _check_term(self, event: NewLeadershipTermEvent) -> None:
        config = self._context.config
        if event.time_unit != config.time_unit:
            raise ClusterError(
                f"incompatible timestamp units: {config.time_unit.name} log={event.time_unit.name}:"
                " set aeron.cluster.clock"
            )
        self.check_version(event.app_version, "log")

    def check_version(self, version: int, where: str) -> None:
        """Check that the services can read what another version of them wrote.

        Raises:
            ClusterError: the major versions differ.
        """
        own = self._context.config[p.APP_VERSION]
        if semantic_version_major(version) != semantic_version_major(own):
            raise ClusterError(
                f"incompatible version: {semantic_version_text(own)} {where}="
                f"{semantic_version_text(version)}"
            )

    # -- snapshots -------------------------------------------------------------------------------

    def snapshot(self) -> Iterator[bytes]:
        """Give the messages of a snapshot, in the reference's order."""
        first = self.pending[0] if self.pending else None
        yield ConsensusModule(
            next_session_id=self.sessions.next_session_id,
            next_service_session_id=0 if first is None else first.next_service_session_id,
            log_service_session_id=0 if first is None else first.log_service_session_id,
        ).encode()
        for session in self.sessions.open.values():
            yield ClusterSession(
                cluster_session_id=session.session_id,
                correlation_id=session.correlation_id,
                opened_log_position=session.opened_log_position,
                time_of_last_activity=NULL_VALUE,
                close_reason=session.close_reason,
                response_stream_id=session.response_stream_id,
                response_channel=session.response_channel,
            ).encode()
        for correlation_id, deadline in self.timers:
            yield Timer(correlation_id=correlation_id, deadline=deadline).encode()
        for pending in self.pending:
            yield PendingMessageTracker(
                next_service_session_id=pending.next_service_session_id,
                log_service_session_id=pending.log_service_session_id,
                service_id=pending.service_id,
            ).encode()
            for session_id, payload in pending:
                header = SessionMessageHeader(
                    leadership_term_id=NULL_VALUE, cluster_session_id=session_id
                )
                yield header.encode() + payload

    def restore(self, data: bytes) -> None:
        """Take a message of a snapshot."""
        message = SCHEMA.decode(data)
        match message:
            case ConsensusModule():
                self.sessions.next_session_id = message.next_session_id
                if self.pending:
                    self.pending[0].restore(
                        message.next_service_session_id, message.log_service_session_id
                    )
            case ClusterSession():
                session = Session(
                    message.cluster_session_id,
                    message.correlation_id,
                    message.response_stream_id,
                    message.response_channel,
                )
                session.close_reason = message.close_reason
                self.sessions.restore(session, message.opened_log_position)
            case Timer():
                self.timers.schedule(message.correlation_id, message.deadline)
            case PendingMessageTracker():
                if message.service_id < len(self.pending):
                    self.pending[message.service_id].restore(
                        message.next_service_session_id, message.log_service_session_id
                    )
            case SessionMessageHeader():
                self._pending_of(message.cluster_session_id).restore_message(
                    message.cluster_session_id, data[SESSION_HEADER_LENGTH:]
                )
