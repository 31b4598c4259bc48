"""Receive channel endpoints: they are opened, shared and closed here; conductor only.

Spec wire-protocol 3, 4.4, 8.7; spec cnc-and-commands 15.1. An endpoint is open as long as a stream,
a session, a response or an image refers to it. Then its status changes to closing, the receiver
releases its transports, and its sockets and counters are freed.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.driver import properties
from aerolog.transport.driver.channels.endpoint_match import (
    ExistingEndpoint,
    check_receive_endpoint,
    is_canonical_match,
    is_tagged_match,
)
from aerolog.transport.driver.channels.media_timestamps import media_receive_timestamp_offset
from aerolog.transport.driver.channels.network_params import (
    check_window_fits,
    rcvbuf_length,
    receiver_group_tag,
    sndbuf_length,
)
from aerolog.transport.driver.conductor.command_error import CommandError
from aerolog.transport.driver.counters.endpoint_counters import (
    allocate_channel_status,
    show_active,
)
from aerolog.transport.driver.receive.receive_endpoint import ReceiveEndpoint
from aerolog.transport.driver.receive.receive_sockets import ReceiveSockets
from aerolog.transport.errors import ErrorCode
from aerolog.transport.network.udp_channel import NO_OFFSET, ControlMode
from aerolog.transport.protocol.channel_status import ChannelStatus

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.network_params import NetworkSubscriptionParams
    from aerolog.transport.driver.conductor.conductor_context import ConductorContext
    from aerolog.transport.driver.receive.receive_sockets import BoundTransport, LocalAddressCounter
    from aerolog.transport.driver.receive.receive_transport import ReceiveTransport
    from aerolog.transport.network.addresses import SocketAddress
    from aerolog.transport.network.udp_channel import UdpChannel

_INT64_MODULUS = 1 << 64


@dataclass(slots=True, eq=False)
class ReceiveChannelEndpoint:
    """A receive channel endpoint.

    Attributes:
        channel: the channel that it was made for.
        registration_id: of the subscription that it was made for.
        endpoint: the native part, which the receiver works on.
        status_id: the id of its status counter.
        rcvbuf_length, sndbuf_length: its socket buffers in bytes, 0 for the system's default.
        transports: its sockets, including those of destinations that are being removed.
        streams: the number of subscriptions to all sessions of a stream, by stream id.
        sessions: the number of subscriptions to one session, by stream and session id.
        responses: the number of response subscriptions that wait for their session.
        image_count: the number of its images that do not linger yet.
        is_closing: nothing refers to it, and the receiver is about to release it.
    """

    channel: UdpChannel
    registration_id: int
    endpoint: ReceiveEndpoint
    status_id: int
    rcvbuf_length: int
    sndbuf_length: int
    transports: list[BoundTransport] = field(default_factory=list)
    streams: Counter[int] = field(default_factory=Counter)
    sessions: Counter[tuple[int, int]] = field(default_factory=Counter)
    responses: int = 0
    image_count: int = 0
    is_closing: bool = False

    @property
    def has_destinations(self) -> bool:
        """Whether its sockets belong to destinations."""
        return self.channel.control_mode is ControlMode.MANUAL

    @property
    def is_used(self) -> bool:
        """Whether anything refers to it."""
        return bool(self.streams or self.sessions or self.responses or self.image_count)

    @property
    def _local_data(self) -> SocketAddress:
        """Return the control address as last resolved, else the address the channel is bound to."""
        if self.channel.has_explicit_control and not self.has_destinations and self.transports:
            return self.transports[0].control
        return self.channel.local_data

    def as_existing(self) -> ExistingEndpoint:
        """Return the properties that decide whether a channel may share it."""
        return ExistingEndpoint(
            self.channel,
            self.channel.remote_data,
            self._local_data,
            self.sndbuf_length,
            self.rcvbuf_length,
        )


class ReceiveChannelEndpoints:
    """All receive channel endpoints of a driver."""

    def __init__(self, conductor: ConductorContext) -> None:
        self._conductor = conductor
        self._context = conductor.context
        self.sockets = ReceiveSockets(conductor.context)
        self._open: dict[str, ReceiveChannelEndpoint] = {}
        self._by_endpoint: dict[ReceiveEndpoint, ReceiveChannelEndpoint] = {}
        self._next_receiver_id = conductor.context.random.getrandbits(64)
        self._leaving = 0  # endpoints and destinations that the receiver is about to release

    @property
    def is_closing(self) -> bool:
        """Whether a socket is about to be closed whose port the next command may ask for."""
        return self._leaving > 0

    def of(self, endpoint: ReceiveEndpoint) -> ReceiveChannelEndpoint | None:
        """Return the conductor's part of a native endpoint; None once it is released."""
        return self._by_endpoint.get(endpoint)

    def find(self, channel: UdpChannel) -> ReceiveChannelEndpoint | None:
        """Return the endpoint that a channel shares, by tag, else by canonical form.

        Raises:
            CommandError: the tag matches, but the control mode or an address differs.
        """
        if channel.tag is not None:
            for known in self._open.values():
                if is_tagged_match(channel, known.as_existing()):
                    return known
        found = self._open.get(channel.canonical_form)
        if found is not None and is_canonical_match(channel, found.channel):
            return found
        return None

    def get_or_open(
        self, channel: UdpChannel, params: NetworkSubscriptionParams, registration_id: int
    ) -> ReceiveChannelEndpoint:
        """Return the endpoint that a channel shares, or open a new one.

        Raises:
            ControlProtocolError: the channel's options differ from the endpoint's, the window does
                not fit its socket, the socket does not open, or the endpoint is closing.
            CountersFullError: no counter is free; nothing is left behind.
        """
        found = self.find(channel)
        if found is None:
            return self._make(channel, params, registration_id)
        check_window_fits(
            channel,
            params.receiver_window_length,
            found.rcvbuf_length,
            self._context.socket_limits.default_rcvbuf,
            found.channel,
        )
        check_receive_endpoint(channel, found.as_existing())
        if found.is_closing:
            raise CommandError(
                ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE,
                "ReceiveChannelEndpoint found in CLOSING state, please retry",
                quiet=True,
            )
        return found

    def add_reference(
        self,
        known: ReceiveChannelEndpoint,
        stream_id: int,
        session_id: int | None,
        *,
        is_waiting: bool,
    ) -> None:
        """Count a subscription; the first one of its kind makes the receiver want its stream.

        Args:
            known: the endpoint.
            stream_id: the stream that is subscribed to.
            session_id: the only session to match; None for any.
            is_waiting: whether it is a response subscription that has no session yet, so that the
                receiver does not want anything for it.
        """
        if is_waiting:
            known.responses += 1
        elif session_id is None:
            known.streams[stream_id] += 1
            if known.streams[stream_id] == 1:
                self._conductor.receiver.add_subscription(known.endpoint, stream_id)
        else:
            known.sessions[stream_id, session_id] += 1
            if known.sessions[stream_id, session_id] == 1:
                self._conductor.receiver.add_subscription(known.endpoint, stream_id, session_id)

    def drop_reference(
        self,
        known: ReceiveChannelEndpoint,
        stream_id: int,
        session_id: int | None,
        *,
        is_waiting: bool,
    ) -> None:
        """Undo `add_reference` for one subscription; `close_if_unused` comes next."""
        if is_waiting:
            known.responses -= 1
        elif session_id is None:
            known.streams[stream_id] -= 1
            if known.streams[stream_id] == 0:
                del known.streams[stream_id]
                self._conductor.receiver.remove_subscription(known.endpoint, stream_id)
        else:
            known.sessions[stream_id, session_id] -= 1
            if known.sessions[stream_id, session_id] == 0:
                del known.sessions[stream_id, session_id]
                self._conductor.receiver.remove_subscription(known.endpoint, stream_id, session_id)

    def close_if_unused(self, known: ReceiveChannelEndpoint) -> None:
        """Close an endpoint to which nothing refers."""
        if known.is_used or known.is_closing:
            return
        known.is_closing = True
        self._leaving += 1
        self._context.counters.set_value(known.status_id, ChannelStatus.CLOSING)
        self._conductor.receiver.remove_endpoint(known.endpoint)

    def on_endpoint_released(self, endpoint: ReceiveEndpoint) -> None:
        """Free the sockets and counters of an endpoint that the receiver has released."""
        known = self._by_endpoint.pop(endpoint, None)
        if known is not None:
            self._leaving -= 1
            self._end(known)
            self._context.events.receive_channel(known.channel, is_open=False)

    def remove_transport(self, known: ReceiveChannelEndpoint, bound: BoundTransport) -> None:
        """Have the receiver release a destination's transport; its address counter is freed now."""
        bound.is_leaving = True
        self._leaving += 1
        self._context.free_counter(bound.counter_id)
        self._conductor.receiver.remove_destination(known.endpoint, bound.transport)

    def on_transport_released(self, endpoint: ReceiveEndpoint, transport: ReceiveTransport) -> None:
        """Close the socket of a destination whose transport the receiver has released."""
        known = self._by_endpoint.get(endpoint)
        if known is None:
            return
        for bound in known.transports:
            if bound.transport is transport:
                known.transports.remove(bound)
                self._leaving -= 1
                self.sockets.close_socket(bound)
                return

    def close(self) -> None:
        """Close all sockets, once the receiver has ended, and free their counters."""
        for known in self._by_endpoint.values():
            self._end(known)
        self._by_endpoint.clear()
        self._open.clear()

    def _make(
        self, channel: UdpChannel, params: NetworkSubscriptionParams, registration_id: int
    ) -> ReceiveChannelEndpoint:
        settings = self._context.settings
        has_destinations = channel.control_mode is ControlMode.MANUAL
        rcvbuf, sndbuf = rcvbuf_length(channel, settings), sndbuf_length(channel, settings)
        media_timestamp_offset = media_receive_timestamp_offset(channel)
        bound: BoundTransport | None = None
        prepared: LocalAddressCounter | None = None
        with ExitStack() as undo:
            status_id = allocate_channel_status(
                self._context,
                CounterType.RECEIVE_CHANNEL_STATUS,
                registration_id,
                channel.original,
            )
            undo.callback(self._context.free_counter, status_id)
            undo.callback(self._context.counters.set_value, status_id, ChannelStatus.ERRORED)
            if not has_destinations:
                prepared = self.sockets.prepare(status_id, registration_id)
                undo.callback(self._context.free_counter, prepared.counter_id)
            check_window_fits(
                channel,
                params.receiver_window_length,
                rcvbuf,
                self._context.socket_limits.default_rcvbuf,
            )
            if prepared is not None:
                bound = self.sockets.open(
                    prepared,
                    0,
                    channel,
                    rcvbuf,
                    sndbuf,
                    media_timestamps=media_timestamp_offset != NO_OFFSET,
                )
                undo.callback(self.sockets.close_socket, bound)
            endpoint = ReceiveEndpoint(
                self._take_receiver_id(),
                () if bound is None else (bound.transport,),
                group_tag=receiver_group_tag(channel, settings),
                multi_destination=has_destinations,
                session_limit=settings[properties.DRIVER_STREAM_SESSION_LIMIT],
                channel_timestamp_offset=channel.channel_receive_timestamp_offset,
                media_timestamp_offset=media_timestamp_offset,
            )
            undo.pop_all()
        show_active(self._context, status_id, "" if bound is None else bound.local_text)
        known = ReceiveChannelEndpoint(
            channel,
            registration_id,
            endpoint,
            status_id,
            rcvbuf,
            sndbuf,
            [] if bound is None else [bound],
        )
        self._open[channel.canonical_form] = known
        self._by_endpoint[endpoint] = known
        self._conductor.receiver.add_endpoint(endpoint)
        self._context.events.receive_channel(channel, is_open=True)
        return known

    def _end(self, known: ReceiveChannelEndpoint) -> None:
        for bound in known.transports:
            self._leaving -= bound.is_leaving
            self.sockets.close_socket(bound)
            if not bound.is_leaving:
                self._context.free_counter(bound.counter_id)
        known.transports.clear()
        self._context.free_counter(known.status_id)
        if self._open.get(known.channel.canonical_form) is known:
            del self._open[known.channel.canonical_form]

    def _take_receiver_id(self) -> int:
        """Return the next of the driver's receiver ids, an int64 (spec wire-protocol 8.2)."""
        taken = self._next_receiver_id
        self._next_receiver_id = (taken + 1) % _INT64_MODULUS
        return taken - _INT64_MODULUS if taken >= _INT64_MODULUS // 2 else taken
