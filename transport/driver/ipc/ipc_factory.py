"""Plans an IPC publication, and makes it with its log, counters and stream; conductor only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.driver import properties
from aerolog.transport.driver.conductor.driver_publication import PublicationPlan
from aerolog.transport.driver.conductor.publication_log import publication_metadata, start_of
from aerolog.transport.driver.counters.stream_counters import StreamCounters
from aerolog.transport.driver.ipc.ipc_publication import IpcPublication
from aerolog.transport.driver.ipc.ipc_stream import IpcStream

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams
    from aerolog.transport.driver.conductor.conductor_agent import ConductorAgent
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.driver.logs.log_store import LogFile
    from aerolog.transport.protocol.commands import AddExclusivePublication, AddPublication


def plan_publication(
    context: DriverContext,
    agent: ConductorAgent,
    command: AddPublication | AddExclusivePublication,
    params: PublicationParams,
    *,
    is_exclusive: bool,
) -> PublicationPlan[IpcPublication]:
    """Plan a publication, which is made once it has a log.

    What makes it raises CountersFullError when no counter is free.
    """
    start = start_of(context, params)
    counters = StreamCounters.of_publication(context, command, params)

    def finish(log: LogFile) -> IpcPublication:
        position = start.position(params.term_length)
        pub_pos_id, pub_lmt_id = counters.allocate_publisher(position, is_exclusive=is_exclusive)
        assert log.logs is not None
        stream = IpcStream(
            log.logs,
            context.counters,
            pub_pos_id=pub_pos_id,
            pub_lmt_id=pub_lmt_id,
            exclusive=is_exclusive,
            sparse=params.sparse,
            plenty=context.logs.has_plenty(3 * params.term_length),
            initial_position=position,
            window_length=params.window_length,
            unblock_timeout_ns=context.settings[properties.PUBLICATION_UNBLOCK_TIMEOUT],
            window_limit_timeout_ns=params.untethered_window_limit_timeout_ns,
            linger_timeout_ns=params.untethered_linger_timeout_ns,
            resting_timeout_ns=params.untethered_resting_timeout_ns,
            now_ns=agent.now_ns,
        )
        return IpcPublication(
            registration_id=command.correlation_id,
            stream_id=command.stream_id,
            session_id=params.session_id,
            channel=command.channel,
            params=params,
            is_exclusive=is_exclusive,
            start=start,
            limit_id=pub_lmt_id,
            counter_ids=counters.ids,
            log=log,
            stream=stream,
        )

    metadata = publication_metadata(context, command, params, start, is_exclusive=is_exclusive)
    return PublicationPlan(metadata, finish, counters.free)
