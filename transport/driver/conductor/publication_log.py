"""Where the log of a new publication starts, and its metadata, whatever its media.

Spec log-buffers 3, spec cnc-and-commands 14. Conductor only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.driver.channels.channel_params import StartPosition
from aerolog.transport.driver.conductor.session_ids import wrap_int32
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.protocol.commands import AddExclusivePublication, AddPublication


def start_of(context: DriverContext, params: PublicationParams) -> StartPosition:
    """Return where a publication starts: as its channel says, else at a random term id."""
    if params.start is not None:
        return params.start
    initial_term_id = wrap_int32(context.random.getrandbits(32))
    return StartPosition(initial_term_id, initial_term_id, 0)


def publication_metadata(
    context: DriverContext,
    command: AddPublication | AddExclusivePublication,
    params: PublicationParams,
    start: StartPosition,
    *,
    is_exclusive: bool,
) -> LogMetadata:
    """Return the initial metadata of a publication's log."""
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
