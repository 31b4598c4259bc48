"""The consensus module's agent: its duty cycle, and what the steady state needs Python for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.cluster.counter_types import ModuleState
from aerolog.cluster.errors import ClusterError
from aerolog.cluster.module import properties as p
from aerolog.cluster.module.consensus import Consensus, ConsensusStream
from aerolog.cluster.module.due_events import append_due_events
from aerolog.cluster.module.extension import extension_of
from aerolog.cluster.module.extension_turns import ExtensionTurns
from aerolog.cluster.module.flow import Flow
from aerolog.cluster.module.ingress_streams import Ingress
from aerolog.cluster.module.log_recording import LogRecording
from aerolog.cluster.module.lone_member import LoneMember
from aerolog.cluster.module.module_status import ModuleStatus
from aerolog.cluster.module.node_control import NodeControl
from aerolog.cluster.module.parts import ModuleParts
from aerolog.cluster.module.recovery import Recovery
from aerolog.cluster.module.replicated_state import ReplicatedState
from aerolog.cluster.module.service_requests import ServiceRequests
from aerolog.cluster.module.services import Services
from aerolog.cluster.module.sessions import Sessions
from aerolog.cluster.module.steady_agent import SteadyAgent
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.cluster.files import ClusterMarkFile
    from aerolog.cluster.module.module_context import ModuleContext
    from aerolog.transport.agents.doorbell import Doorbell
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.security.authentication import Authenticator, AuthorisationService

MARK_INTERVAL_NS: Final = NS_PER_S
BUSY_INTERVAL_NS: Final = NS_PER_MS
IDLE_INTERVAL_NS: Final = 50_000_000
#: A thread that did not run for so long was stopped, or waited for the interpreter.
STANDSTILL_NS: Final = 500_000_000


class ModuleAgent(SteadyAgent):
    """Runs a node's consensus module on one thread.

    Recovery, election, snapshots and the end are steps, of which each duty cycle carries out some.

    Args:
        context: what all parts of the module use.
        mark_file: receives the module's signs of life.
        authenticator: decides which clients may connect.
        authorisation: decides who may have a snapshot taken.
        doorbell: rung to have `control` called.
        on_terminated: called when the cluster has ended in good order.
    """

    def __init__(
        self,
        context: ModuleContext,
        mark_file: ClusterMarkFile,
        authenticator: Authenticator,
        authorisation: AuthorisationService,
        doorbell: Doorbell,
        *,
        on_terminated: Callable[[], None],
    ) -> None:
        config = context.config
        name = config[p.ROLE_NAME] or (
            f"consensus-module-{config[p.CLUSTER_ID]}-{config.member.member_id}"
        )
        super().__init__(
            name,
            doorbell,
            context.aeron.conductor.liveness,
            context.clock,
            time_divisor=config.time_unit_ns,
            ingress_limit=config[p.INGRESS_LIMIT],
        )
        self._context = context
        context.cluster_time = self.now
        context.extension = extension_of(config)
        self._mark_file = mark_file
        self._on_terminated = on_terminated
        sessions = Sessions(context, self, authenticator, authorisation)
        self._parts = parts = ModuleParts(
            context=context,
            steady=self,
            status=ModuleStatus(context, self),
            flow=Flow(),
            sessions=sessions,
            state=ReplicatedState(context, sessions),
            stream=ConsensusStream(context),
            services=Services(context),
            recording=LogRecording(context),
            extension=ExtensionTurns(context, sessions, authorisation),
        )
        self._node_control = NodeControl(parts, self._terminate)
        self._ingress = Ingress(parts, self._node_control.ask_snapshot)
        self._consensus: Consensus = LoneMember(parts, self._ingress, self._node_control)
        self._requests = ServiceRequests(parts, self._consensus.members)
        parts.flow.begin(self._start())
        self._next_mark_ns = 0
        self.mark_beat = mark_file.native_beat()
        self._last_ns = context.clock.now_ns()
        self._ended = False

    def on_start(self) -> None:
        """Prepare the module's own thread."""
        self.prepare_thread()

    def _start(self) -> Steps[None]:
        """Recover, and take part in an election."""
        yield from self._context.archive.connect()
        append_position = yield from Recovery(self._parts).recover()
        yield from self._consensus.elect(append_position)

    @property
    def module_state(self) -> ModuleState:
        """What the module does."""
        return self._parts.status.state

    # -- the duty cycle ---------------------------------------------------------------------------

    def control(self) -> int:
        """Do one round of all work that needs the interpreter."""
        if self._ended:
            return 0
        self.take_bell()
        context, parts = self._context, self._parts
        now_ns = context.clock.now_ns()
        work = self.turn_client(context.aeron.conductor)
        # A node whose log, archive or services have gone another way, or whose files cannot be
        # written, cannot go on: it would apply what the others do not. Its runner ends it.
        if context.aeron.closed:
            raise context.aeron.close_reason or ClusterError("the Aeron client is closed")
        if now_ns - self._last_ns > STANDSTILL_NS:
            # What clients have sent meanwhile is not read yet, so no client counts as silent.
            parts.sessions.forgive(now_ns)
        self._last_ns = now_ns
        if now_ns >= self._next_mark_ns:
            self._mark_file.check_owned()
            self._next_mark_ns = now_ns + MARK_INTERVAL_NS
        work += parts.recording.tend()
        context.uncommitted.commit(context.counters.commit_position.value)
        if context.log is not None and self.module_state is ModuleState.ACTIVE:
            parts.state.timers.advance(self.now())
        work += self._requests.poll()
        if self.module_state is not ModuleState.TERMINATING:
            parts.services.check_alive()
        work += self._consensus.poll()
        work += self._ingress.poll(now_ns)
        self._ingress.report_strangers()
        work += self._consensus.check_term()
        work += parts.flow.turn()
        if not self._ended:
            work += self._work_as_leader(now_ns) + parts.extension.do_work(now_ns)
            self._plan(now_ns, work)
        return work

    def _work_as_leader(self, now_ns: int) -> int:
        context, parts = self._context, self._parts
        log = context.log if self.module_state is ModuleState.ACTIVE else None
        work = parts.sessions.do_work(log, now_ns)
        if log is not None:
            work += append_due_events(context, parts.state, log)
        if log is not None or self.module_state is ModuleState.SUSPENDED:
            work += self._node_control.poll()
        return work

    def _plan(self, now_ns: int, work: int) -> None:
        """Set when to be called again if nothing happens before, and which streams to watch."""
        context, parts = self._context, self._parts
        is_busy = (
            work > 0
            or parts.flow.is_under_way
            or context.extension is not None
            or parts.sessions.is_busy
            or any(len(pending) for pending in parts.state.pending)
        )
        next_ns = now_ns + (BUSY_INTERVAL_NS if is_busy else IDLE_INTERVAL_NS)
        deadline = parts.state.timers.next_deadline
        if deadline is not None and self.module_state is ModuleState.ACTIVE:
            ahead = max(deadline - self.now(), 0) * context.config.time_unit_ns
            next_ns = min(next_ns, now_ns + ahead)
        silent_ns = parts.sessions.next_deadline_ns()
        if silent_ns is not None:
            next_ns = min(next_ns, max(silent_ns, now_ns))
        if self.module_state is ModuleState.ACTIVE:
            self.set_ingress(self._ingress.images)
        self.watch((*parts.services.images, *parts.stream.images), next_ns)

    # -- the end ----------------------------------------------------------------------------------

    def _terminate(self) -> None:
        self._end()
        self._on_terminated()

    def _end(self) -> None:
        self._ended = True
        self.mark_beat = None

    def on_close(self) -> None:
        """End what is under way, and the streams to clients, services and the log."""
        parts = self._parts
        self._end()
        self.follow()
        parts.status.note(ModuleState.CLOSED)
        parts.extension.close()
        parts.flow.close()
        if self._context.aeron.closed:
            return
        parts.sessions.close()
        parts.services.close()
        self._consensus.close()
        self._ingress.close()
        parts.stream.close()
