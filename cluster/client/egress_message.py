"""A message of a service to a session of a client."""

from __future__ import annotations

from typing import NamedTuple


class EgressMessage(NamedTuple):
    """A message of a service to this session.

    Attributes:
        data: what the service sent.
        timestamp: the cluster's time of the event that the service answered, in its time unit.
        leadership_term_id: the leader's term.
        position: the position behind it in the egress stream of the leader that sent it.
    """

    data: bytes
    timestamp: int
    leadership_term_id: int
    position: int
