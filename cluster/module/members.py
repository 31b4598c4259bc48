"""The members of a cluster and the strings that name them (spec cluster 20)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aerolog.transport.errors import ConfigurationError

_PARTS_MIN: Final = 6
_PARTS_MAX: Final = 8


@dataclass(slots=True, kw_only=True)
class Member:
    """A member, and what this node knows of it.

    Attributes:
        member_id: the member's id.
        ingress, consensus, log, catchup, archive: its endpoints, each HOST:PORT.
        archive_response, egress_response: further endpoints, empty where there are none.
        leadership_term_id: the term that it last told of, -1 before.
        log_position: how much of the log it has, bytes, -1 before it told.
        time_of_last_append_ns: when it told that, the cluster's time; -1 before.
    """

    member_id: int
    ingress: str
    consensus: str
    log: str
    catchup: str
    archive: str
    archive_response: str = ""
    egress_response: str = ""
    leadership_term_id: int = -1
    log_position: int = -1
    time_of_last_append_ns: int = -1

    @property
    def endpoints(self) -> str:
        """All endpoints, separated by commas, as in the members string."""
        parts = [self.ingress, self.consensus, self.log, self.catchup, self.archive]
        parts += filter(None, (self.archive_response, self.egress_response))
        return ",".join(parts)


def parse_members(text: str) -> dict[int, Member]:
    """Read a members string: members by id, in the order of the string.

    Raises:
        ConfigurationError: a part is not of the form.
    """
    found: dict[int, Member] = {}
    for entry in filter(None, text.split("|")):
        parts = entry.split(",")
        if not _PARTS_MIN <= len(parts) <= _PARTS_MAX:
            raise ConfigurationError(
                f"invalid member value: {entry} within: {text}: a member is"
                " ID,INGRESS,CONSENSUS,LOG,CATCHUP,ARCHIVE"
            )
        try:
            member_id = int(parts[0])
        except ValueError:
            raise ConfigurationError(
                f"invalid member id {parts[0]!r} within: {text}: it is a number"
            ) from None
        if member_id in found:
            raise ConfigurationError(f"member id {member_id} stands twice within: {text}")
        rest = [*parts[1:], "", ""]
        found[member_id] = Member(
            member_id=member_id,
            ingress=rest[0],
            consensus=rest[1],
            log=rest[2],
            catchup=rest[3],
            archive=rest[4],
            archive_response=rest[5],
            egress_response=rest[6],
        )
    return found


def members_string(members: dict[int, Member]) -> str:
    """Write members as ``parse_members`` reads them."""
    return "|".join(f"{each.member_id},{each.endpoints}" for each in members.values())


def ingress_endpoints(members: dict[int, Member]) -> str:
    """Write where clients reach each member: ``ID=HOST:PORT,...``."""
    return ",".join(f"{each.member_id}={each.ingress}" for each in members.values())


def quorum_threshold(member_count: int) -> int:
    """Return how many members are a majority."""
    return member_count // 2 + 1


def quorum_position(positions: list[int]) -> int:
    """Return the position that a majority of the members has reached."""
    return sorted(positions, reverse=True)[quorum_threshold(len(positions)) - 1]
