"""The agent that runs a service: it follows the log and talks to the consensus module.

Spec cluster 11, 12, 16 to 18.
"""

from __future__ import annotations

import os
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from aerolog.cluster.counter_types import CLUSTER_KEY, RECOVERY_KEY, ClusterCounterType, Role
from aerolog.cluster.errors import ClusterError
from aerolog.cluster.files import FolderSums, owner_of_service
from aerolog.cluster.protocol import (
    CLUSTER_ACTION_FLAGS_STANDBY_SNAPSHOT,
    NULL_POSITION,
    NULL_VALUE,
    SCHEMA,
    CancelTimer,
    CloseReason,
    CloseSession,
    ClusterAction,
    ClusterActionRequest,
    ClusterTimeUnit,
    JoinLog,
    NewLeadershipTermEvent,
    RequestServiceAck,
    ScheduleTimer,
    ServiceAck,
    ServiceTerminationPosition,
    SessionCloseEvent,
    SessionOpenEvent,
    TimerEvent,
    semantic_version_major,
    semantic_version_text,
)
from aerolog.cluster.service.client_session import ClientSession
from aerolog.cluster.service.cluster import Cluster
from aerolog.cluster.service.log_agent import LogAgent
from aerolog.cluster.service.service_snapshot import load_snapshot, take_snapshot
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.concurrent.agent_runner import AgentTerminated
from aerolog.transport.concurrent.idle import idle_strategy
from aerolog.transport.errors import AerologError, MessageFormatError, ResourceClosedError
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from typing_extensions import Buffer

    from aerolog.cluster.files import ClusterMarkFile, MessageSum, SnapshotCheck
    from aerolog.cluster.protocol import Message
    from aerolog.cluster.service.clustered_service import ClusteredService
    from aerolog.cluster.service.options import ServiceContainerOptions
    from aerolog.cluster.service.service_counters import ServiceCounters
    from aerolog.transport.client import Aeron, Image, Subscription
    from aerolog.transport.client.client_counters import CounterInfo

_MARK_INTERVAL_NS: Final = NS_PER_S
_CONTROL_LIMIT: Final = 10
_MAX_POSITION: Final = 2**63 - 1  # of a log that goes on


class ServiceAgent(LogAgent):
    """Runs one service.

    Attributes:
        stopping: set to end the agent.
        is_started: whether the service was started.
        is_terminated: whether it ended because the consensus module asked for it.
        app_version: the application's version, whose major number snapshots and terms must have.
        on_ready: called when the service has joined the log that clients write to.
        on_end: called when the agent has ended.
    """

    def __init__(
        self,
        service: ClusteredService,
        options: ServiceContainerOptions,
        aeron: Aeron,
        mark_file: ClusterMarkFile,
        counters: ServiceCounters,
        report: Callable[[BaseException], object],
    ) -> None:
        super().__init__(options.name, service, options.log_fragment_limit)
        self.options = options
        self.aeron = aeron
        self.clock = options.clock
        self.report = report
        self.time_unit = ClusterTimeUnit.NULL
        self.member_id = NULL_VALUE
        self.role = Role.FOLLOWER
        self.stopping = False
        self.is_started = False
        self.is_terminated = False
        self.app_version = options.app_version
        self.on_ready: Callable[[], object] = lambda: None
        self.send_timeout_ns = options.send_timeout
        self.on_end: Callable[[], object] = lambda: None
        self._service = service
        self._cluster = Cluster(self)
        self._mark_file = mark_file
        self._sums = FolderSums(
            os.path.realpath(options.cluster_dir), owner_of_service(options.service_id)
        )
        self._counters = counters
        self._idle = idle_strategy(options.idle_strategy)
        self._log: Subscription | None = None
        self._connecting: list[ClientSession] = []
        self._next_log: JoinLog | None = None
        self._termination_position = NULL_POSITION
        self._requested_ack = NULL_POSITION
        self._ack_id = 0
        self._has_module = False
        self._next_beat_ns = self.clock.now_ns() + _MARK_INTERVAL_NS
        self._egress_shown = (0, 0)
        self._to_module = aeron.add_publication(
            options.control_channel, options.consensus_module_stream_id
        )
        self._from_module = aeron.add_subscription(
            options.control_channel, options.service_stream_id
        )

    # -- life ------------------------------------------------------------------------------------

    def on_start(self) -> None:
        """Wait for the consensus module, load the snapshot if there is one, and start the service.

        Raises:
            AgentTerminated: the container was closed meanwhile.
        """
        recovery = self._await_counter(
            ClusterCounterType.RECOVERY_STATE, at=RECOVERY_KEY.numbers.size - 8
        )
        counters = self.aeron.conductor.counters
        commits = self._await_counter(ClusterCounterType.COMMIT_POSITION)
        while not self.follow_commits(counters, commits.counter_id, commits.registration_id):
            commits = self._await_counter(ClusterCounterType.COMMIT_POSITION)
        self._has_module = True
        self.clear_sessions()
        try:
            self._recover(recovery.key)
        except BaseException:
            if not self.stopping:
                self._acknowledge(NULL_VALUE)
            raise
        self.is_started = True
        self._acknowledge(self.aeron.client_id)

    def _recover(self, key: bytes) -> None:
        term_id, position, timestamp, _, count = RECOVERY_KEY.numbers.unpack_from(key)
        service_id = self.options.service_id
        self.leadership_term_id, self.log_position, self.time = term_id, position, timestamp
        self._service.cluster = self._cluster
        if term_id == NULL_VALUE:
            self.log_position = max(position, 0)
            with self._during("on_start"):
                self._service.on_start(self._cluster, None)
            return
        if service_id >= count:
            raise ClusterError(
                f"the snapshot is of {count} services, it has none of service {service_id}"
            )
        (recording_id,) = struct.unpack_from("<q", key, RECOVERY_KEY.numbers.size + 8 * service_id)
        with load_snapshot(self, recording_id) as reader, self._during("on_start"):
            self._service.on_start(self._cluster, reader)

    def _await_counter(self, type_id: int, at: int = 0) -> CounterInfo:
        """Wait for the counter of the cluster that has a type; returns a copy of it."""
        cluster = CLUSTER_KEY.numbers.pack(self.options.cluster_id)
        while True:
            for info in self.aeron.counters.infos():
                if info.type_id == type_id and info.key[at : at + len(cluster)] == cluster:
                    return info
            self.idle(0)

    def control(self) -> int:
        """Run one duty cycle; returns a work count."""
        now_ns = self.clock.now_ns()
        self._check_partners()
        work = self._tend(now_ns)
        work += self._poll_module()
        self._connecting = [each for each in self._connecting if each.is_connecting()]
        image = self.log_image
        if image is not None:
            is_done = image.closed or image.position >= self.log_end or image.is_end_of_stream
            found = self._take_from_log()
            if found == 0 and is_done:
                self._leave_log(image)
                found = 1
            work += found
            self._show_egress()
        elif self._next_log is not None:
            work += self._follow(self._next_log)
        if self._requested_ack != NULL_POSITION and self.log_position >= self._requested_ack:
            self._acknowledge_requested()
        if self._termination_position != NULL_POSITION:
            self._check_termination()
        with self._call("do_background_work"):
            work += self._service.do_background_work(now_ns)
        return work

    def _take_from_log(self) -> int:
        """Hand what is committed to the service; what it raises is reported, as in `_call`."""
        try:
            return self.poll_log()
        except (AgentTerminated, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - the service goes on with the next message
            self.report(error)
            return 1

    @contextmanager
    def _call(self, callback: str) -> Iterator[None]:
        """Call the service, and report what it raises, after which the service goes on.

        The reference does so as well. What no program can go on after ends the container.
        """
        try:
            with self._during(callback):
                yield
        except (AgentTerminated, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - the service's own
            self.report(error)

    def _check_partners(self) -> None:
        """Check that driver and consensus module are there, once the module has been found."""
        if self.aeron.closed:
            reason = self.aeron.close_reason
            raise AgentTerminated(str(reason or "the transport client is closed")) from reason
        if self._has_module and not self.is_committing:
            raise AgentTerminated("the consensus module is gone: its commit position is closed")

    def _show_egress(self) -> None:
        egress = (self.missed, self.egress_wait_ns)
        if egress != self._egress_shown:
            self._egress_shown = egress
            self._counters.on_egress(*egress)

    def _tend(self, now_ns: int) -> int:
        """Give a sign of life once a second."""
        if now_ns - self._next_beat_ns < 0:
            return 0
        self._next_beat_ns = now_ns + _MARK_INTERVAL_NS
        self._mark_file.beat()
        return 1

    def idle(self, work_count: int = 0) -> None:
        """Wait a little.

        Raises:
            AgentTerminated: the container is being closed, or has lost driver or module.
        """
        if self.stopping:
            raise AgentTerminated("the container is closed")
        self._check_partners()
        self._tend(self.clock.now_ns())
        self._idle(work_count)

    def on_close(self) -> None:
        """Leave the log and the streams."""
        try:
            if self.is_started and not self.is_terminated:
                with self._during("on_terminate"):
                    self._service.on_terminate(self._cluster)
        finally:
            self._drop_log()
            self._disconnect()
            self._from_module.close()
            self._to_module.close()
            self.on_end()

    # -- the consensus module --------------------------------------------------------------------

    def _poll_module(self) -> int:
        messages = self._from_module.poll_messages(_CONTROL_LIMIT)
        for received in messages:
            try:
                message = SCHEMA.decode(received.data)
            except MessageFormatError as error:
                self.report(error)
                continue
            match message:
                case JoinLog():
                    self._on_join_log(message)
                case ServiceTerminationPosition():
                    self._termination_position = message.log_position
                case RequestServiceAck():
                    self._requested_ack = message.log_position
        return len(messages)

    def _send(self, message: Message) -> None:
        """Send a message to the consensus module, and wait until there is room for it."""
        data = message.encode()
        while (result := self._to_module.offer(data)) <= 0:
            if result in {OfferStatus.CLOSED, OfferStatus.MAX_POSITION_EXCEEDED}:
                raise ResourceClosedError(f"the consensus module is gone: {result!r}")
            self.idle(0)

    def _acknowledge(self, relevant_id: int) -> None:
        self._send(
            ServiceAck(
                log_position=self.log_position,
                timestamp=self.time,
                ack_id=self._ack_id,
                relevant_id=relevant_id,
                service_id=self.options.service_id,
            )
        )
        self._ack_id += 1

    def _acknowledge_requested(self) -> None:
        requested, self._requested_ack = self._requested_ack, NULL_POSITION
        if self.log_position > requested:
            self.report(
                ClusterError(
                    f"invalid ack request: logPosition={self.log_position} > requestedAckPosition="
                    f"{requested}"
                )
            )
        self._acknowledge(NULL_VALUE)

    def _check_termination(self) -> None:
        position = self._termination_position
        if self.log_position < position:
            return
        if self.log_position > position:
            self.report(
                ClusterError(
                    f"service terminate: logPosition={self.log_position} > terminationPosition="
                    f"{position}"
                )
            )
        self._termination_position = NULL_POSITION
        self.is_terminated = True
        with self._call("on_terminate"):  # the module waits for the acknowledgement in any case
            self._service.on_terminate(self._cluster)
        self._acknowledge(NULL_VALUE)
        raise AgentTerminated("the consensus module has asked for the end")

    # -- the log ---------------------------------------------------------------------------------

    def _on_join_log(self, event: JoinLog) -> None:
        """Leave a log where the next one begins: what it holds after that is never committed."""
        image = self.log_image
        if image is not None and event.log_position < image.position:
            self.report(
                ClusterError(
                    f"JoinLog at position {event.log_position}, the service is at {image.position}"
                )
            )
            return
        self._next_log = event
        if image is None:
            self._drop_log()  # one that was to be joined before
        else:
            self.end_log_at(event.log_position)

    def _follow(self, event: JoinLog) -> int:
        """Join a log when its image is there.

        A log that cannot be joined is reported: the module may name another one.
        """
        try:
            role = Role(event.role)
            if self._log is None:
                self._log = self._add_log(event, role)
            image = self._log.image(event.log_session_id)
            if image is None:
                return 0
            self._next_log = None
            self._join(event, role, image)
        except (AerologError, ValueError) as error:
            self._next_log = None
            if self.log_image is None:
                self._drop_log()
            self.report(error)
        return 1

    def _add_log(self, event: JoinLog, role: Role) -> Subscription:
        if role is not Role.LEADER:
            self._disconnect()
        if event.log_position != self.log_position:
            raise ClusterError(
                f"JoinLog at position {event.log_position}, the service is at {self.log_position}"
            )
        return self.aeron.add_subscription(event.log_channel, event.log_stream_id)

    def _join(self, event: JoinLog, role: Role, image: Image) -> None:
        self._check_joined(image)
        self._acknowledge(NULL_VALUE)
        self.member_id = event.member_id
        self._mark_file.set_member_id(event.member_id)
        self.join_image(image, event.max_log_position)
        self.is_answering = role is Role.LEADER and self.options.service_responder
        if self.is_answering:
            for session in self.sessions.values():
                self._connect(session)
        self._set_role(role)
        if event.max_log_position == _MAX_POSITION:
            self.on_ready()

    def _check_joined(self, image: Image) -> None:
        if image.join_position != self.log_position:
            raise ClusterError(
                f"the log was joined at {image.join_position}, the service is at"
                f" {self.log_position}"
            )

    def _leave_log(self, image: Image) -> None:
        self.log_position = max(image.position, self.log_position)
        self._drop_log()
        self._disconnect()
        self._set_role(Role.FOLLOWER)

    def _drop_log(self) -> None:
        self.leave_image()
        if self._log is not None:
            self._log.close()
            self._log = None

    def _connect(self, session: ClientSession) -> None:
        session.connect()
        self._connecting.append(session)

    def _disconnect(self) -> None:
        self.is_answering = False
        for session in self.sessions.values():
            session.disconnect()

    def _set_role(self, role: Role) -> None:
        if role is self.role:
            return
        self.role = role
        with self._call("on_role_change"):
            self._service.on_role_change(role)

    def on_event(self, data: bytes, position: int) -> None:
        """Process what is no message of a session."""
        event = SCHEMA.decode(data)
        if event is None:
            return
        if isinstance(event, _TIMED):
            event.check_enums()
            self.time = event.timestamp
        self.log_position = position
        match event:
            case TimerEvent():
                self._service.on_timer(event.correlation_id, event.timestamp)
            case SessionOpenEvent():
                self._on_session_open(event)
            case SessionCloseEvent():
                self._on_session_close(event)
            case ClusterActionRequest():
                is_standby = event.flags & CLUSTER_ACTION_FLAGS_STANDBY_SNAPSHOT
                if event.action == ClusterAction.SNAPSHOT and not is_standby:
                    self._take_snapshot()
            case NewLeadershipTermEvent():
                self._on_new_term(event)

    def _on_session_open(self, event: SessionOpenEvent) -> None:
        session = self.add_session(
            event.cluster_session_id,
            event.response_stream_id,
            event.response_channel,
            event.encoded_principal,
        )
        if self.is_answering:
            self._connect(session)
        self._service.on_session_open(session, event.timestamp)

    def add_session(
        self, session_id: int, stream_id: int, channel: str, principal: bytes
    ) -> ClientSession:
        """Add an open session.

        Raises:
            ClusterError: there is one with this id.
        """
        if session_id in self.sessions:
            raise ClusterError(f"clashing open session: {session_id}")
        session = ClientSession(self, session_id, stream_id, channel, principal)
        self.put_session(session)
        return session

    def _on_session_close(self, event: SessionCloseEvent) -> None:
        session = self.remove_session(event.cluster_session_id)
        if session is None:
            raise ClusterError(f"unknown session {event.cluster_session_id} is closed")
        session.disconnect()
        self._service.on_session_close(session, event.timestamp, CloseReason(event.close_reason))

    def check_app_version(self, version: int) -> None:
        """Check that the version of a snapshot or a term is the application's.

        Raises:
            AgentTerminated: its major number is another one.
        """
        if semantic_version_major(version) != semantic_version_major(self.app_version):
            raise AgentTerminated(
                f"incompatible version: {semantic_version_text(self.app_version)} log="
                f"{semantic_version_text(version)}"
            )

    def _on_new_term(self, event: NewLeadershipTermEvent) -> None:
        self.check_app_version(event.app_version)
        self.leadership_term_id = event.leadership_term_id
        self.time_unit = ClusterTimeUnit(event.time_unit)
        self._service.on_new_leadership_term(event)

    def _take_snapshot(self) -> None:
        begin_ns = self.clock.now_ns()
        try:
            recording_id = take_snapshot(self, self._service.on_take_snapshot)
        except AgentTerminated:
            raise
        except Exception as error:  # noqa: BLE001 - the module gives the snapshot up, and goes on
            self.report(error)
            recording_id = NULL_VALUE
        self._counters.on_snapshot(self.clock.now_ns() - begin_ns)
        self._acknowledge(recording_id)

    def snapshot_check(self, recording_id: int) -> SnapshotCheck:
        """Return what compares a snapshot of the present position with the one that was written."""
        return self._sums.snapshot_check(recording_id, self.leadership_term_id, self.log_position)

    def cover_snapshot(self, recording_id: int, written: MessageSum) -> None:
        """Cover a snapshot of the present position; a failure is reported, as nothing needs it."""
        try:
            self._sums.cover_snapshot(
                recording_id, self.leadership_term_id, self.log_position, written
            )
        except (AerologError, OSError) as error:
            self.report(error)

    # -- requests of the service -----------------------------------------------------------------

    @contextmanager
    def _during(self, callback: str) -> Iterator[None]:
        """Refuse requests meanwhile: members would not make them at one place of the log."""
        self.callback = callback
        try:
            yield
        finally:
            self.callback = ""

    def schedule_timer(self, correlation_id: int, deadline: int) -> None:
        """Schedule a timer."""
        self.check_callback("a timer")
        self._send(ScheduleTimer(correlation_id=correlation_id, deadline=deadline))

    def cancel_timer(self, correlation_id: int) -> None:
        """Take a timer back."""
        self.check_callback("a timer")
        self._send(CancelTimer(correlation_id=correlation_id))

    def session(self, session_id: int) -> ClientSession:
        """An open session.

        Raises:
            ClusterError: there is no such session.
        """
        session = self.sessions.get(session_id)
        if session is None:
            raise ClusterError(f"unknown clusterSessionId: {session_id}")
        return session

    def close_session(self, session: ClientSession) -> bool:
        """Ask for a session's end."""
        self.check_callback("the end of a session")
        self.session(session.session_id)
        if session.is_closing:
            return False
        self._send(CloseSession(cluster_session_id=session.session_id))
        session.is_closing = True
        return True

    def offer_to_log(self, parts: Iterable[Buffer]) -> int | OfferStatus:
        """Offer a message to the log; the session id in its header is the service's id."""
        self.check_callback("an offer to the log")
        header = self.egress_header(self.options.service_id)
        return self._to_module.offer_parts((header, *parts))


_TIMED: Final = (
    TimerEvent,
    SessionOpenEvent,
    SessionCloseEvent,
    ClusterActionRequest,
    NewLeadershipTermEvent,
)
