"""Makes an image: its log, its counters, its congestion control and its NAK delays.

Spec wire-protocol 8.5, 9.3, 10; spec cnc-and-commands 15.2. Conductor only.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from aerolog.transport.config.definition import Infer
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.driver import properties
from aerolog.transport.driver.channels.channel_params import StartPosition
from aerolog.transport.driver.conductor.subscriber_positions import SubscriberPositions
from aerolog.transport.driver.congestion_control.congestion_control_supplier import (
    image_congestion_control,
)
from aerolog.transport.driver.counters.endpoint_counters import source_text
from aerolog.transport.driver.counters.stream_counters import StreamCounters
from aerolog.transport.driver.receive.loss_detector import OptimalMulticastDelay, StaticDelay
from aerolog.transport.driver.receive.publication_image import PublicationImage
from aerolog.transport.driver.receive.receive_stream import ReceiveStream
from aerolog.transport.driver.receive.source_limits import host_of
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType
from aerolog.transport.memory.cnc import HEADER_LENGTH
from aerolog.transport.protocol.frames import SETUP_FLAG_GROUP, SETUP_FLAG_SEND_RESPONSE
from aerolog.transport.uri import keys

if TYPE_CHECKING:
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.driver.conductor.conductor_context import ConductorContext
    from aerolog.transport.driver.congestion_control.congestion_control import CongestionControl
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.driver.logs.log_store import LogFile
    from aerolog.transport.driver.receive.loss_detector import FeedbackDelay
    from aerolog.transport.driver.receive.network_subscription import NetworkSubscription
    from aerolog.transport.driver.receive.receive_channel_endpoint import ReceiveChannelEndpoint
    from aerolog.transport.driver.receive.receiver_events import CreateImage

_COUNTER_STRIDE: Final = 128
_SEED_BITS: Final = 64


def initial_window(endpoint: ReceiveChannelEndpoint, settings: Settings) -> int:
    """Return the initial receiver window of an endpoint's images, in bytes."""
    return endpoint.channel.receiver_window_length or settings[properties.RCV_INITIAL_WINDOW_LENGTH]


def image_metadata(
    conductor: ConductorContext,
    endpoint: ReceiveChannelEndpoint,
    event: CreateImage,
    subscriptions: list[NetworkSubscription],
) -> LogMetadata:
    """Return the initial metadata of an image's log, which gives the image its correlation id.

    Args:
        conductor: the parts of the driver that the image uses.
        endpoint: the endpoint that received the SETUP.
        event: the fields of the SETUP.
        subscriptions: the subscriptions that want the image, at least one.
    """
    context = conductor.context
    return _metadata(
        conductor,
        endpoint,
        event,
        subscriptions,
        correlation_id=context.cnc.to_driver.next_correlation_id(),
        window=initial_window(endpoint, context.settings),
        is_group=_is_group(endpoint, event, subscriptions[0].params.group),
    )


def make_image(
    conductor: ConductorContext,
    endpoint: ReceiveChannelEndpoint,
    event: CreateImage,
    subscriptions: list[NetworkSubscription],
    metadata: LogMetadata,
    log: LogFile,
) -> PublicationImage:
    """Make an image that no subscription has joined yet.

    Args:
        conductor: the parts of the driver that the image uses.
        endpoint: the endpoint that received the SETUP.
        event: the fields of the SETUP.
        subscriptions: the subscriptions that want the image, at least one; the first one decides
            how the image is received.
        metadata: the metadata with which its log was made.
        log: its log, which stays the caller's on an error.

    Raises:
        CountersFullError: no counter is free.
        ChannelUriError, ConfigurationError: no congestion control has the name that is asked for.
    """
    context = conductor.context
    first = subscriptions[0]
    correlation_id = metadata.correlation_id
    congestion = _congestion(conductor, endpoint, event, initial_window(endpoint, context.settings))
    counters = StreamCounters(
        context,
        correlation_id,
        event.session_id,
        event.stream_id,
        first.channel,
        first.client.client_id,
    )
    with ExitStack() as undo:
        undo.callback(counters.free)
        _show_congestion(context, counters, congestion, endpoint.channel.original)
        hwm_id = counters.allocate(CounterType.RECEIVER_HWM)
        pos_id = counters.allocate(CounterType.RECEIVER_POSITION)
        naks_id = counters.allocate(CounterType.RECEIVER_NAKS_SENT)
        source = source_text(event.source)
        assert log.logs is not None
        stream = ReceiveStream(
            log.logs,
            context.counters,
            endpoint.endpoint,
            context.clock,
            transport_index=event.transport_index,
            control=event.control,
            rcv_hwm_id=hwm_id,
            rcv_pos_id=pos_id,
            rcv_naks_sent_id=naks_id,
            initial_position=initial_position(event),
            subscribers=_subscriber_positions(context, first),
            feedback_delay=_feedback_delay(context, endpoint, first, is_group=metadata.group),
            congestion=congestion,
            loss_report=context.loss_report,
            channel=endpoint.channel.original,
            source=source,
            reliable=first.params.is_reliable,
            sparse=metadata.sparse,
            status_message_timeout_ns=context.settings[properties.RCV_STATUS_MESSAGE_TIMEOUT],
            image_liveness_timeout_ns=context.settings[properties.IMAGE_LIVENESS_TIMEOUT],
        )
        undo.pop_all()
        return PublicationImage(
            correlation_id=correlation_id,
            session_id=event.session_id,
            stream_id=event.stream_id,
            endpoint=endpoint,
            source_identity=source,
            source_host=host_of(event.source),
            counter_ids=counters.ids,
            log=log,
            stream=stream,
            is_response_wanted=bool(event.flags & SETUP_FLAG_SEND_RESPONSE),
        )


def initial_position(event: CreateImage) -> int:
    """Return the position at which an image joins: the one that the SETUP gives."""
    start = StartPosition(event.initial_term_id, event.active_term_id, event.term_offset)
    return start.position(event.term_length)


def _show_congestion(
    context: DriverContext, counters: StreamCounters, congestion: CongestionControl, channel: str
) -> None:
    """Allocate the counters in which a strategy shows its numbers.

    Args:
        context: the driver's shared state.
        counters: the counters of the image.
        congestion: the strategy.
        channel: the channel of the endpoint, which has chosen the strategy.
    """
    lengths = context.cnc.header.lengths
    values_at = HEADER_LENGTH + lengths.to_driver + lengths.to_clients + lengths.counter_metadata
    ids = [
        counters.allocate(CounterType.PER_IMAGE, name=name, channel=channel, has_owner=False)
        for name in congestion.counter_names
    ]
    if ids:
        offsets = (values_at + _COUNTER_STRIDE * counter_id for counter_id in ids)
        congestion.bind_counters(context.cnc.mapped, *offsets)


def _congestion(
    conductor: ConductorContext, endpoint: ReceiveChannelEndpoint, event: CreateImage, window: int
) -> CongestionControl:
    """Return the strategy that the channel of the endpoint names, else the driver's."""
    return image_congestion_control(
        endpoint.channel.uri.get(keys.CC),
        conductor.context.settings,
        receiver_window=window,
        term_length=event.term_length,
        mtu=event.mtu,
        now_ns=conductor.agent.now_ns,
        session_id=event.session_id,
        stream_id=event.stream_id,
    )


def _is_group(endpoint: ReceiveChannelEndpoint, event: CreateImage, group: Infer) -> bool:
    """Return whether NAKs are delayed as those of a member of a group."""
    if group is Infer.INFER:
        return endpoint.channel.is_multicast or bool(event.flags & SETUP_FLAG_GROUP)
    return group is Infer.TRUE


def _feedback_delay(
    context: DriverContext,
    endpoint: ReceiveChannelEndpoint,
    first: NetworkSubscription,
    *,
    is_group: bool,
) -> FeedbackDelay:
    settings = context.settings
    if not first.params.is_reliable:
        return StaticDelay.unreliable()
    if is_group:
        return OptimalMulticastDelay(
            context.random.getrandbits(_SEED_BITS),
            settings[properties.NAK_MULTICAST_MAX_BACKOFF],
            settings[properties.NAK_MULTICAST_GROUP_SIZE],
        )
    return StaticDelay.unicast(
        settings[properties.NAK_UNICAST_DELAY],
        settings[properties.NAK_UNICAST_RETRY_DELAY_RATIO],
        endpoint.channel.nak_delay_ns,
    )


def _subscriber_positions(
    context: DriverContext, first: NetworkSubscription
) -> SubscriberPositions:
    return SubscriberPositions(
        context.counters,
        window_limit_timeout_ns=first.params.untethered_window_limit_timeout_ns,
        linger_timeout_ns=first.params.untethered_linger_timeout_ns,
        resting_timeout_ns=first.params.untethered_resting_timeout_ns,
    )


def _metadata(
    conductor: ConductorContext,
    endpoint: ReceiveChannelEndpoint,
    event: CreateImage,
    subscriptions: list[NetworkSubscription],
    *,
    correlation_id: int,
    window: int,
    is_group: bool,
) -> LogMetadata:
    params = subscriptions[0].params
    oldest = min(subscriptions, key=lambda link: link.registration_id)
    limits = conductor.context.socket_limits
    return LogMetadata(
        correlation_id=correlation_id,
        session_id=event.session_id,
        stream_id=event.stream_id,
        initial_term_id=event.initial_term_id,
        term_id=event.active_term_id,
        term_offset=event.term_offset,
        term_length=event.term_length,
        mtu_length=event.mtu,
        type=LogType.IMAGE,
        page_size=conductor.context.logs.page_size,
        receiver_window_length=min(window, event.term_length // 2),
        socket_sndbuf_length=endpoint.sndbuf_length,
        os_default_socket_sndbuf_length=limits.default_sndbuf,
        os_max_socket_sndbuf_length=limits.max_sndbuf,
        socket_rcvbuf_length=endpoint.rcvbuf_length,
        os_default_socket_rcvbuf_length=limits.default_rcvbuf,
        os_max_socket_rcvbuf_length=limits.max_rcvbuf,
        untethered_window_limit_timeout_ns=params.untethered_window_limit_timeout_ns,
        untethered_linger_timeout_ns=params.untethered_linger_timeout_ns,
        untethered_resting_timeout_ns=params.untethered_resting_timeout_ns,
        group=is_group,
        is_response=params.is_response,
        rejoin=params.is_rejoin,
        reliable=params.is_reliable,
        sparse=oldest.params.is_sparse,
        tether=params.is_tether,
    )
