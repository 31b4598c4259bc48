"""What a node starts from: its newest snapshot, and the log behind it (spec cluster 3, 12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.cluster.protocol import NULL_VALUE
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.cluster.files.recording_log import LogEntry, RecordingLog


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryLog:
    """The log from which a node recovers.

    Attributes:
        leadership_term_id: its last term, -1 for a log that was replicated whole.
        term_base_log_position: where that term starts, bytes.
        log_position: where that term ends, -1 while it is open.
        start_position: where the replay starts: at the snapshot, or where the recording does.
        descriptor: the recording, as the archive lists it.
    """

    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    start_position: int
    descriptor: RecordingDescriptor


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryPlan:
    """What a node starts from; positions are bytes in the log.

    Attributes:
        last_leadership_term_id: the last term of the log, without a log the snapshot's; else -1.
        last_term_base_log_position: where that term starts.
        appended_log_position: where the recorded log ends, -1 while it is recorded.
        committed_log_position: up to where the log is known to be committed.
        snapshots: the module's entry, then those of services 0, 1 and so on; empty without one.
        log: None for a node that has none.
    """

    last_leadership_term_id: int
    last_term_base_log_position: int
    appended_log_position: int
    committed_log_position: int
    snapshots: list[LogEntry]
    log: RecoveryLog | None


def plan_recovery(
    log: RecordingLog,
    describe: Callable[[int], RecordingDescriptor | None],
    service_count: int,
    replicated_recording_id: int = NULL_VALUE,
) -> RecoveryPlan:
    """Find what a node starts from.

    The newest snapshot counts that the module and all services completed and nobody invalidated,
    where the reference takes the module's newest and fails if a service's is missing.

    Args:
        log: the node's recording log.
        describe: how an archive describes a recording; None for one that it does not have.
        service_count: how many services the node has.
        replicated_recording_id: a log that was copied to a node with an empty recording log.

    Raises:
        FileFormatError: the recording log names a recording that the archive does not have.
    """
    found = None
    snapshots = log.latest_snapshot(service_count)
    term = log.last_term
    if term is not None:
        found = _log(
            log, describe, term.recording_id, term, snapshots[0].log_position if snapshots else None
        )
    elif not log.entries and replicated_recording_id != NULL_VALUE:
        found = _log(log, describe, replicated_recording_id)
    last = found or (snapshots[0] if snapshots else None)
    committed = snapshots[0].log_position if snapshots else 0
    appended = committed
    if found is not None:
        appended = found.descriptor.stop_position
        if found.log_position != NULL_VALUE:
            committed = found.log_position
    return RecoveryPlan(
        last_leadership_term_id=last.leadership_term_id if last else NULL_VALUE,
        last_term_base_log_position=last.term_base_log_position if last else 0,
        appended_log_position=appended,
        committed_log_position=committed,
        snapshots=snapshots,
        log=found,
    )


def _log(
    log: RecordingLog,
    describe: Callable[[int], RecordingDescriptor | None],
    recording_id: int,
    term: LogEntry | None = None,
    snapshot_position: int | None = None,
) -> RecoveryLog:
    descriptor = describe(recording_id)
    if descriptor is None:
        raise FileFormatError(
            f"unknown recording id: {recording_id}: {log.path} names it as the log, and the archive"
            " does not have it; start the node with the archive folder that belongs to it"
        )
    start = descriptor.start_position if snapshot_position is None else snapshot_position
    return RecoveryLog(
        leadership_term_id=term.leadership_term_id if term else NULL_VALUE,
        term_base_log_position=term.term_base_log_position if term else 0,
        log_position=term.log_position if term else 0,
        start_position=start,
        descriptor=descriptor,
    )
