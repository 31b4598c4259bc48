"""Send channel endpoints: they are opened, shared and closed here; conductor only.

Spec wire-protocol 3, 4.4; spec cnc-and-commands 14.1, 21. An endpoint is open as long as a
publication refers to it. Then its counters are freed, and when the sender has released it its
socket is closed.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.driver import properties
from aerolog.transport.driver.channels.endpoint_match import (
    ExistingEndpoint,
    check_is_original,
    check_send_endpoint,
    is_canonical_match,
    is_tagged_match,
)
from aerolog.transport.driver.channels.network_params import (
    check_mtu_fits,
    multicast_ttl,
    rcvbuf_length,
    sndbuf_length,
)
from aerolog.transport.driver.counters.endpoint_counters import (
    address_text,
    allocate_channel_status,
    allocate_local_address,
    channel_error,
    show_active,
    show_local_address,
)
from aerolog.transport.driver.events.logged_network import name_port
from aerolog.transport.driver.names.driver_names import names_a_host
from aerolog.transport.driver.receive.receive_sockets import as_pair
from aerolog.transport.driver.send.send_endpoint import (
    DYNAMIC,
    MANUAL,
    SendDestinations,
    SendEndpoint,
)
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.counters import NULL_COUNTER_ID
from aerolog.transport.network.udp_channel import ControlMode
from aerolog.transport.network.wildcard_ports import WildcardPorts
from aerolog.transport.protocol.channel_status import ChannelStatus
from aerolog.transport.uri import keys

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams
    from aerolog.transport.driver.conductor.conductor_context import ConductorContext
    from aerolog.transport.network.addresses import SocketAddress
    from aerolog.transport.network.port import DatagramPort
    from aerolog.transport.network.udp_channel import UdpChannel


@dataclass(slots=True, eq=False)
class SendDestination:
    """A destination that a command added.

    Attributes:
        endpoint: the endpoint parameter of its channel.
        address: the address that this resolves to, None while its host is unknown.
    """

    endpoint: str
    address: SocketAddress | None


@dataclass(slots=True, eq=False)
class SendChannelEndpoint:
    """A send channel endpoint.

    Attributes:
        channel: the channel that it was made for.
        endpoint: the native part, which the sender works on.
        status_id: the id of its status counter.
        counter_ids: all its counters, in the order in which they were allocated.
        remote_data: the address that it sends to; its name may have been resolved again since.
        bound: the address asked for, with the port that was chosen for it from a range.
        sndbuf_length, rcvbuf_length: its socket buffers in bytes, 0 for the system's default.
        publications: the number of publications that refer to it.
        destinations: destinations that commands added, by the correlation ids of the commands.
        is_closing: nothing refers to it, and the sender is about to release it.
    """

    channel: UdpChannel
    endpoint: SendEndpoint
    status_id: int
    counter_ids: list[int]
    remote_data: SocketAddress
    bound: SocketAddress
    sndbuf_length: int
    rcvbuf_length: int
    publications: int = 0
    destinations: dict[int, SendDestination] = field(default_factory=dict)
    is_closing: bool = False

    @property
    def takes_destinations(self) -> bool:
        """Whether commands add and remove its destinations."""
        return self.channel.control_mode is ControlMode.MANUAL

    def as_existing(self) -> ExistingEndpoint:
        """Return the properties that decide whether a channel may share it."""
        return ExistingEndpoint(
            self.channel,
            self.remote_data,
            self.channel.local_data,
            self.sndbuf_length,
            self.rcvbuf_length,
        )


class SendChannelEndpoints:
    """All send channel endpoints of a driver."""

    def __init__(self, conductor: ConductorContext) -> None:
        self._conductor = conductor
        self._context = conductor.context
        self._ports = WildcardPorts(
            conductor.context.settings[properties.SENDER_WILDCARD_PORT_RANGE], is_sender=True
        )
        self._open: dict[str, SendChannelEndpoint] = {}
        self._by_tag: dict[int, SendChannelEndpoint] = {}
        self._by_endpoint: dict[SendEndpoint, SendChannelEndpoint] = {}
        self._closing = 0

    def of(self, endpoint: SendEndpoint) -> SendChannelEndpoint | None:
        """Return the conductor's part of a native endpoint; None once it is released."""
        return self._by_endpoint.get(endpoint)

    def find(self, channel: UdpChannel) -> SendChannelEndpoint | None:
        """Return the endpoint that a channel shares, by tag, else by canonical form.

        Raises:
            ControlProtocolError: the tag matches, but the control mode or an address differs; or no
                endpoint has the tag, and the channel gives no address.
        """
        if channel.tag is not None:
            known = self._by_tag.get(channel.tag)
            if known is not None and is_tagged_match(channel, known.as_existing()):
                return known
            check_is_original(channel)
        found = self._open.get(channel.canonical_form)
        if found is not None and is_canonical_match(channel, found.channel):
            return found
        return None

    def get_or_open(
        self, channel: UdpChannel, params: PublicationParams, registration_id: int
    ) -> SendChannelEndpoint:
        """Return the endpoint that a channel shares, or open a new one.

        Raises:
            ControlProtocolError: the channel's options differ from the endpoint's, its datagrams do
                not fit the socket, or the socket does not open.
            CountersFullError: no counter is free.
        """
        found = self.find(channel)
        if found is None:
            return self._make(channel, params.mtu_length, registration_id)
        check_send_endpoint(channel, found.as_existing())
        system_length = self._context.socket_limits.default_sndbuf
        check_mtu_fits(channel, params.mtu_length, found.sndbuf_length, system_length)
        return found

    @property
    def is_closing(self) -> bool:
        """Whether the sender is about to release an endpoint whose port may be asked for again."""
        return self._closing > 0

    def close_if_unused(self, known: SendChannelEndpoint) -> None:
        """Close an endpoint to which no publication refers; no channel can share it any more."""
        if known.publications > 0 or known.is_closing:
            return
        known.is_closing = True
        self._closing += 1
        self._forget(known)
        self._context.free_counters(known.counter_ids)
        self._conductor.sender.remove_endpoint(known.endpoint)

    def on_released(self, endpoint: SendEndpoint) -> None:
        """Close the socket of an endpoint that the sender has released."""
        known = self._by_endpoint.pop(endpoint, None)
        if known is None:
            return
        self._closing -= known.is_closing
        known.endpoint.port.close()
        self._context.events.send_channel(known.channel, is_open=False)
        self._ports.release(known.bound)

    def close(self) -> None:
        """Close all sockets, once the sender has ended, and free their counters."""
        for known in self._by_endpoint.values():
            known.endpoint.port.close()
            if not known.is_closing:
                self._context.free_counters(known.counter_ids)
        self._by_endpoint.clear()
        self._open.clear()
        self._by_tag.clear()

    def _make(
        self, channel: UdpChannel, mtu_length: int, registration_id: int
    ) -> SendChannelEndpoint:
        counter_ids: list[int] = []
        try:
            status_id, local_address_id, destinations_id = self._allocate(
                channel, registration_id, counter_ids
            )
        except BaseException:
            self._context.free_counters(counter_ids)
            raise
        settings = self._context.settings
        sndbuf = sndbuf_length(channel, settings)
        try:
            check_mtu_fits(channel, mtu_length, sndbuf, self._context.socket_limits.default_sndbuf)
            port, bound = self._open_port(channel)
        except BaseException:
            self._context.counters.set_value(status_id, ChannelStatus.ERRORED)
            self._context.free_counters(counter_ids)
            raise
        try:
            endpoint = self._make_endpoint(channel, port, destinations_id)
        except BaseException:
            port.close()
            self._ports.release(bound)
            self._context.free_counters(counter_ids)
            raise
        text = address_text(port.local_address)
        show_active(self._context, status_id, text)
        show_local_address(self._context, local_address_id, status_id, text)
        known = SendChannelEndpoint(
            channel,
            endpoint,
            status_id,
            counter_ids,
            channel.remote_data,
            bound,
            sndbuf,
            rcvbuf_length(channel, settings),
        )
        self._open[channel.canonical_form] = known
        if channel.tag is not None:
            self._by_tag.setdefault(channel.tag, known)
        self._by_endpoint[endpoint] = known
        self._conductor.sender.add_endpoint(endpoint)
        self._context.events.send_channel(channel, is_open=True)
        return known

    def _allocate(
        self, channel: UdpChannel, registration_id: int, counter_ids: list[int]
    ) -> tuple[int, int, int]:
        """Allocate status, local address and number of destinations (-1); record ids at once."""
        context, text = self._context, channel.original
        counter_ids.append(
            allocate_channel_status(context, CounterType.SEND_CHANNEL_STATUS, registration_id, text)
        )
        counter_ids.append(allocate_local_address(context, "snd", registration_id, counter_ids[0]))
        if not channel.is_multi_destination:
            return counter_ids[0], counter_ids[1], NULL_COUNTER_ID
        counter_ids.append(
            allocate_channel_status(context, CounterType.MDC_DESTINATIONS, registration_id, text)
        )
        return counter_ids[0], counter_ids[1], counter_ids[2]

    def _open_port(self, channel: UdpChannel) -> tuple[DatagramPort, SocketAddress]:
        try:
            bound = self._ports.take(
                channel.local_data, has_explicit_control=channel.has_explicit_control
            )
        except OSError as error:
            raise channel_error(error, channel) from error
        try:
            port = self._open_bound_port(channel, bound)
            name_port(port, channel.original)
        except OSError as error:
            self._ports.release(bound)
            raise channel_error(error, channel) from error
        except ConfigurationError as error:  # a local address from which the peer is not reachable
            self._ports.release(bound)
            code = errno.EAFNOSUPPORT
            raise channel_error(OSError(code, os.strerror(code)), channel) from error
        except BaseException:
            self._ports.release(bound)
            raise
        return port, bound

    def _open_bound_port(self, channel: UdpChannel, bound: SocketAddress) -> DatagramPort:
        settings, network = self._context.settings, self._context.network
        ttl = multicast_ttl(channel, settings) if channel.is_multicast else 0
        sndbuf, rcvbuf = sndbuf_length(channel, settings), rcvbuf_length(channel, settings)
        if channel.is_multicast and not _has_peer(channel):
            # Data for the destinations leaves by the socket that receives the group's answers.
            return network.open_receive_port(
                as_pair(channel.remote_control),
                as_pair(bound),
                ttl=ttl,
                so_sndbuf=sndbuf,
                so_rcvbuf=rcvbuf,
                offload=False,
            )
        return network.open_send_port(
            as_pair(channel.remote_data) if _has_peer(channel) else None,
            as_pair(bound),
            control=as_pair(channel.remote_control) if channel.is_multicast else None,
            connect=settings[properties.DRIVER_CONNECT],
            ttl=ttl,
            so_sndbuf=sndbuf,
            so_rcvbuf=rcvbuf,
        )

    def _make_endpoint(
        self, channel: UdpChannel, port: DatagramPort, destinations_id: int
    ) -> SendEndpoint:
        destinations = None
        if channel.is_multi_destination:
            destinations = SendDestinations(
                DYNAMIC if channel.control_mode is ControlMode.DYNAMIC else MANUAL,
                counters=self._context.counters,
                counter_id=destinations_id,
            )
        has_peer = _has_peer(channel)
        connects = self._context.settings[properties.DRIVER_CONNECT]
        return SendEndpoint(
            port,
            destinations=destinations,
            remote=as_pair(channel.remote_data) if has_peer else None,
            is_connected=has_peer and (connects or channel.is_multicast),
            is_multicast=channel.is_multicast,
            is_response=channel.control_mode is ControlMode.RESPONSE,
            needs_resolution=(
                has_peer
                and not channel.is_multicast
                and names_a_host(channel.uri.get(keys.ENDPOINT, ""))
            ),
        )

    def _forget(self, known: SendChannelEndpoint) -> None:
        if self._open.get(known.channel.canonical_form) is known:
            del self._open[known.channel.canonical_form]
        tag = known.channel.tag
        if tag is not None and self._by_tag.get(tag) is known:
            del self._by_tag[tag]


def _has_peer(channel: UdpChannel) -> bool:
    """Return whether all publications of a channel are sent to one address."""
    return channel.control_mode is ControlMode.NONE
