"""The start of a node: its part of the log, its newest snapshot, its services (spec cluster 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.cluster.errors import ClusterError
from aerolog.cluster.files import plan_recovery
from aerolog.cluster.module import properties as p
from aerolog.cluster.module.snapshots import check_time_unit, load_snapshot
from aerolog.cluster.protocol import MODULE_SNAPSHOT_TYPE_ID, NULL_VALUE

if TYPE_CHECKING:
    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.cluster.files import LogEntry, RecoveryPlan
    from aerolog.cluster.module.parts import ModuleParts
    from aerolog.transport.client.steps.caller import Steps

#: Recordings among which a log is looked for where the recording log names none.
_LOGS_LISTED: Final = 1000


class Recovery:
    """Brings a node that starts to the position of its newest snapshot."""

    def __init__(self, parts: ModuleParts) -> None:
        self._parts = parts
        self._context = parts.context
        self._state = parts.state

    def recover(self) -> Steps[int]:
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
            self._parts.extension.start(has_snapshot=bool(plan.snapshots))
            acks = yield from self._parts.services.await_acks(self._state.log_position)
            failed = [ack.service_id for ack in acks if ack.relevant_id == NULL_VALUE]
            if failed:
                raise ClusterError(f"services {failed} did not start: see their error logs")
        finally:
            if not context.aeron.closed:
                recovery.close()
        if plan.snapshots:
            context.counters.leadership_term.value = term_id
        return plan.appended_log_position

    def _recovery_plan(self) -> Steps[RecoveryPlan]:
        """Find what the node starts from, once the archive knows where the log ends."""
        context = self._context
        yield from self._check_empty_log()
        last = context.recording_log.last_term
        known: dict[int, RecordingDescriptor] = {}
        if last is not None:
            self._parts.recording.recording_id = last.recording_id
            descriptor = yield from self._parts.recording.stopped(last.recording_id)
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
            None if context.extension is None else self._parts.extension.snapshot.append,
        )
        if not check.is_covered:
            context.reporter.run(lambda: context.sums.cover_snapshot(*where, check))
        check_time_unit(marker, config.time_unit)
        self._state.check_version(marker.app_version, "snapshot")
        self._state.log_position = entry.log_position
        context.leadership_term_id = entry.leadership_term_id
        context.counters.commit_position.value = entry.log_position
