"""The consensus of a cluster of one member, which has its quorum at once (spec cluster 13)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.cluster.counter_types import ModuleState, Role
from aerolog.cluster.module.election import Election
from aerolog.cluster.module.event_log import ClusterEventCode
from aerolog.cluster.module.extension import ControlState
from aerolog.cluster.module.flow import NOTHING
from aerolog.transport.text_output import logger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aerolog.cluster.module.ingress_streams import Ingress
    from aerolog.cluster.module.log_publisher import LogPublisher
    from aerolog.cluster.module.members import Member
    from aerolog.cluster.module.node_control import NodeControl
    from aerolog.cluster.module.parts import ModuleParts
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.client.subscription import Subscription

_LOG: Final = logger("aerolog.cluster")
_NODE_STARTED: Final = "node started"
#: The reference's text; what follows is about members that follow a leader.
_LOG_STOPPED: Final = "log recording stopped: eos=false"


class LoneMember:
    """The member leads every term, and what is recorded of the log is committed.

    The native part moves the commit position to that of the recording. A term ends with the
    recording of its log.

    Args:
        parts: the parts of the module.
        ingress: is opened for the first term.
        control: serves operators while the node leads.
    """

    def __init__(self, parts: ModuleParts, ingress: Ingress, control: NodeControl) -> None:
        self._parts = parts
        self._context = parts.context
        self._ingress = ingress
        self._control = control
        self._log_subscription: Subscription | None = None

    def elect(self, append_position: int) -> Steps[None]:
        """Lead the first term of a node that has recovered."""
        return self._become_leader(append_position, _NODE_STARTED)

    def poll(self) -> int:
        """Pass over what is sent, since there are no other members and no backups."""
        return self._parts.stream.poll(lambda _message: None)

    def check_term(self) -> int:
        """Elect again when the recording of the log has ended: nothing is committed without it."""
        parts, log = self._parts, self._context.log
        if not parts.steady.is_log_ended or log is None:
            return 0
        if parts.status.state is ModuleState.TERMINATING:
            return 0  # that ends by its timeout
        parts.steady.follow()
        interrupted = parts.flow.interrupt()
        parts.flow.begin(self._lead_again(log, self._log_subscription, interrupted))
        self._context.log = self._log_subscription = None
        parts.sessions.end_term()
        return 1

    def members(self, now_ns: int) -> Iterable[Member]:
        """Return the member, whose log is committed as far as it is recorded."""
        context = self._context
        own = context.config.member
        own.leadership_term_id = context.leadership_term_id
        own.log_position = context.counters.commit_position.value
        own.time_of_last_append_ns = now_ns
        return context.config.members.values()

    def close(self) -> None:
        """Close the log."""
        if self._context.log is not None:
            self._context.log.publication.close()
        if self._log_subscription is not None:
            self._log_subscription.close()

    def _lead_again(
        self,
        old_log: LogPublisher,
        old_subscription: Subscription | None,
        interrupted: Steps[None] | None,
    ) -> Steps[None]:
        """Go on in a new term, which begins where the recording of the last one has ended.

        Services read the old log up to there, and join the new one then.
        """
        parts, context = self._parts, self._context
        context.counters.role.value = Role.FOLLOWER
        context.events.log(ClusterEventCode.ROLE_CHANGE, (Role.LEADER, Role.FOLLOWER))
        self._control.disable()
        position = yield from parts.recording.end()
        context.reporter.event(_LOG_STOPPED)
        context.counters.commit_position.propose_max(position)
        parts.state.log_position = position
        context.uncommitted.roll_back(position)
        if interrupted is not None and parts.flow.awaited_position <= position:
            yield from interrupted
            if parts.status.state is ModuleState.CLOSED:
                return
        elif interrupted is not None:
            # The log has lost the request, whose toggle asks for it again in the next term.
            interrupted.close()
            parts.status.set(ModuleState.ACTIVE)
        parts.flow.awaited_position = NOTHING
        yield from self._become_leader(position, _LOG_STOPPED)
        old_log.publication.close()
        if old_subscription is not None:
            old_subscription.close()

    def _become_leader(self, append_position: int, reason: str) -> Steps[None]:
        """Win an election, and open the ingress if it is not open yet.

        Args:
            append_position: where the recorded log ends, and the new term begins.
            reason: why there is an election.
        """
        parts, context = self._parts, self._context
        election = Election(parts, append_position, is_startup=reason is _NODE_STARTED)
        yield from election.lead_alone(reason)
        assert election.log is not None
        assert election.recorded is not None
        context.log = election.log
        parts.recording.begin_term(election.recorded.recording_id, election.recording_request)
        context.is_leader = True
        parts.sessions.begin_term(context.clock.now_ns())
        if not self._ingress.is_open:
            yield from self._ingress.open()
        parts.steady.lead(
            context.leadership_term_id,
            election.log.publication,
            context.aeron.conductor.counters,
            election.recorded.counter.counter_id,
            election.recorded.counter.registration_id,
            context.counters.commit_position.counter_id,
        )
        self._control.enable()
        self._log_subscription = election.log_subscription
        parts.extension.complete_election(
            ControlState(
                True,
                context.leadership_term_id,
                election.recorded.recording_id,
                election.log.publication,
                election.log_subscription,
            )
        )
        election.close()
        parts.steady.take_ingress(parts.status.state is not ModuleState.SUSPENDED)
        _LOG.debug("member %d leads term %d", context.leader_member_id, context.leadership_term_id)
