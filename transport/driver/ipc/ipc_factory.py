"""Makes an IPC publication with log, counters and stream, or nothing at all; conductor only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.driver import properties
from aerolog.transport.driver.conductor.publication_log import publication_metadata, start_of
from aerolog.transport.driver.counters.stream_counters import StreamCounters
from aerolog.transport.driver.ipc.ipc_publication import IpcPublication
from aerolog.transport.driver.ipc.ipc_stream import IpcStream

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.protocol.commands import AddExclusivePublication, AddPublication


def make_publication(
    context: DriverContext,
    command: AddPublication | AddExclusivePublication,
    params: PublicationParams,
    *,
    is_exclusive: bool,
    now_ns: int,
) -> IpcPublication:
    """Make a publication that has no references yet.

    Raises:
        CountersFullError: no counter is free; nothing is left behind.
        StorageSpaceError: the disk has no room for the log; nothing is left behind.
    """
    start = start_of(context, params)
    log = context.logs.create_publication_log(
        command.correlation_id,
        publication_metadata(context, command, params, start, is_exclusive=is_exclusive),
    )
    counters = StreamCounters.of_publication(context, command, params)
    try:
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
            now_ns=now_ns,
        )
    except BaseException:
        counters.free()
        context.logs.discard(log)
        raise
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
