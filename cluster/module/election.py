"""From a recovered node to a leader: the states of an election (spec cluster 13).

A member alone has its quorum at once: it raises the candidate term, replays what its services lack,
and opens the log. The states are those of the reference, whose tools read them from a counter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.client.recording_position import RecordingPosition, recording_begun
from aerolog.archive.protocol import SourceLocation
from aerolog.cluster.counter_types import ElectionState, ModuleState, Role
from aerolog.cluster.errors import ClusterError
from aerolog.cluster.files import CandidateTerm, EntryType, LogEntry
from aerolog.cluster.module import properties as p
from aerolog.cluster.module.event_log import ClusterEventCode
from aerolog.cluster.module.log_publisher import LogPublisher
from aerolog.cluster.module.node_snapshot import complete_snapshot
from aerolog.cluster.module.steady_agent import pass_over_messages
from aerolog.cluster.protocol import (
    CLUSTER_ACTION_FLAGS_DEFAULT,
    NULL_POSITION,
    NULL_VALUE,
    BooleanType,
    ClusterAction,
    ClusterActionRequest,
    JoinLog,
)
from aerolog.transport.client.steps.added_stream import added
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from aerolog.cluster.module.parts import ModuleParts
    from aerolog.transport.client.steps.caller import Steps
    from aerolog.transport.client.subscription import Subscription

_MAX_POSITION: Final = 2**63 - 1
_REPLAY_LIMIT: Final = 10_000
_INITIAL_TERM_ID: Final = 0
_DEFAULT_TERM_LENGTH: Final = "64m"


class Election:
    """One election of a node.

    Args:
        parts: the parts of the module; its state is at the position to which snapshots have
            brought it.
        append_position: how much of the log is recorded, bytes.
        is_startup: whether the node has just been started.

    Attributes:
        log: the leader's log, once it leads.
        log_subscription: the same, for an extension to read.
        recorded: how much of the log is recorded, once it leads.
        recording_id: the log's recording.
        recording_request: correlation id of the request that had the log recorded.
    """

    def __init__(self, parts: ModuleParts, append_position: int, *, is_startup: bool) -> None:
        self._parts = parts
        self._context = context = parts.context
        self._state = parts.state
        self._append_position = append_position
        self.recording_id = parts.recording.recording_id
        self.log: LogPublisher | None = None
        self.log_subscription: Subscription | None = None
        self.recorded: RecordingPosition | None = None
        self.recording_request = NULL_VALUE
        self._is_startup = is_startup
        self._stage = ElectionState.INIT
        last = context.recording_log.last_term
        self._log_term_id = context.leadership_term_id if last is None else last.leadership_term_id
        self._term_id = NULL_VALUE

    def _enter(self, stage: ElectionState, reason: str = "") -> None:
        self._context.counters.election_state.value = stage
        old, self._stage = self._stage, stage
        if old is stage:
            return
        is_logged = stage >= ElectionState.LEADER_READY
        self._context.events.log(
            ClusterEventCode.ELECTION_STATE_CHANGE,
            (old, stage),
            self._context.config.member.member_id,
            self._term_id,
            self._term_id,
            self._state.log_position,
            self._term_id if is_logged else self._log_term_id,
            self._append_position,
            NULL_POSITION,
            reason,
        )

    def lead_alone(self, reason: str) -> Steps[None]:
        """Become the leader of a cluster of one member.

        Args:
            reason: why there is an election.
        """
        context = self._context
        context.counters.election_count.add(1)
        self._enter(ElectionState.INIT)
        context.events.log(
            ClusterEventCode.NEW_ELECTION,
            self._log_term_id,
            self._state.log_position,
            self._append_position,
            reason,
        )
        term_id = self._term_id = self._raise_candidate_term()
        context.counters.role.value = Role.LEADER
        context.events.log(ClusterEventCode.ROLE_CHANGE, (Role.FOLLOWER, Role.LEADER))
        self._enter(ElectionState.LEADER_LOG_REPLICATION, "single-node cluster leader")
        if self._is_startup:
            self._parts.status.set(ModuleState.ACTIVE)
        yield 1
        self._enter(ElectionState.LEADER_REPLAY)
        if self._state.log_position < self._append_position:
            yield from self._replay(self._append_position)
        self._enter(ElectionState.LEADER_INIT)
        yield from self._open_log(term_id)
        self._enter(ElectionState.LEADER_READY)
        assert self.log is not None
        assert self.recorded is not None
        context.counters.leadership_term.value = term_id
        # A log that is not recorded need not have a reader. The agent then elects again.
        while self.recorded.is_active and not self.log.new_leadership_term(
            timestamp=self._cluster_time(),
            term_base_log_position=self._append_position,
            leader_member_id=context.leader_member_id,
            time_unit=context.config.time_unit,
            app_version=context.config[p.APP_VERSION],
        ):
            yield 0

    def close(self) -> None:
        """Show that the election is over."""
        self._enter(ElectionState.CLOSED)

    def _cluster_time(self) -> int:
        return self._context.cluster_time()

    def _raise_candidate_term(self) -> int:
        context = self._context
        stored = context.node_state.candidate_term.candidate_term_id
        last = context.recording_log.last_term
        term_id = max(stored, NULL_VALUE if last is None else last.leadership_term_id) + 1
        return context.node_state.propose_max(
            CandidateTerm(
                candidate_term_id=term_id,
                timestamp=context.clock.now_epoch_ms(),
                log_position=self._append_position,
            )
        )

    # -- the log that there is -------------------------------------------------------------------

    def _replay(self, end: int) -> Steps[None]:
        """Bring module and services to a position of the recorded log."""
        context, config, state = self._context, self._context.config, self._state
        assert self.recording_id is not None
        start, state.recording_id = state.log_position, self.recording_id
        subscription = yield from context.archive.replay(
            self.recording_id,
            start,
            end - start,
            channel=config[p.REPLAY_CHANNEL],
            stream_id=config[p.REPLAY_STREAM],
            follow=False,
        )
        try:
            while not subscription.images:
                yield 0
            image = subscription.images[0]
            channel = ChannelUri.parse(config[p.REPLAY_CHANNEL]).replace(
                session_id=image.session_id
            )
            # Nothing is read before the services have joined: a driver lets a subscriber of an
            # IPC stream join where the slowest one is.
            yield from self._join(
                start, end, image.session_id, config[p.REPLAY_STREAM], str(channel), Role.FOLLOWER
            )
            while state.log_position < end:
                passed = pass_over_messages(image, _REPLAY_LIMIT, end)
                received = image.poll_messages(1, until=end) if passed < _REPLAY_LIMIT else []
                event = None
                for message in received:
                    event = state.on_log(message.data, message.position)
                state.log_position = image.position
                context.counters.commit_position.propose_max(image.position)
                if isinstance(event, ClusterActionRequest):
                    yield from self._act(event)
                work = passed + len(received)
                if work == 0 and image.closed and image.position < end:
                    raise ClusterError(f"the replay of the log ended at {image.position} of {end}")
                yield work
        finally:
            subscription.close()

    def _act(self, request: ClusterActionRequest) -> Steps[None]:
        """Do what operators asked for, as a replayed log says."""
        match request.action:
            case ClusterAction.SUSPEND:
                self._parts.status.set(ModuleState.SUSPENDED)
            case ClusterAction.RESUME:
                self._parts.status.set(ModuleState.ACTIVE)
            case ClusterAction.SNAPSHOT if request.flags == CLUSTER_ACTION_FLAGS_DEFAULT:
                # The services take this snapshot again, and wait for the module to do so.
                self._parts.status.set(ModuleState.SNAPSHOT)
                yield from complete_snapshot(self._parts, request.log_position, request.timestamp)
                self._parts.status.set(ModuleState.ACTIVE)

    def _join(
        self, start: int, end: int, session_id: int, stream_id: int, channel: str, role: Role
    ) -> Steps[None]:
        yield from self._parts.services.join_log(
            JoinLog(
                log_position=start,
                max_log_position=end,
                member_id=self._context.config.member.member_id,
                log_session_id=session_id,
                log_stream_id=stream_id,
                is_startup=BooleanType(self._is_startup),
                role=role,
                log_channel=channel,
            )
        )
        yield from self._parts.services.await_acks(start)

    # -- the log that is written -----------------------------------------------------------------

    def _log_channel(self, tags: str, term_length: int | None, mtu: int | None) -> ChannelUri:
        config = self._context.config
        uri = ChannelUri.parse(config[p.LOG_CHANNEL]).add_alias_if_absent("log")
        uri = uri.replace(tags=tags)
        if uri.is_udp:
            uri = uri.replace(ssc=len(config.members) == 1)
            if "endpoint" not in uri:
                uri = uri.put("control-mode", "manual")
                if config[p.LOG_CONTROL]:
                    host = config.member.log.rpartition(":")[0]
                    uri = uri.put("control", f"{host}:0")
        if mtu is not None:
            uri = uri.replace(mtu=mtu)
        length = term_length or uri.get("term-length") or _DEFAULT_TERM_LENGTH
        return uri.with_position(self._append_position, _INITIAL_TERM_ID, length)

    def _open_log(self, term_id: int) -> Steps[None]:
        context, config = self._context, self._context.config
        term_length = mtu = None
        if self.recording_id is not None:
            descriptor = yield from context.archive.list_recording(self.recording_id)
            if descriptor is None:
                raise ClusterError(
                    f"the archive does not know recording {self.recording_id}, the log"
                )
            term_length, mtu = descriptor.term_buffer_length, descriptor.mtu_length
        publication_tag, channel_tag = (context.aeron.next_correlation_id() for _ in range(2))
        uri = self._log_channel(f"{channel_tag},{publication_tag}", term_length, mtu)
        stream_id = config[p.LOG_STREAM]
        publication = yield from added(
            context.aeron.add_exclusive_publication_async(str(uri), stream_id)
        )
        self.log = LogPublisher(publication, term_id)
        common = {"tags": channel_tag, "session_id": publication.session_id, "alias": "log"}
        recorded = (
            ChannelUri.ipc(**common) if uri.is_ipc else ChannelUri.udp(**common)  # type: ignore[arg-type]
        )
        if self.recording_id is None:
            yield from context.archive.start_recording(
                str(recorded), stream_id, SourceLocation.LOCAL, auto_stop=True
            )
        else:
            yield from context.archive.extend_recording(
                self.recording_id, str(recorded), stream_id, SourceLocation.LOCAL, auto_stop=True
            )
        self.recording_request = context.archive.last_correlation_id
        self.recorded = yield from recording_begun(
            context.archive.conversation, publication.session_id
        )
        self.recording_id = self.recorded.recording_id
        self._note_term(term_id)
        context.leadership_term_id = term_id
        context.leader_member_id = config.member.member_id
        read = str(recorded if uri.is_ipc else recorded.spy())
        if context.extension is not None:
            self.log_subscription = yield from added(
                context.aeron.add_subscription_async(read, stream_id)
            )
            while not self.log_subscription.images:
                yield 0
        yield from self._join(
            self._append_position,
            _MAX_POSITION,
            publication.session_id,
            stream_id,
            read,
            Role.LEADER,
        )

    def _note_term(self, term_id: int) -> None:
        """Enter the end of the last term and the begin of this one into the recording log."""
        recording_log = self._context.recording_log
        last = recording_log.last_term
        if last is not None and last.log_position != self._append_position:
            recording_log.commit_log_position(last.leadership_term_id, self._append_position)
        assert self.recording_id is not None
        recording_log.append(
            LogEntry(
                recording_id=self.recording_id,
                leadership_term_id=term_id,
                term_base_log_position=self._append_position,
                log_position=-1,
                timestamp=self._cluster_time(),
                type=EntryType.TERM,
            )
        )
