"""The members of a cluster as a module answers about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aerolog.cluster.protocol import ClusterMembersExtendedResponse, MemberEntry


def members_row(seen: ClusterMembersExtendedResponse) -> dict[str, Any]:
    """What a module answers about its members as JSON."""
    return {
        "current_time_ns": seen.current_time_ns,
        "leader_member_id": seen.leader_member_id,
        "member_id": seen.member_id,
        "members": [
            {name: getattr(one, name) for name in one.LAYOUT.names} for one in seen.active_members
        ],
    }


def endpoints_of(member: MemberEntry) -> tuple[str, ...]:
    """Where a member listens: ingress, consensus, log, catch-up, archive."""
    return (
        member.ingress_endpoint,
        member.consensus_endpoint,
        member.log_endpoint,
        member.catchup_endpoint,
        member.archive_endpoint,
    )
