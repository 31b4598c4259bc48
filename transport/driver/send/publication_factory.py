"""Plans a UDP publication with its flow control, and makes it with its log; conductor only.

Spec cnc-and-commands 14.1, spec counters 4 and 5.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.driver import properties
from aerolog.transport.driver.conductor.driver_publication import PublicationPlan
from aerolog.transport.driver.conductor.publication_log import publication_metadata, start_of
from aerolog.transport.driver.counters.stream_counters import StreamCounters
from aerolog.transport.driver.flow_control.flow_control import MinFlowControl
from aerolog.transport.driver.flow_control.flow_control_supplier import (
    create_flow_control,
    flow_control_params,
)
from aerolog.transport.driver.send.network_publication import NetworkPublication
from aerolog.transport.driver.send.retransmit_handler import RetransmitHandler
from aerolog.transport.driver.send.send_stream import SendStream
from aerolog.transport.uri import keys

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams
    from aerolog.transport.driver.conductor.conductor_context import ConductorContext
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.driver.flow_control.flow_control import FlowControl
    from aerolog.transport.driver.logs.log_store import LogFile
    from aerolog.transport.driver.send.send_channel_endpoint import SendChannelEndpoint
    from aerolog.transport.events.event_log import StreamEvents
    from aerolog.transport.network.udp_channel import UdpChannel
    from aerolog.transport.protocol.commands import AddExclusivePublication, AddPublication


def plan_publication(
    conductor: ConductorContext,
    command: AddPublication | AddExclusivePublication,
    channel: UdpChannel,
    params: PublicationParams,
    endpoint: SendChannelEndpoint,
    *,
    is_exclusive: bool,
) -> PublicationPlan[NetworkPublication]:
    """Plan a publication, which is made once it has a log.

    What makes it raises CountersFullError when no counter is free.

    Raises:
        ConfigurationError: the flow control is unknown or cannot be made.
        CountersFullError: no counter is free. In both cases nothing is left behind.
    """
    context = conductor.context
    flow_control = create_flow_control(
        flow_control_params(
            channel.uri.get(keys.FC), context.settings, is_group=channel.has_group_semantics
        ),
        params.term_length,
    )
    counters = StreamCounters.of_publication(context, command, params)
    start = start_of(context, params)
    events = context.events.stream(params.session_id, command.stream_id, command.channel)
    if isinstance(flow_control, MinFlowControl):
        receivers_id = counters.allocate(CounterType.FLOW_CONTROL_RECEIVERS, has_owner=False)
        flow_control.bind_counter(context.counters, receivers_id)
        if events is not None:
            flow_control.bind_events(events)

    def finish(log: LogFile) -> NetworkPublication:
        now_ns = conductor.agent.now_ns
        position = start.position(params.term_length)
        ids = _CounterIds(
            *counters.allocate_publisher(position, is_exclusive=is_exclusive),
            counters.allocate(CounterType.SENDER_POSITION, position),
            counters.allocate(CounterType.SENDER_LIMIT, position),
            counters.allocate(CounterType.SENDER_BPE),
            counters.allocate(CounterType.SENDER_NAKS_RECEIVED),
        )
        stream = _stream(
            context, log, channel, params, endpoint, flow_control, ids,
            is_exclusive=is_exclusive, position=position, now_ns=now_ns, events=events,
        )  # fmt: skip
        return NetworkPublication(
            registration_id=command.correlation_id,
            stream_id=command.stream_id,
            session_id=params.session_id,
            channel=command.channel,
            params=params,
            is_exclusive=is_exclusive,
            start=start,
            endpoint=endpoint,
            flow_control=flow_control,
            limit_id=ids.limit,
            counter_ids=counters.ids,
            log=log,
            stream=stream,
            since_ns=now_ns,
        )

    metadata = replace(
        publication_metadata(context, command, params, start, is_exclusive=is_exclusive),
        group=channel.has_group_semantics,
        socket_sndbuf_length=endpoint.sndbuf_length,
        socket_rcvbuf_length=endpoint.rcvbuf_length,
    )
    return PublicationPlan(metadata, finish, counters.free)


class _CounterIds(NamedTuple):
    """Ids of the counters that the conductor and the sender write."""

    position: int
    limit: int
    sent: int
    sender_limit: int
    back_pressure: int
    naks: int


def _stream(
    context: DriverContext,
    log: LogFile,
    channel: UdpChannel,
    params: PublicationParams,
    endpoint: SendChannelEndpoint,
    flow_control: FlowControl,
    ids: _CounterIds,
    *,
    is_exclusive: bool,
    position: int,
    now_ns: int,
    events: StreamEvents | None,
) -> SendStream:
    settings = context.settings
    assert log.logs is not None
    return SendStream(
        log.logs,
        context.counters,
        endpoint.endpoint,
        flow_control,
        RetransmitHandler(
            params.term_length,
            is_group=channel.has_group_semantics,
            max_resend=params.max_resend,
            delay_ns=settings[properties.RETRANSMIT_UNICAST_DELAY],
            linger_ns=settings[properties.RETRANSMIT_UNICAST_LINGER],
            events=events,
        ),
        pub_pos_id=ids.position,
        pub_lmt_id=ids.limit,
        snd_pos_id=ids.sent,
        snd_lmt_id=ids.sender_limit,
        snd_bpe_id=ids.back_pressure,
        snd_naks_id=ids.naks,
        exclusive=is_exclusive,
        sparse=params.sparse,
        initial_position=position,
        window_length=params.window_length,
        unblock_timeout_ns=settings[properties.PUBLICATION_UNBLOCK_TIMEOUT],
        now_ns=now_ns,
        window_limit_timeout_ns=params.untethered_window_limit_timeout_ns,
        linger_timeout_ns=params.untethered_linger_timeout_ns,
        resting_timeout_ns=params.untethered_resting_timeout_ns,
        connection_timeout_ns=settings[properties.PUBLICATION_CONNECTION_TIMEOUT],
        signal_eos=params.signal_eos,
        spies_simulate_connection=params.spies_simulate_connection,
        is_response=params.is_response,
        response_correlation_id=params.response_correlation_id,
        send_timestamp_offset=channel.channel_send_timestamp_offset,
    )
