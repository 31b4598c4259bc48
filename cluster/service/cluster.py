"""What a service sees of its cluster (spec cluster 11)."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import Buffer

    from aerolog.cluster.counter_types import Role
    from aerolog.cluster.protocol import ClusterTimeUnit
    from aerolog.cluster.service.client_session import ClientSession
    from aerolog.cluster.service.options import ServiceContainerOptions
    from aerolog.cluster.service.service_agent import ServiceAgent
    from aerolog.transport.client import Aeron
    from aerolog.transport.client.status import OfferStatus


class Cluster:
    """The cluster, for its service; only the service's own methods may call it."""

    def __init__(self, agent: ServiceAgent) -> None:
        self._agent = agent
        self._random = Random()  # noqa: S311 - no secret, and the same on all members
        self._random_position = -1

    # -- equal on all members --------------------------------------------------------------------

    @property
    def time(self) -> int:
        """The cluster's time, in `time_unit`: the timestamp of the event that is processed.

        Raises:
            ClusterError: in ``on_session_messages``, where each message has its own.
        """
        self._agent.check_single("time", "timestamp")
        return self._agent.time

    @property
    def time_unit(self) -> ClusterTimeUnit:
        """The unit of timestamps and deadlines; known from the first event of the log on."""
        return self._agent.time_unit

    @property
    def log_position(self) -> int:
        """The log's position behind the event that is processed.

        Raises:
            ClusterError: in ``on_session_messages``, where each message has its own.
        """
        self._agent.check_single("log_position", "position")
        return self._agent.log_position

    @property
    def leadership_term_id(self) -> int:
        """The leader's term."""
        return self._agent.leadership_term_id

    @property
    def sessions(self) -> Mapping[int, ClientSession]:
        """The open sessions by their ids, in the order in which they were opened."""
        return self._agent.sessions

    @property
    def random(self) -> Random:
        """Random numbers that are the same on all members and at each replay.

        They are seeded anew for each event, by its position in the log.

        Raises:
            ClusterError: in ``on_session_messages``; use `random_at` there.
        """
        position = self.log_position
        if position != self._random_position:
            self._random_position = position
            self._random.seed(self._seed(position))
        return self._random

    def random_at(self, position: int) -> Random:
        """Random numbers for the message at a position, the same as `random` gives for it."""
        return Random(self._seed(position))  # noqa: S311 - no secret

    def _seed(self, position: int) -> int:
        options = self._agent.options
        return (position << 40) | (options.cluster_id & 0xFFFFFFFF) << 8 | options.service_id

    # -- of this member --------------------------------------------------------------------------

    @property
    def member_id(self) -> int:
        """This member; -1 before the first log is joined."""
        return self._agent.member_id

    @property
    def role(self) -> Role:
        """What this member is; the state may not depend on it."""
        return self._agent.role

    @property
    def aeron(self) -> Aeron:
        """The container's transport client."""
        return self._agent.aeron

    @property
    def options(self) -> ServiceContainerOptions:
        """The container's options."""
        return self._agent.options

    # -- requests --------------------------------------------------------------------------------

    def schedule_timer(self, correlation_id: int, deadline: int) -> None:
        """Schedule a timer, or move the one that has this id; ``on_timer`` gets the id.

        Args:
            correlation_id: any 64-bit number; a snapshot keeps it.
            deadline: the cluster's time, in `time_unit`.

        Raises:
            ClusterError: called where no event of the log is processed, as in ``on_start``.
        """
        self._agent.schedule_timer(correlation_id, deadline)

    def cancel_timer(self, correlation_id: int) -> None:
        """Take a timer back; an unknown one is no error."""
        self._agent.cancel_timer(correlation_id)

    def offer(self, data: Buffer) -> int | OfferStatus:
        """Offer a message to the log, without waiting.

        Every member's service has to offer it; it comes back once, with None for the session.

        Returns:
            A position, or the OfferStatus that says why not; then offer it again.
        """
        return self.offer_vectors((data,))

    def offer_vectors(self, parts: Iterable[Buffer]) -> int | OfferStatus:
        """Offer a message that is made of parts to the log; see `offer`."""
        return self._agent.offer_to_log(parts)

    def send(self, data: Buffer) -> int:
        """Offer a message to the log until it is taken."""
        while (result := self.offer(data)) <= 0:
            self.idle()
        return int(result)

    def session(self, session_id: int) -> ClientSession | None:
        """Return an open session, None where there is no such session."""
        return self._agent.sessions.get(session_id)

    def close_session(self, session_id: int) -> bool:
        """Ask for a session's end; False when that was asked before.

        Raises:
            ClusterError: there is no such session.
        """
        return self._agent.close_session(self._agent.session(session_id))

    def idle(self, work_count: int = 0) -> None:
        """Wait a little, in a loop inside of the service; signs of life go on meanwhile."""
        self._agent.idle(work_count)
