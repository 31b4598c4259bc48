"""What operators ask of a node: toggles, snapshots and the end (spec cluster 19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.cluster.counter_types import ModuleState, NodeToggle, Toggle
from aerolog.cluster.errors import ServiceLostError
from aerolog.cluster.files import EntryType
from aerolog.cluster.module import properties as p
from aerolog.cluster.module.flow import ALL_OF_THE_LOG, NOTHING
from aerolog.cluster.module.node_snapshot import complete_snapshot
from aerolog.cluster.protocol import ClusterAction

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.cluster.module.log_publisher import LogPublisher
    from aerolog.cluster.module.parts import ModuleParts
    from aerolog.transport.client.steps.caller import Steps


class NodeControl:
    """Does what operators ask for by the toggles of the cluster and of the node.

    Args:
        parts: the parts of the module.
        end: called when the node has ended in good order.
    """

    def __init__(self, parts: ModuleParts, end: Callable[[], None]) -> None:
        self._parts = parts
        self._context = parts.context
        self._status = parts.status
        self._flow = parts.flow
        self._end = end

    # -- toggles ---------------------------------------------------------------------------------

    def enable(self) -> None:
        """Let operators ask for something: the node has begun to lead."""
        is_suspended = self._status.state is ModuleState.SUSPENDED
        self._context.counters.toggle.compare_and_set(
            Toggle.INACTIVE, Toggle.SUSPEND if is_suspended else Toggle.NEUTRAL
        )
        self._context.counters.node_toggle.compare_and_set(NodeToggle.INACTIVE, NodeToggle.NEUTRAL)

    def disable(self) -> None:
        """Show that nothing can be asked of the node; what was asked before is left."""
        counters = self._context.counters
        counters.toggle.compare_and_set(Toggle.NEUTRAL, Toggle.INACTIVE)
        counters.node_toggle.compare_and_set(NodeToggle.NEUTRAL, NodeToggle.INACTIVE)

    def ask_snapshot(self) -> str:
        """Have a snapshot taken; returns why there will be none, empty if there will be one."""
        toggle = self._context.counters.toggle
        if toggle.compare_and_set(Toggle.NEUTRAL, Toggle.SNAPSHOT):
            return ""
        return f"Failed to switch ClusterControl to the ToggleState.SNAPSHOT: {toggle.value}"

    def poll(self) -> int:
        """Begin what is asked for; returns whether anything is, as a number."""
        toggle, log = self._context.counters.toggle.value, self._context.log
        if self._flow.is_under_way or log is None:
            return 0
        if toggle == Toggle.NEUTRAL:
            return self._poll_node_toggle()
        if self._status.state is ModuleState.SUSPENDED:
            if toggle == Toggle.RESUME and self._change_state(
                log, ClusterAction.RESUME, ModuleState.ACTIVE
            ):
                self._set_toggle(Toggle.NEUTRAL)
                return 1
            return 0
        match toggle:
            case Toggle.SUSPEND:
                self._change_state(log, ClusterAction.SUSPEND, ModuleState.SUSPENDED)
            case Toggle.RESUME:
                self._set_toggle(Toggle.NEUTRAL)
            case Toggle.SNAPSHOT:
                self._begin(self._take_snapshot(log))
            case Toggle.STANDBY_SNAPSHOT:
                self._set_toggle(Toggle.NEUTRAL)  # there is no standby to take one
            case Toggle.SHUTDOWN:
                self._begin(self._shut_down(log))
            case Toggle.ABORT:
                self._begin(self._abort(log))
            case _:
                return 0
        return 1

    def _begin(self, steps: Steps[None]) -> None:
        """Begin what writes into the log: it is asked for again if the log ends before."""
        self._flow.awaited_position = ALL_OF_THE_LOG
        self._flow.begin(steps)

    def _set_toggle(self, toggle: Toggle) -> None:
        self._context.counters.toggle.value = toggle

    def _change_state(self, log: LogPublisher, action: ClusterAction, state: ModuleState) -> bool:
        """Have the log suspend or resume the cluster; returns whether the event was taken."""
        asked, before = self._context.counters.toggle.value, self._status.state

        def take_back() -> None:
            self._status.set(before)
            self._context.counters.toggle.value = asked

        position = log.action(action, self._context.cluster_time())
        if position:
            self._context.uncommitted.note(position, take_back)
            self._status.set(state)
        return position > 0

    def _poll_node_toggle(self) -> int:
        toggle = self._context.counters.node_toggle.value
        if self._status.state is not ModuleState.ACTIVE:
            return 0
        match toggle:
            case NodeToggle.VALIDATE_RECORDING_LOG:
                self._flow.begin(self._validate_recording_log())
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

    def _take_snapshot(self, log: LogPublisher) -> Steps[None]:
        yield from self._snapshot(log)
        self._status.set(ModuleState.ACTIVE)
        self._set_toggle(Toggle.NEUTRAL)

    def _snapshot(self, log: LogPublisher) -> Steps[int]:
        """Have the services take snapshots at one position, take the module's, and note them."""
        context, config = self._context, self._context.config
        begin_ns = context.clock.now_ns()
        timestamp = context.cluster_time()
        while not (position := log.action(ClusterAction.SNAPSHOT, timestamp)):
            yield 0
            timestamp = context.cluster_time()
        self._status.set(ModuleState.SNAPSHOT)
        self._flow.awaited_position = position
        is_taken = yield from complete_snapshot(self._parts, position, timestamp)
        self._flow.awaited_position = NOTHING
        self._parts.sessions.on_snapshot_end(is_taken=is_taken)
        if not is_taken:
            return position
        context.counters.snapshots.add(1)
        took_ns = context.clock.now_ns() - begin_ns
        context.counters.max_snapshot_time.propose_max(took_ns)
        if took_ns > config[p.SNAPSHOT_THRESHOLD]:
            context.counters.snapshot_time_exceeded.add(1)
        return position

    def _shut_down(self, log: LogPublisher) -> Steps[None]:
        position = yield from self._snapshot(log)
        yield from self._terminate(position)

    def _abort(self, log: LogPublisher) -> Steps[None]:
        yield from self._terminate(log.position)

    def _terminate(self, position: int) -> Steps[None]:
        """Have the services end at a position, and end the node."""
        context = self._context
        self._flow.awaited_position = NOTHING
        self._status.set(ModuleState.TERMINATING)
        deadline_ns = context.clock.now_ns() + context.config[p.TERMINATION_TIMEOUT]
        try:
            for step in self._parts.services.terminate(position):
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
        self._status.set(ModuleState.CLOSED)
        self._end()
