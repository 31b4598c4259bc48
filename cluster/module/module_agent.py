"""The consensus module's agent: recovery, election, and what the steady state needs Python for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from aerolog.cluster.counter_types import ElectionState, ModuleState, NodeToggle, Role, Toggle
from aerolog.cluster.errors import ClusterError, ServiceLostError
from aerolog.cluster.files import EntryType, LogEntry, plan_recovery
from aerolog.cluster.module import properties as p
from aerolog.cluster.module.election import Election
from aerolog.cluster.module.event_log import ClusterEventCode
from aerolog.cluster.module.extension import (
    ControlState,
    ExtensionMessage,
    ModuleControl,
    extension_call,
    extension_of,
)
from aerolog.cluster.module.node_snapshot import complete_snapshot
from aerolog.cluster.module.replicated_state import ReplicatedState
from aerolog.cluster.module.services import Services
from aerolog.cluster.module.sessions import Sessions
from aerolog.cluster.module.snapshots import (
    check_archive,
    check_time_unit,
    load_snapshot,
)
from aerolog.cluster.module.steady_agent import SteadyAgent
from aerolog.cluster.protocol import (
    MODULE_SNAPSHOT_TYPE_ID,
    NULL_POSITION,
    NULL_VALUE,
    SCHEMA,
    SCHEMA_ID,
    SESSION_HEADER_LENGTH,
    AdminRequest,
    CancelTimer,
    ChallengeResponse,
    CloseReason,
    CloseSession,
    ClusterAction,
    ClusterMembersExtendedResponse,
    ClusterMembersQuery,
    ClusterMembersResponse,
    MemberEntry,
    ScheduleTimer,
    SessionCloseRequest,
    SessionConnectRequest,
    SessionKeepAlive,
    SessionMessageHeader,
)
from aerolog.transport.client.message import Action
from aerolog.transport.client.steps.added_stream import added
from aerolog.transport.errors import MessageFormatError, MessageTooLargeError
from aerolog.transport.text_output import logger
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.cluster.files import ClusterMarkFile, RecoveryPlan
    from aerolog.cluster.module.log_publisher import LogPublisher
    from aerolog.cluster.module.module_context import ModuleContext
    from aerolog.cluster.module.pending_messages import PendingMessages
    from aerolog.transport.agents.doorbell import Doorbell
    from aerolog.transport.client.image import Image
    from aerolog.transport.client.message import Header
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.client.subscription import Subscription
    from aerolog.transport.errors import ArchiveError
    from aerolog.transport.security.authentication import Authenticator, AuthorisationService

_LOG: Final = logger("aerolog.cluster")
MARK_INTERVAL_NS: Final = NS_PER_S
BUSY_INTERVAL_NS: Final = NS_PER_MS
IDLE_INTERVAL_NS: Final = 50_000_000
#: A thread that did not run for so long was stopped, or waited for the interpreter.
STANDSTILL_NS: Final = 500_000_000
#: How often an extension's `slow_tick_work` is called.
SLOW_TICK_NS: Final = 10 * NS_PER_MS
_FLOW_STEPS: Final = 10
#: Recordings among which a log is looked for where the recording log names none.
_LOGS_LISTED: Final = 1000
_INGRESS_LIMIT: Final = 10
_CONSENSUS_LIMIT: Final = 10
_NODE_STARTED: Final = "node started"
#: The reference's text; what follows is about members that follow a leader.
_LOG_STOPPED: Final = "log recording stopped: eos=false"
_NOTHING: Final = 0
_ALL_OF_THE_LOG: Final = 2**63 - 1


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

    Attributes:
        ingress_channel: where clients send, with the port in use.
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
        self._authorisation = authorisation
        self._extension_snapshot: list[bytes] = []
        self._has_begun = False
        self._log_subscription: Subscription | None = None
        self._next_tick_ns = 0
        self._mark_file = mark_file
        self._on_terminated = on_terminated
        self._sessions = Sessions(context, self, authenticator, authorisation)
        self._state = ReplicatedState(context, self._sessions)
        self._consensus = context.aeron.add_subscription(
            str(
                ChannelUri.parse(config[p.CONSENSUS_CHANNEL]).put(
                    "endpoint", config.member.consensus
                )
            ),
            config[p.CONSENSUS_STREAM],
        )
        self._services = Services(context)
        self._complete_snapshot = partial(complete_snapshot, context, self._services, self._state)
        self._ingress: list[Subscription] = []
        self._log: LogPublisher | None = None
        self._recording_id: int | None = None
        self._module_state = ModuleState.INIT
        self._flow: Generator[int, None, None] | None = self._start()
        self._awaited_position = _NOTHING  # how much of the log what is under way needs
        self._recording_request: int | None = None
        self._recording_error: ArchiveError | None = None
        self._greeting: Generator[int, None, None] | None = None
        self._next_mark_ns = 0
        self.mark_beat = mark_file.native_beat()
        self._last_ns = context.clock.now_ns()
        self._ended = False

    def on_start(self) -> None:
        """Prepare the module's own thread."""
        self.prepare_thread()

    # -- the duty cycle ---------------------------------------------------------------------------

    def control(self) -> int:
        """Do one round of all work that needs the interpreter."""
        if self._ended:
            return 0
        self.take_bell()
        context = self._context
        now_ns = context.clock.now_ns()
        work = self.turn_client(context.aeron.conductor)
        # A node whose log, archive or services have gone another way, or whose files cannot be
        # written, cannot go on: it would apply what the others do not. Its runner ends it.
        if context.aeron.closed:
            raise context.aeron.close_reason or ClusterError("the Aeron client is closed")
        if now_ns - self._last_ns > STANDSTILL_NS:
            # What clients have sent meanwhile is not read yet, so nobody counts as silent.
            self._sessions.forgive(now_ns)
        self._last_ns = now_ns
        if now_ns >= self._next_mark_ns:
            self._mark_file.check_owned()
            self._next_mark_ns = now_ns + MARK_INTERVAL_NS
        work += self._tend_archive()
        context.uncommitted.commit(context.counters.commit_position.value)
        if self._log is not None and self._module_state is ModuleState.ACTIVE:
            self._state.timers.advance(self.now())
        work += self._poll_services()
        if self._module_state is not ModuleState.TERMINATING:
            self._services.check_alive()
        work += self._poll_consensus()
        work += self._poll_ingress(now_ns)
        self._report_strangers()
        work += self._check_log()
        work += self._turn_flow()
        if not self._ended:
            work += self._work_as_leader(now_ns) + self._turn_extension(now_ns)
            self._plan(now_ns, work)
        return work

    def _turn_flow(self) -> int:
        work = 0
        for _ in range(_FLOW_STEPS):
            if self._flow is None:
                break
            try:
                done = next(self._flow)
            except StopIteration:
                self._flow = None
                return work + 1
            work += done
            if done == 0:
                break
        return work

    def _work_as_leader(self, now_ns: int) -> int:
        log = self._log if self._module_state is ModuleState.ACTIVE else None
        work = self._sessions.do_work(log, now_ns)
        if self._greeting is not None and next(self._greeting, None) is None:
            self._greeting = None
        if log is None:
            if self._module_state is ModuleState.SUSPENDED:
                work += self._poll_toggle()
            return work
        work += self._state.timers.poll(self.now(), partial(self._append_timer, log))
        for pending in self._state.pending:
            if len(pending):
                work += pending.poll(partial(self._append_service_message, log, pending))
        return work + self._poll_toggle()

    def _turn_extension(self, now_ns: int) -> int:
        """Have the extension do its part of a duty cycle; what it raises is reported."""
        extension = self._context.extension
        if extension is None or not self._has_begun:
            return 0
        calls = [extension.do_work]
        if now_ns >= self._next_tick_ns:
            self._next_tick_ns = now_ns + SLOW_TICK_NS
            calls.insert(0, extension.slow_tick_work)
        if self._context.counters.election_state.value == ElectionState.CLOSED:
            calls.append(extension.consensus_work)
        work = 0
        for call in calls:
            try:
                work += call(now_ns)
            except Exception as error:  # noqa: BLE001 - as the reference does, it is called again
                self._context.reporter.error(error, f"extension in {call.__name__}")
        return work

    def _plan(self, now_ns: int, work: int) -> None:
        """Set when to be called again if nothing happens before, and which streams to watch."""
        is_busy = (
            work > 0
            or self._flow is not None
            or self._greeting is not None
            or self._context.extension is not None
            or self._sessions.is_busy
            or any(len(pending) for pending in self._state.pending)
        )
        next_ns = now_ns + (BUSY_INTERVAL_NS if is_busy else IDLE_INTERVAL_NS)
        deadline = self._state.timers.next_deadline
        if deadline is not None and self._module_state is ModuleState.ACTIVE:
            ahead = max(deadline - self.now(), 0) * self._context.config.time_unit_ns
            next_ns = min(next_ns, now_ns + ahead)
        silent_ns = self._sessions.next_deadline_ns()
        if silent_ns is not None:
            next_ns = min(next_ns, max(silent_ns, now_ns))
        ingress = tuple(image for each in self._ingress for image in each.images)
        watched = (*self._services.images, *self._consensus.images)
        if self._module_state is ModuleState.ACTIVE:
            self.set_ingress(ingress)
        self.watch(watched, next_ns)

    # -- the life of a node ----------------------------------------------------------------------

    def _start(self) -> Steps[None]:
        """Recover, and become the leader."""
        yield from self._context.archive.connect()
        append_position = yield from self._recover()
        yield from self._become_leader(append_position, _NODE_STARTED)

    def _become_leader(self, append_position: int, reason: str) -> Steps[None]:
        """Win an election, and open the ingress if it is not open yet.

        Args:
            append_position: where the recorded log ends, and the new term begins.
            reason: why there is an election.
        """
        context = self._context
        election = Election(
            context,
            self._services,
            self._state,
            append_position,
            self._recording_id,
            self._complete_snapshot,
            self._set_state,
            is_startup=reason is _NODE_STARTED,
        )
        yield from election.lead_alone(reason)
        assert election.log is not None
        assert election.recorded is not None
        self._log, self._recording_id = election.log, election.recording_id
        self._recording_request = election.recording_request
        context.is_leader = True
        self._sessions.begin_term(context.clock.now_ns())
        self._greeting = self._sessions.tell_new_leader()
        if not self._ingress:
            yield from self._open_ingress()
        self.lead(
            context.leadership_term_id,
            election.log.publication,
            context.aeron.conductor.counters,
            election.recorded.counter.counter_id,
            election.recorded.counter.registration_id,
            context.counters.commit_position.counter_id,
        )
        is_suspended = self._module_state is ModuleState.SUSPENDED
        context.counters.toggle.compare_and_set(
            Toggle.INACTIVE, Toggle.SUSPEND if is_suspended else Toggle.NEUTRAL
        )
        context.counters.node_toggle.compare_and_set(NodeToggle.INACTIVE, NodeToggle.NEUTRAL)
        self._complete_election(election)
        election.close()
        self.take_ingress(not is_suspended)
        _LOG.debug("member %d leads term %d", context.leader_member_id, context.leadership_term_id)

    # -- the recording of the log ----------------------------------------------------------------

    def _tend_archive(self) -> int:
        """Hear the archive, without which nothing is recorded.

        Raises:
            ClusterError: the archive is gone.
        """
        conversation = self._context.archive.conversation
        work = conversation.tend()
        check_archive(self._context.archive)
        if self._recording_request is not None:
            error = conversation.take_error(self._recording_request)
            if error is not None:
                self._recording_error = error
                self._context.reporter.error(error, "recording of the log")
        return work

    def _check_log(self) -> int:
        """Elect again when the recording of the log has ended: nothing is committed without it."""
        if not self.is_log_ended or self._log is None:
            return 0
        if self._module_state is ModuleState.TERMINATING:
            return 0  # that ends by its timeout
        self.follow()
        self._flow = self._lead_again(self._log, self._log_subscription, self._flow)
        self._log = self._log_subscription = self._greeting = None
        return 1

    def _lead_again(
        self,
        old_log: LogPublisher,
        old_subscription: Subscription | None,
        interrupted: Steps[None] | None,
    ) -> Steps[None]:
        """Go on in a new term, which begins where the recording of the last one has ended.

        Services read the old log up to there, and join the new one then.
        """
        context, counters = self._context, self._context.counters
        counters.role.value = Role.FOLLOWER
        context.events.log(ClusterEventCode.ROLE_CHANGE, (Role.LEADER, Role.FOLLOWER))
        counters.toggle.compare_and_set(Toggle.NEUTRAL, Toggle.INACTIVE)
        counters.node_toggle.compare_and_set(NodeToggle.NEUTRAL, NodeToggle.INACTIVE)
        position = yield from self._recorded_end()
        context.reporter.event(_LOG_STOPPED)
        counters.commit_position.propose_max(position)
        self._state.log_position = position
        context.uncommitted.roll_back(position)
        if interrupted is not None and self._awaited_position <= position:
            yield from interrupted
            if self._ended:
                return
        elif interrupted is not None:
            # The log has lost the request, whose toggle asks for it again in the next term.
            interrupted.close()
            self._set_state(ModuleState.ACTIVE)
        self._awaited_position = _NOTHING
        yield from self._become_leader(position, _LOG_STOPPED)
        old_log.publication.close()
        if old_subscription is not None:
            old_subscription.close()

    def _recorded_end(self) -> Steps[int]:
        """Find where the recording of the log has ended.

        Raises:
            ClusterError: it has ended by an error, or lacks what is committed.
        """
        context = self._context
        assert self._recording_id is not None
        found = yield from self._stopped_log(
            self._recording_id, context.archive.options.message_timeout
        )
        self._tend_archive()
        if self._recording_error is not None:
            raise ClusterError(
                f"the archive has ended recording {self._recording_id}, the log:"
                f" {self._recording_error.message}"
            ) from self._recording_error
        committed = context.counters.commit_position.value
        if found is None or found.stop_position < committed:
            end = "is not in the archive" if found is None else f"ends at {found.stop_position}"
            raise ClusterError(
                f"recording {self._recording_id}, the log, {end}, and {committed} bytes of the log"
                " are committed: restore the archive, and start the node again"
            )
        return found.stop_position

    def _stopped_log(
        self, recording_id: int, timeout: float | None = None
    ) -> Steps[RecordingDescriptor | None]:
        """Wait until a recording has its stop position; None for one that there is not."""
        conversation = self._context.archive.conversation
        deadline_ns = conversation.deadline_ns(timeout)
        while True:
            found = yield from self._context.archive.list_recording(recording_id)
            if found is None or found.stop_position != NULL_POSITION:
                return found
            if conversation.is_late(deadline_ns):
                raise ClusterError(
                    f"recording {recording_id}, the log, is extended by another program: stop that,"
                    " and start the node again"
                )
            yield 0

    def _complete_election(self, election: Election) -> None:
        extension = self._context.extension
        if extension is None:
            return
        assert election.log is not None
        assert election.recording_id is not None
        state = ControlState(
            True,
            self._context.leadership_term_id,
            election.recording_id,
            election.log.publication,
            election.log_subscription,
        )
        self._log_subscription = election.log_subscription
        with extension_call("on_election_complete"):
            extension.on_election_complete(state)

    def _recover(self) -> Steps[int]:
        """Load the newest snapshot, and have the services load theirs; returns the log's end."""
        context, config = self._context, self._context.config
        plan = yield from self._recovery_plan()
        term_id, timestamp = NULL_VALUE, 0
        if plan.snapshots:
            module = plan.snapshots[0]
            yield from self._load_snapshot(module, plan.appended_log_position)
            term_id, timestamp = module.leadership_term_id, module.timestamp
        recovery = context.counters.add_recovery_state(
            term_id,
            self._state.log_position,
            timestamp,
            [entry.recording_id for entry in plan.snapshots[1:]],
            config[p.SERVICE_COUNT],
        )
        try:
            self._start_extension(plan)
            acks = yield from self._services.await_acks(self._state.log_position)
            failed = [ack.service_id for ack in acks if ack.relevant_id == NULL_VALUE]
            if failed:
                raise ClusterError(f"services {failed} did not start: see their error logs")
        finally:
            if not context.aeron.closed:
                recovery.close()
        if plan.snapshots:
            context.counters.leadership_term.value = term_id
        return plan.appended_log_position

    def _start_extension(self, plan: RecoveryPlan) -> None:
        extension = self._context.extension
        if extension is not None:
            control = ModuleControl(self._context, self._sessions, self._authorisation)
            with extension_call("on_start"):
                extension.on_start(control, self._extension_snapshot if plan.snapshots else None)
            self._extension_snapshot = []
            self._has_begun = True

    def _recovery_plan(self) -> Steps[RecoveryPlan]:
        """Find what the node starts from, once the archive knows where the log ends."""
        context = self._context
        yield from self._check_empty_log()
        last = context.recording_log.last_term
        known: dict[int, RecordingDescriptor] = {}
        if last is not None:
            self._recording_id = last.recording_id
            descriptor = yield from self._stopped_log(last.recording_id)
            if descriptor is not None:  # without it the plan says what to do
                known[last.recording_id] = descriptor
        return plan_recovery(context.recording_log, known.get, context.config[p.SERVICE_COUNT])

    def _check_empty_log(self) -> Steps[None]:
        """Check that a node whose recording log is empty has no log.

        Raises:
            ClusterError: it has one, and would leave out what stands in it.
        """
        context, config = self._context, self._context.config
        term_id = context.node_state.candidate_term.candidate_term_id
        if context.recording_log.entries or term_id == NULL_VALUE or config[p.START_EMPTY]:
            return
        logs = yield from context.archive.list_recordings_for_uri(
            0, _LOGS_LISTED, "alias=log", config[p.LOG_STREAM]
        )
        for log in logs:
            if log.stop_position != log.start_position:
                raise ClusterError(
                    f"{context.recording_log.path} has no entries, but node-state.dat knows term"
                    f" {term_id}, and the archive holds a log, recording {log.recording_id} up to"
                    f" position {log.stop_position}: restore recording.log from a copy; or, if the"
                    f" node is to start as an empty cluster, set {p.START_EMPTY.name}=true once"
                )

    def _load_snapshot(self, entry: LogEntry, log_end: int) -> Steps[None]:
        """Load the module's own snapshot."""
        context, config = self._context, self._context.config
        if log_end < entry.log_position:
            raise ClusterError(
                f"the snapshot in {context.recording_log.path} is newer than the log: it was taken"
                f" at {entry.log_position}, the log ends at {log_end}: restore the archive that"
                " belongs to it, or invalidate the snapshot with"
                " `aerolog cluster-tool DIR invalidate-latest-snapshot`"
            )
        where = (entry.recording_id, entry.leadership_term_id, entry.log_position)
        check = context.sums.snapshot_check(*where)
        marker = yield from load_snapshot(
            context.archive,
            entry.recording_id,
            check,
            config[p.REPLAY_CHANNEL],
            config[p.REPLAY_STREAM],
            MODULE_SNAPSHOT_TYPE_ID,
            self._state.restore,
            None if context.extension is None else self._extension_snapshot.append,
        )
        if not check.is_covered:
            context.reporter.run(lambda: context.sums.cover_snapshot(*where, check))
        check_time_unit(marker, config.time_unit)
        self._state.check_version(marker.app_version, "snapshot")
        self._state.log_position = entry.log_position
        context.leadership_term_id = entry.leadership_term_id
        context.counters.commit_position.value = entry.log_position

    def _open_ingress(self) -> Steps[None]:
        context, config = self._context, self._context.config
        uri = ChannelUri.parse(config[p.INGRESS_CHANNEL])
        if uri.is_udp:
            if "endpoint" not in uri:
                uri = uri.put("endpoint", config.member.ingress)
            uri = uri.replace(rejoin=False)
        channels = [str(uri)]
        if config[p.INGRESS_IPC] and not uri.is_ipc:
            channels.append("aeron:ipc")
        for channel in channels:
            adding = context.aeron.add_subscription_async(channel, config[p.INGRESS_STREAM])
            self._ingress.append((yield from added(adding)))

    @property
    def ingress_channel(self) -> str | None:
        """Where clients send, with the port in use; None before the node takes ingress."""
        return self._ingress[0].resolved_channel if self._ingress else None

    @property
    def module_state(self) -> ModuleState:
        """What the module does."""
        return self._module_state

    def _set_state(self, state: ModuleState) -> None:
        self._note_state(state)
        self._context.counters.state.value = state
        self.take_ingress(state is ModuleState.ACTIVE)

    def _note_state(self, state: ModuleState) -> None:
        if state is not self._module_state:
            change = (self._module_state, state)
            self._context.events.log(ClusterEventCode.STATE_CHANGE, change)
        self._module_state = state

    def _set_toggle(self, toggle: Toggle) -> None:
        self._context.counters.toggle.value = toggle

    # -- ingress -----------------------------------------------------------------------------------

    def _poll_ingress(self, now_ns: int) -> int:
        """Take what the native part has left in the ingress."""
        if not self.take_left() or self._module_state is not ModuleState.ACTIVE:
            return 0
        work = 0
        for subscription in self._ingress:
            for image in subscription.images:
                work += image.poll_controlled(self._ingress_handler(image, now_ns), _INGRESS_LIMIT)
        return work

    def _ingress_handler(self, image: Image, now_ns: int) -> Callable[[memoryview, Header], Action]:
        def take(view: memoryview, header: Header) -> Action:
            data = bytes(view)
            if self._is_for_the_log(data):
                is_own = self._is_own(int.from_bytes(data[16:24], "little"), image)
                return Action.ABORT if is_own else Action.COMMIT  # the native part takes it
            # No message of a client may stop the node for the others.
            try:
                extension = self._context.extension
                foreign = ExtensionMessage.found_in(data, header.position) if extension else None
                if extension is not None and foreign is not None:
                    return extension.on_ingress_message(foreign) or Action.COMMIT
                self._on_ingress(data, image, now_ns)
            except Exception as error:  # noqa: BLE001 - logged and counted; the message is consumed
                self._context.reporter.error(error, "ingress message")
            return Action.COMMIT

        return take

    def _is_for_the_log(self, data: bytes) -> bool:
        """Return whether the native part writes a message into the log."""
        if len(data) < SESSION_HEADER_LENGTH:
            return False
        block_length = int.from_bytes(data[:2], "little")
        template_id = int.from_bytes(data[2:4], "little")
        if template_id != SessionMessageHeader.LAYOUT.template_id:
            return False
        term_id = int.from_bytes(data[8:16], "little", signed=True)
        session_id = int.from_bytes(data[16:24], "little", signed=True)
        return (
            int.from_bytes(data[4:6], "little") == SCHEMA_ID
            and block_length == SessionMessageHeader.LAYOUT.block_length
            and term_id == self._context.leadership_term_id
            and session_id in self._sessions.open
            and self._fits_the_log(data)
        )

    def _fits_the_log(self, data: bytes) -> bool:
        return self._log is None or len(data) <= self._log.publication.max_message_length

    def _on_ingress(self, data: bytes, image: Image, now_ns: int) -> None:
        message = SCHEMA.decode(data)
        match message:
            case SessionConnectRequest():
                self._sessions.on_connect(message, image, now_ns)
            case ChallengeResponse():
                self._sessions.on_challenge_response(message, image, now_ns)
            case SessionMessageHeader() if not self._fits_the_log(data):
                if self._is_own_request(message, image):
                    self._report_long(message.cluster_session_id, len(data))
            case SessionKeepAlive():  # the first of a term; the native part takes those after it
                if self._is_own_request(message, image):
                    self._sessions.hear(message.cluster_session_id, now_ns)
            case SessionCloseRequest():
                if self._is_own_request(message, image):
                    self._sessions.ask_close(message.cluster_session_id, CloseReason.CLIENT_ACTION)
            case AdminRequest():
                if self._is_own_request(message, image):
                    self._sessions.on_admin_request(message, self._ask_snapshot)
            case _:
                return  # of another term, of an unknown session, or not for a leader: passed over

    def _is_own_request(self, message: Any, image: Image) -> bool:
        """Return whether a request is of this term, and from the client of its session."""
        return (
            message.leadership_term_id == self._context.leadership_term_id
            and message.cluster_session_id in self._sessions.open
            and self._is_own(message.cluster_session_id, image)
        )

    def _is_own(self, session_id: int, image: Image) -> bool:
        """Return whether an open session takes messages from an image; a stranger's is counted."""
        if not self.is_settled(session_id):
            self._sessions.settle(session_id, image)
        return self.takes_from(session_id, image.correlation_id)

    def _report_long(self, session_id: int, length: int) -> None:
        assert self._log is not None
        error = MessageTooLargeError(
            f"message exceeds maxMessageLength of {self._log.publication.max_message_length},"
            f" length={length}: session {session_id} sent it, and it was dropped: send it in parts,"
            " or give aeron.cluster.log.channel a larger term-length"
        )
        self._context.reporter.error(error, "message of a client that is too long")

    def _report_strangers(self) -> None:
        """Count messages from other clients than those of their sessions, and report the first."""
        counter = self._context.counters.invalid_requests
        if counter.value == self.strangers:
            return
        counter.value = self.strangers
        session = self._sessions.open.get(self.last_stranger)
        if session is not None and not session.is_stranger_told:
            session.is_stranger_told = True
            self._context.reporter.error(
                ClusterError(
                    f"session {session.session_id} got a message from a publication that is not its"
                    " client's: it was dropped, and further ones are counted only"
                ),
                "message of a stranger",
            )

    def _ask_snapshot(self) -> str:
        toggle = self._context.counters.toggle
        if toggle.compare_and_set(Toggle.NEUTRAL, Toggle.SNAPSHOT):
            return ""
        return f"Failed to switch ClusterControl to the ToggleState.SNAPSHOT: {toggle.value}"

    # -- members -----------------------------------------------------------------------------------

    def _poll_consensus(self) -> int:
        """Take what comes from other members and backups, none of which this node has."""
        work = 0
        for received in self._consensus.poll_messages(_CONSENSUS_LIMIT):
            work += 1
            try:
                SCHEMA.decode(received.data)
            except MessageFormatError as error:
                self._context.reporter.error(error, "consensus message")
        return work

    # -- services ----------------------------------------------------------------------------------

    def _poll_services(self) -> int:
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

    def _append_service_message(
        self, log: LogPublisher, pending: PendingMessages, session_id: int, data: bytes
    ) -> bool:
        """Write a service's message into the log; one that never fits keeps only its number."""
        try:
            position = log.service_message(session_id, self.now(), data)
        except MessageTooLargeError as error:
            self._context.reporter.error(error, "message of a service that is too long")
            return True
        if position:
            self._context.uncommitted.note(position, partial(pending.take_back, session_id, data))
        return position > 0

    def _append_timer(self, log: LogPublisher, correlation_id: int) -> bool:
        """Write a timer's event into the log."""
        now, timers = self.now(), self._state.timers

        def take_back() -> None:
            if correlation_id not in dict(timers):  # its service may have scheduled it again
                timers.schedule(correlation_id, now)

        position = log.timer(correlation_id, now)
        if position:
            self._context.uncommitted.note(position, take_back)
        return position > 0

    def _on_members_query(self, query: ClusterMembersQuery) -> None:
        context = self._context
        members = context.config.members
        if not query.extended:
            self._services.reply(
                ClusterMembersResponse(
                    correlation_id=query.correlation_id,
                    leader_member_id=context.leader_member_id,
                    active_members=context.members_string,
                )
            )
            return
        own = context.config.member
        own.leadership_term_id = context.leadership_term_id
        own.log_position = context.counters.commit_position.value
        own.time_of_last_append_ns = now_ns = self.now() * context.config.time_unit_ns
        self._services.reply(
            ClusterMembersExtendedResponse(
                correlation_id=query.correlation_id,
                current_time_ns=now_ns,
                leader_member_id=context.leader_member_id,
                member_id=own.member_id,
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
                    for each in members.values()
                ),
            )
        )

    # -- what operators ask ------------------------------------------------------------------------

    def _poll_toggle(self) -> int:
        toggle = self._context.counters.toggle.value
        if self._flow is not None or self._log is None:
            return 0
        if toggle == Toggle.NEUTRAL:
            return self._poll_node_toggle()
        if self._module_state is ModuleState.SUSPENDED:
            if toggle == Toggle.RESUME and self._change_state(
                self._log, ClusterAction.RESUME, ModuleState.ACTIVE
            ):
                self._set_toggle(Toggle.NEUTRAL)
                return 1
            return 0
        match toggle:
            case Toggle.SUSPEND:
                self._change_state(self._log, ClusterAction.SUSPEND, ModuleState.SUSPENDED)
            case Toggle.RESUME:
                self._set_toggle(Toggle.NEUTRAL)
            case Toggle.SNAPSHOT:
                self._begin(self._take_snapshot())
            case Toggle.STANDBY_SNAPSHOT:
                self._set_toggle(Toggle.NEUTRAL)  # there is no standby to take one
            case Toggle.SHUTDOWN:
                self._begin(self._shut_down())
            case Toggle.ABORT:
                self._begin(self._abort())
            case _:
                return 0
        return 1

    def _begin(self, flow: Steps[None]) -> None:
        """Begin what writes into the log: it is asked for again if the log ends before."""
        self._awaited_position = _ALL_OF_THE_LOG
        self._flow = flow

    def _change_state(self, log: LogPublisher, action: ClusterAction, state: ModuleState) -> bool:
        """Have the log suspend or resume the cluster; returns whether the event was taken."""
        asked, before = self._context.counters.toggle.value, self._module_state

        def take_back() -> None:
            self._set_state(before)
            self._context.counters.toggle.value = asked

        position = log.action(action, self.now())
        if position:
            self._context.uncommitted.note(position, take_back)
            self._set_state(state)
        return position > 0

    def _poll_node_toggle(self) -> int:
        toggle = self._context.counters.node_toggle.value
        if self._module_state is not ModuleState.ACTIVE:
            return 0
        match toggle:
            case NodeToggle.VALIDATE_RECORDING_LOG:
                self._flow = self._validate_recording_log()
            case NodeToggle.REPLICATE_STANDBY_SNAPSHOT:
                self._context.counters.node_toggle.value = NodeToggle.NEUTRAL  # there is no standby
            case _:
                return 0
        return 1

    def _validate_recording_log(self) -> Steps[None]:
        """Make parts of snapshots invalid whose recordings the archive does not have."""
        log = self._context.recording_log
        for entry in log.entries:
            if not entry.is_valid or entry.type != EntryType.SNAPSHOT:
                continue
            found = yield from self._context.archive.list_recording(entry.recording_id)
            if found is None:
                log.invalidate(entry)
        self._context.counters.node_toggle.value = NodeToggle.NEUTRAL

    def _take_snapshot(self) -> Steps[None]:
        yield from self._snapshot()
        self._set_state(ModuleState.ACTIVE)
        self._set_toggle(Toggle.NEUTRAL)

    def _snapshot(self) -> Steps[int]:
        """Have the services take snapshots at one position, take the module's, and note them."""
        context, config, log = self._context, self._context.config, self._log
        assert log is not None
        begin_ns = context.clock.now_ns()
        timestamp = self.now()
        while not (position := log.action(ClusterAction.SNAPSHOT, timestamp)):
            yield 0
            timestamp = self.now()
        self._set_state(ModuleState.SNAPSHOT)
        self._awaited_position = position
        is_taken = yield from self._complete_snapshot(position, timestamp)
        self._awaited_position = _NOTHING
        self._sessions.on_snapshot_end(is_taken=is_taken)
        if not is_taken:
            return position
        context.counters.snapshots.add(1)
        took_ns = context.clock.now_ns() - begin_ns
        context.counters.max_snapshot_time.propose_max(took_ns)
        if took_ns > config[p.SNAPSHOT_THRESHOLD]:
            context.counters.snapshot_time_exceeded.add(1)
        return position

    def _shut_down(self) -> Steps[None]:
        position = yield from self._snapshot()
        yield from self._terminate(position)

    def _abort(self) -> Steps[None]:
        assert self._log is not None
        yield from self._terminate(self._log.position)

    def _terminate(self, position: int) -> Steps[None]:
        """Have the services end at a position, and end the node."""
        context = self._context
        self._awaited_position = _NOTHING
        self._set_state(ModuleState.TERMINATING)
        deadline_ns = context.clock.now_ns() + context.config[p.TERMINATION_TIMEOUT]
        try:
            for step in self._services.terminate(position):
                if context.clock.now_ns() > deadline_ns:
                    context.reporter.event("services did not end within the termination timeout")
                    break
                yield step
        except ServiceLostError as error:
            context.reporter.error(error)  # no acknowledgement will come
        # Where the recording of the log has ended meanwhile, the position is not reached.
        committed = min(position, context.counters.commit_position.value)
        context.recording_log.commit_log_position(context.leadership_term_id, committed)
        self._set_toggle(Toggle.NEUTRAL)
        self._set_state(ModuleState.CLOSED)
        self._end()
        self._on_terminated()

    # -- the end -----------------------------------------------------------------------------------

    def _end(self) -> None:
        self._ended = True
        self.mark_beat = None

    def _close_extension(self) -> None:
        extension, self._context.extension = self._context.extension, None
        if extension is not None:
            try:
                extension.close()
            except Exception as error:  # noqa: BLE001 - the module ends nevertheless
                self._context.reporter.error(error, "extension in close")

    def on_close(self) -> None:
        """End what is under way, and the streams to clients, services and the log."""
        self._end()
        self.follow()
        self._note_state(ModuleState.CLOSED)
        self._close_extension()
        if self._flow is not None:
            self._flow.close()
            self._flow = None
        if self._context.aeron.closed:
            return
        self._sessions.close()
        self._services.close()
        if self._log is not None:
            self._log.publication.close()
        if self._log_subscription is not None:
            self._log_subscription.close()
        for subscription in (*self._ingress, self._consensus):
            subscription.close()
