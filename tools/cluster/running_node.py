"""A node that runs: its counters, what it answers, and what it can be asked to do.

An operator asks by a toggle: a counter of the node that is set from NEUTRAL to what is wanted, and
that the node sets back when it has done it (spec cluster 19, spec cluster 21).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.cluster.counter_types import (
    CLUSTER_KEY,
    ClusterCounterType,
    ElectionState,
    ModuleState,
    NodeToggle,
    Role,
    Toggle,
)
from aerolog.cluster.errors import ClusterError
from aerolog.cluster.protocol import SCHEMA, ClusterMembersExtendedResponse, ClusterMembersQuery
from aerolog.tools.cluster.requests import RefusedError
from aerolog.tools.connection.clients import CLIENT_NAME, note_error
from aerolog.tools.connection.idle import sleeping_idle
from aerolog.transport.client import Aeron
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.errors import MessageFormatError
from aerolog.transport.protocol.sbe import BooleanType
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from aerolog.cluster.protocol import MarkFileHeader
    from aerolog.tools.cluster.requests import Request

#: How long a node is given to do what it was asked for, as the reference's tool gives it.
DONE_TIMEOUT_S: Final = 30.0
_POLL_LIMIT: Final = 10


class RunningNode(Resource):
    """A node by its module's mark file, on a client of its own; a context manager.

    Args:
        header: of the mark file.
        timeout_s: how long the module is given for an answer, seconds.

    Attributes:
        timeout_s: as given.

    Raises:
        DriverTimeoutError: no driver runs in the directory that the mark file names.
    """

    def __init__(self, header: MarkFileHeader, timeout_s: float) -> None:
        self.header = header
        self.aeron = Aeron(header.aeron_directory, name=CLIENT_NAME, on_error=note_error)
        self.timeout_s = timeout_s
        self._counters = self.aeron.conductor.counters
        self._key = CLUSTER_KEY.numbers.pack(header.cluster_id)

    def close(self) -> None:
        """Close the client."""
        self.aeron.close()

    # -- what it says ------------------------------------------------------------------------------

    def value(self, type_id: int) -> int | None:
        """The value of a counter of the node's cluster; None when there is none of that type."""
        found = self._find(type_id)
        return None if found is None else self._counters.counter_value(found)

    def set_value(self, type_id: int, value: int) -> None:
        """Set a counter, where the node has one of that type."""
        found = self._find(type_id)
        if found is not None:
            self._counters.set_value(found, value)

    def _find(self, type_id: int) -> int | None:
        for info in self._counters:
            if info.type_id == type_id and info.key.startswith(self._key):
                return info.counter_id
        return None

    @property
    def is_leader(self) -> bool:
        """Whether the node leads, and no election is under way."""
        return (
            self.value(ClusterCounterType.NODE_ROLE) == Role.LEADER
            and self.value(ClusterCounterType.ELECTION_STATE) == ElectionState.CLOSED
        )

    @property
    def has_ended(self) -> bool:
        """Whether the node's driver or its module has ended since this client was made."""
        state = self.value(ClusterCounterType.MODULE_STATE)
        return self.aeron.closed or state is None or state == ModuleState.CLOSED

    def members(self) -> ClusterMembersExtendedResponse | None:
        """The members as the module knows them; None when it does not answer in time."""
        header, idle, deadline = self.header, sleeping_idle(), Deadline(self.timeout_s)
        correlation_id = self.aeron.next_correlation_id()
        query = ClusterMembersQuery(correlation_id=correlation_id, extended=BooleanType.TRUE)
        channel = header.control_channel
        with (
            self.aeron.add_subscription(channel, header.service_stream_id) as answers,
            self.aeron.add_publication(channel, header.consensus_module_stream_id) as queries,
        ):
            is_asked = False
            while not deadline.is_over:
                is_asked = is_asked or queries.offer(query.encode()) > 0
                work = 0
                for received in answers.poll_messages(_POLL_LIMIT):
                    work += 1
                    try:
                        message = SCHEMA.decode(received.data)
                    except MessageFormatError:
                        continue  # not the module's: every program beside the driver can send some
                    if (
                        isinstance(message, ClusterMembersExtendedResponse)
                        and message.correlation_id == correlation_id
                    ):
                        return message
                idle(work)
        return None

    # -- what it is asked for ----------------------------------------------------------------------

    def check(self, request: Request) -> int:
        """Whether the node can be asked; returns its member id.

        Raises:
            RefusedError: it does not answer, does not lead, or its state is another one.
        """
        name = request.toggle.name
        is_for_leader = request.type_id == ClusterCounterType.CONTROL_TOGGLE
        seen = self.members()
        if seen is None:
            raise RefusedError(
                "Timed out querying cluster.",
                f"the consensus module does not answer within {self.timeout_s:g} s: see whether it"
                " works with aerolog doctor",
            )
        prefix = f"Member [{seen.member_id}]: "
        if is_for_leader and seen.leader_member_id != seen.member_id:
            leader = seen.leader_member_id
            who = f"member {leader} does: ask its node" if leader >= 0 else "there is no leader yet"
            raise RefusedError(
                f"{prefix}Current node is not the leader (leaderMemberId = {leader}), unable to"
                f" {name}",
                f"member {seen.member_id} does not lead the cluster, {who}",
            )
        value = self.value(ClusterCounterType.MODULE_STATE)
        state = _name(ModuleState, value)
        if value != request.needed:
            raise RefusedError(
                f"{prefix}Unable to {name} as the state of the consensus module is {state}, but"
                f" needs to be {request.needed.name}",
                f"the consensus module is {state}, and has to be {request.needed.name}",
            )
        return seen.member_id

    def ask(self, request: Request, member_id: int) -> None:
        """Set the toggle.

        Raises:
            RefusedError: it is set already, or not there.
            ClusterError: its value means nothing.
        """
        found = self._find(request.type_id)
        if found is not None and self._counters.compare_and_set(
            found, request.before, request.toggle
        ):
            return
        value = None if found is None else self._counters.counter_value(found)
        now = _name(type(request.toggle), value)
        if now == str(value):
            raise ClusterError(f"invalid toggle value: {value}")
        raise RefusedError(
            f"Member [{member_id}]: Failed to apply {request.toggle.name}, current toggle value ="
            f" {now}",
            f"the node does something else that it was asked for: its toggle is {now}",
        )

    def await_done(self, request: Request, member_id: int, *, by_state: bool) -> None:
        """Wait until the node has done what it was asked for.

        Args:
            request: what that was.
            member_id: who was asked.
            by_state: also wait for the state that the module then has; the reference's tool waits
                for toggles only.

        The wait ends as well when the node has ended, which `has_ended` says.

        Raises:
            RefusedError: it has not within `DONE_TIMEOUT_S`.
        """
        deadline, idle = Deadline(DONE_TIMEOUT_S), sleeping_idle()
        goal = request.goal
        if goal is not None and not by_state:
            return
        while True:
            if goal is None:
                value = self.value(request.type_id)
                is_done = value is None or value != request.toggle
            else:
                state = self.value(ClusterCounterType.MODULE_STATE)
                is_done = state == goal
            if is_done or self.has_ended:
                return
            if deadline.is_over:
                milliseconds = int(DONE_TIMEOUT_S * 1000)
                raise RefusedError(
                    f"Member [{member_id}]: Timed out after {milliseconds}ms waiting for"
                    f" {request.toggle.name} to complete.",
                    f"the node has not done it within {DONE_TIMEOUT_S:g} s, and may still: aerolog"
                    " doctor and aerolog stat tell what it waits for",
                )
            idle(0)


def _name(names: type[ModuleState | Toggle | NodeToggle], value: int | None) -> str:
    return names(value).name if value in list(names) else str(value)
