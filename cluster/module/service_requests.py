"""What services ask for: messages, timers, ends of sessions, members (spec cluster 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.cluster.errors import ClusterError
from aerolog.cluster.protocol import (
    SESSION_HEADER_LENGTH,
    CancelTimer,
    CloseReason,
    CloseSession,
    ClusterMembersExtendedResponse,
    ClusterMembersQuery,
    ClusterMembersResponse,
    MemberEntry,
    ScheduleTimer,
    SessionMessageHeader,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aerolog.cluster.module.members import Member
    from aerolog.cluster.module.parts import ModuleParts


class ServiceRequests:
    """Takes the requests of services.

    Args:
        parts: the parts of the module.
        members: returns all members, with what is known of them at a time of the cluster in ns.
    """

    def __init__(self, parts: ModuleParts, members: Callable[[int], Iterable[Member]]) -> None:
        self._context = parts.context
        self._services = parts.services
        self._sessions = parts.sessions
        self._state = parts.state
        self._members = members

    def poll(self) -> int:
        """Take what services have sent; returns how many requests."""
        work = 0
        for message, data in self._services.poll():
            work += 1
            match message:
                case SessionMessageHeader():
                    # The service names itself in the session id.
                    self._on_service_message(message.cluster_session_id, data)
                case ScheduleTimer():
                    self._state.timers.schedule(message.correlation_id, message.deadline)
                case CancelTimer():
                    self._state.timers.cancel(message.correlation_id)
                case CloseSession():
                    self._sessions.ask_close(message.cluster_session_id, CloseReason.SERVICE_ACTION)
                case ClusterMembersQuery():
                    self._on_members_query(message)
        return work

    def _on_service_message(self, session_id: int, data: bytes) -> None:
        if not 0 <= session_id < len(self._state.pending):
            self._context.reporter.error(
                ClusterError(f"message of service {session_id}, which the node does not have"),
                "message of an unknown service",
            )
            return
        self._state.pending[session_id].add(data[SESSION_HEADER_LENGTH:])

    def _on_members_query(self, query: ClusterMembersQuery) -> None:
        context = self._context
        if not query.extended:
            self._services.reply(
                ClusterMembersResponse(
                    correlation_id=query.correlation_id,
                    leader_member_id=context.leader_member_id,
                    active_members=context.members_string,
                )
            )
            return
        now_ns = context.cluster_time() * context.config.time_unit_ns
        self._services.reply(
            ClusterMembersExtendedResponse(
                correlation_id=query.correlation_id,
                current_time_ns=now_ns,
                leader_member_id=context.leader_member_id,
                member_id=context.config.member.member_id,
                active_members=tuple(
                    MemberEntry(
                        leadership_term_id=each.leadership_term_id,
                        log_position=each.log_position,
                        time_of_last_append_ns=each.time_of_last_append_ns,
                        member_id=each.member_id,
                        ingress_endpoint=each.ingress,
                        consensus_endpoint=each.consensus,
                        log_endpoint=each.log,
                        catchup_endpoint=each.catchup,
                        archive_endpoint=each.archive,
                    )
                    for each in self._members(now_ns)
                ),
            )
        )
