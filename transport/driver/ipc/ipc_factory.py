"""Makes an IPC publication with log, counters and stream, or nothing at all; conductor only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.driver import properties
from aerolog.transport.driver.channels.channel_params import StartPosition
from aerolog.transport.driver.conductor.session_ids import wrap_int32
from aerolog.transport.driver.counters.stream_counters import CounterType, stream_key, stream_label
from aerolog.transport.driver.counters.system_counters import SystemCounter
from aerolog.transport.driver.ipc.ipc_publication import IpcPublication
from aerolog.transport.driver.ipc.ipc_stream import IpcStream
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.logbuffer.descriptor import LogBuffers
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
        StorageSpaceError: the disk has no room for the log; nothing is left behind.
    """
    start = start_of(context, params)
    log = context.logs.create_publication_log(
        command.correlation_id,
        publication_metadata(context, command, params, start, is_exclusive=is_exclusive),
    )
    counter_ids: list[int] = []
    try:
        position = position_of(start, params.term_length)
        kind = "exclusive" if is_exclusive else "concurrent"
        for type_id, name in (
            (CounterType.PUBLISHER_POSITION, f"pub-pos ({kind})"),
            (CounterType.PUBLISHER_LIMIT, "pub-lmt"),
        ):
            counter_ids.append(
                _allocate(context, command, params, type_id=type_id, name=name, position=position)
            )
        assert log.logs is not None
        return IpcPublication(
            registration_id=command.correlation_id,
            client_id=command.client_id,
            stream_id=command.stream_id,
            session_id=params.session_id,
            channel=command.channel,
            params=params,
            is_exclusive=is_exclusive,
            start=start,
            pub_pos_id=counter_ids[0],
            pub_lmt_id=counter_ids[1],
            log=log,
            stream=_stream(
                context, log.logs, params, counter_ids,
                is_exclusive=is_exclusive, position=position, now_ns=now_ns,
            ),
        )  # fmt: skip
    except BaseException:
        for counter_id in counter_ids:
            context.free_counter(counter_id)
        context.logs.discard(log)
        raise


def discard_publication(context: DriverContext, publication: IpcPublication) -> None:
    """Undo the making of a publication that no client has been told about."""
    free_counters(context, publication)
    context.logs.discard(publication.log)


def free_counters(context: DriverContext, publication: IpcPublication) -> None:
    """Free the counters of the publisher."""
    context.free_counter(publication.pub_pos_id)
    context.free_counter(publication.pub_lmt_id)


def _allocate(
    context: DriverContext,
    command: AddPublication | AddExclusivePublication,
    params: PublicationParams,
    *,
    type_id: int,
    name: str,
    position: int,
) -> int:
    identity = (command.correlation_id, params.session_id, command.stream_id, command.channel)
    return context.counters.allocate(
        type_id,
        stream_label(name, *identity),
        stream_key(*identity),
        registration_id=command.correlation_id,
        owner_id=command.client_id,
        value=position,
    )


def _stream(
    context: DriverContext,
    logs: LogBuffers,
    params: PublicationParams,
    counter_ids: list[int],
    *,
    is_exclusive: bool,
    position: int,
    now_ns: int,
) -> IpcStream:
    return IpcStream(
        logs,
        context.counters,
        pub_pos_id=counter_ids[0],
        pub_lmt_id=counter_ids[1],
        unblocked_id=SystemCounter.UNBLOCKED_PUBLICATIONS,
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


def start_of(context: DriverContext, params: PublicationParams) -> StartPosition:
    """Return where a publication starts: as its channel says, else at a random term id."""
    if params.start is not None:
        return params.start
    initial_term_id = wrap_int32(context.random.getrandbits(32))
    return StartPosition(initial_term_id, initial_term_id, 0)


def position_of(start: StartPosition, term_length: int) -> int:
    """Return the position of a start in bytes."""
    return wrap_int32(start.term_id - start.initial_term_id) * term_length + start.term_offset


def publication_metadata(
    context: DriverContext,
    command: AddPublication | AddExclusivePublication,
    params: PublicationParams,
    start: StartPosition,
    *,
    is_exclusive: bool,
) -> LogMetadata:
    """Return the initial metadata of the log of a publication of any media."""
    limits = context.socket_limits
    return LogMetadata(
        correlation_id=command.correlation_id,
        session_id=params.session_id,
        stream_id=command.stream_id,
        initial_term_id=start.initial_term_id,
        term_id=start.term_id,
        term_offset=start.term_offset,
        term_length=params.term_length,
        mtu_length=params.mtu_length,
        type=LogType.EXCLUSIVE_PUBLICATION if is_exclusive else LogType.PUBLICATION,
        page_size=context.logs.page_size,
        publication_window_length=params.window_length,
        os_default_socket_sndbuf_length=limits.default_sndbuf,
        os_max_socket_sndbuf_length=limits.max_sndbuf,
        os_default_socket_rcvbuf_length=limits.default_rcvbuf,
        os_max_socket_rcvbuf_length=limits.max_rcvbuf,
        max_resend=params.max_resend,
        entity_tag=params.entity_tag,
        response_correlation_id=params.response_correlation_id,
        linger_timeout_ns=params.linger_timeout_ns,
        untethered_window_limit_timeout_ns=params.untethered_window_limit_timeout_ns,
        untethered_linger_timeout_ns=params.untethered_linger_timeout_ns,
        untethered_resting_timeout_ns=params.untethered_resting_timeout_ns,
        is_response=params.is_response,
        sparse=params.sparse,
        signal_eos=params.signal_eos,
        spies_simulate_connection=params.spies_simulate_connection,
    )
