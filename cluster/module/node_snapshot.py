"""A snapshot of a node: those of its services and the module's own, entered in recording.log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.cluster.errors import ClusterError
from aerolog.cluster.files import EntryType, LogEntry, MessageSum
from aerolog.cluster.module import properties as p
from aerolog.cluster.module.extension import ExtensionError, snapshot_of
from aerolog.cluster.module.snapshots import write_snapshot
from aerolog.cluster.protocol import (
    MODULE_SNAPSHOT_TYPE_ID,
    NULL_VALUE,
    SnapshotMark,
    SnapshotMarker,
)

if TYPE_CHECKING:
    from aerolog.cluster.module.module_context import ModuleContext
    from aerolog.cluster.module.parts import ModuleParts
    from aerolog.transport.client.steps.caller import Steps


def complete_snapshot(parts: ModuleParts, position: int, timestamp: int) -> Steps[bool]:
    """Await the services' snapshots at a position, take the module's, and note them.

    Args:
        parts: the parts of the module.
        position: the log's position at which the snapshots are taken.
        timestamp: the cluster's time of the snapshots.

    Returns:
        Whether there is a snapshot: there is none when a service could not take its own.
    """
    context, config = parts.context, parts.context.config
    acks = yield from parts.services.await_acks(position)
    failed = [ack.service_id for ack in acks if ack.relevant_id == NULL_VALUE]
    for service_id in failed:
        context.reporter.event(f"service={service_id} failed to take snapshot")
    if failed:
        return False
    term = context.recording_log.term(context.leadership_term_id)
    if term is None:
        # The file was cut short, or is an older copy. The log itself has all messages.
        context.reporter.error(
            ClusterError(
                f"failed to take snapshot at position {position}: {context.recording_log.path}"
                f" has no entry of term {context.leadership_term_id}; the next term's snapshots"
                " can be taken again"
            ),
            "snapshot of an unknown term",
        )
        return False
    written = MessageSum()
    try:
        recording_id = yield from write_snapshot(
            context.aeron,
            context.archive,
            written,
            config[p.SNAPSHOT_CHANNEL],
            config[p.SNAPSHOT_STREAM],
            SnapshotMarker(
                type_id=MODULE_SNAPSHOT_TYPE_ID,
                log_position=position,
                leadership_term_id=context.leadership_term_id,
                mark=SnapshotMark.BEGIN,
                time_unit=config.time_unit,
                app_version=config[p.APP_VERSION],
            ),
            parts.state.snapshot(),
            () if context.extension is None else snapshot_of(context.extension),
        )
    except ExtensionError as error:
        context.reporter.error(error, "snapshot")
        return False
    where = (recording_id, context.leadership_term_id, position)
    context.reporter.run(lambda: context.sums.cover_snapshot(*where, written))
    of_services = [ack.relevant_id for ack in acks]
    _note_snapshot(context, term, position, timestamp, [*enumerate(of_services)], recording_id)
    return True


def _note_snapshot(
    context: ModuleContext,
    term: LogEntry,
    position: int,
    timestamp: int,
    services: list[tuple[int, int]],
    module: int,
) -> None:
    """Enter a snapshot into the recording log, the services first and the module last."""
    for service_id, recording_id in (*reversed(services), (NULL_VALUE, module)):
        context.recording_log.append(
            LogEntry(
                recording_id=recording_id,
                leadership_term_id=term.leadership_term_id,
                term_base_log_position=term.term_base_log_position,
                log_position=position,
                timestamp=timestamp,
                service_id=service_id,
                type=EntryType.SNAPSHOT,
            )
        )
