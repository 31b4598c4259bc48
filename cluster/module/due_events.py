"""The events that a leader writes of itself: timers, messages of services (spec cluster 17, 18)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from aerolog.transport.errors import MessageTooLargeError

if TYPE_CHECKING:
    from aerolog.cluster.module.log_publisher import LogPublisher
    from aerolog.cluster.module.module_context import ModuleContext
    from aerolog.cluster.module.pending_messages import PendingMessages
    from aerolog.cluster.module.replicated_state import ReplicatedState
    from aerolog.cluster.module.timers import Timers


def append_due_events(context: ModuleContext, state: ReplicatedState, log: LogPublisher) -> int:
    """Write the events that are due; returns how many were written."""
    timers = state.timers
    work = timers.poll(context.cluster_time(), partial(_append_timer, context, timers, log))
    for pending in state.pending:
        if len(pending):
            work += pending.poll(partial(_append_message, context, pending, log))
    return work


def _append_message(
    context: ModuleContext,
    pending: PendingMessages,
    log: LogPublisher,
    session_id: int,
    data: bytes,
) -> bool:
    """Write a service's message into the log; one that never fits keeps only its number."""
    try:
        position = log.service_message(session_id, context.cluster_time(), data)
    except MessageTooLargeError as error:
        context.reporter.error(error, "message of a service that is too long")
        return True
    if position:
        context.uncommitted.note(position, partial(pending.take_back, session_id, data))
    return position > 0


def _append_timer(
    context: ModuleContext, timers: Timers, log: LogPublisher, correlation_id: int
) -> bool:
    """Write a timer's event into the log."""
    now = context.cluster_time()

    def take_back() -> None:
        if correlation_id not in dict(timers):  # its service may have scheduled it again
            timers.schedule(correlation_id, now)

    position = log.timer(correlation_id, now)
    if position:
        context.uncommitted.note(position, take_back)
    return position > 0
