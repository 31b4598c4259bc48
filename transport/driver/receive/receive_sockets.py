"""Sockets of receive endpoints and destinations, with their local address counters.

Spec wire-protocol 3, spec counters 4. Conductor only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.transport.driver import properties
from aerolog.transport.driver.channels.network_params import multicast_ttl
from aerolog.transport.driver.counters.endpoint_counters import (
    address_text,
    allocate_local_address,
    channel_error,
    show_local_address,
)
from aerolog.transport.driver.events.logged_network import name_port
from aerolog.transport.driver.receive.receive_transport import ReceiveTransport
from aerolog.transport.network.wildcard_ports import WildcardPorts

if TYPE_CHECKING:
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.network.addresses import SocketAddress
    from aerolog.transport.network.port import Address, DatagramPort
    from aerolog.transport.network.udp_channel import UdpChannel


@dataclass(frozen=True, slots=True)
class LocalAddressCounter:
    """A counter that is allocated before a socket is bound to its address.

    Attributes:
        counter_id: the id of the counter.
        status_id: the id of the endpoint's status counter.
    """

    counter_id: int
    status_id: int


@dataclass(slots=True, eq=False)
class BoundTransport:
    """An open socket of an endpoint.

    Attributes:
        transport: the native part, which the receiver works on.
        channel: the channel of the endpoint or destination.
        address: the address asked for, with the port that was chosen for it from a range.
        control: the address of a source with explicit control; names may have been resolved again
            since.
        local_text: the bound address, as clients see it.
        counter_id: the id of its local address counter.
        is_leaving: whether its destination was removed and the receiver is about to release it.
    """

    transport: ReceiveTransport
    channel: UdpChannel
    address: SocketAddress
    control: SocketAddress
    local_text: str
    counter_id: int
    is_leaving: bool = False


class ReceiveSockets:
    """Opens and closes the sockets of receive endpoints."""

    def __init__(self, context: DriverContext) -> None:
        self._context = context
        self._ports = WildcardPorts(
            context.settings[properties.RECEIVER_WILDCARD_PORT_RANGE], is_sender=False
        )

    def prepare(self, status_id: int, registration_id: int) -> LocalAddressCounter:
        """Allocate the counter of an address; the caller passes it to `open` or frees it.

        Args:
            status_id: the id of the endpoint's status counter.
            registration_id: the id of the subscription.

        Raises:
            CountersFullError: no counter is free.
        """
        counter_id = allocate_local_address(self._context, "rcv", registration_id, status_id)
        return LocalAddressCounter(counter_id, status_id)

    def open(
        self,
        prepared: LocalAddressCounter,
        index: int,
        channel: UdpChannel,
        rcvbuf: int,
        sndbuf: int,
        *,
        media_timestamps: bool,
    ) -> BoundTransport:
        """Open a socket, and show in the counter which address it is bound to.

        Args:
            prepared: the counter of its address; the caller frees it when this fails.
            index: the index of the transport in its endpoint.
            channel: the channel of the endpoint or destination.
            rcvbuf: length of the receive buffer in bytes, 0 for the system's default.
            sndbuf: length of the send buffer in bytes, 0 for the system's default.
            media_timestamps: whether the kernel gives the time at which each datagram arrived.

        Raises:
            CommandError: the socket cannot be opened; the text is the reference's.
        """
        ttl = multicast_ttl(channel, self._context.settings) if channel.is_multicast else 0
        try:
            address = self._ports.take(channel.remote_data)
        except OSError as error:
            raise channel_error(error, channel) from error
        try:
            port = self._context.network.open_receive_port(
                as_pair(address),
                as_pair(channel.local_data) if channel.is_multicast else None,
                ttl=ttl,
                so_rcvbuf=rcvbuf,
                so_sndbuf=sndbuf,
                timestamps=media_timestamps,
            )
        except OSError as error:
            self._ports.release(address)
            raise channel_error(error, channel) from error
        except BaseException:
            self._ports.release(address)
            raise
        name_port(port, channel.original)
        try:
            return self._bound(prepared, index, channel, address, port)
        except BaseException:
            port.close()
            self._ports.release(address)
            raise

    def close_socket(self, bound: BoundTransport) -> None:
        """Close a socket that the receiver does not use, and free its port."""
        bound.transport.port.close()
        self._ports.release(bound.address)

    def _bound(
        self,
        prepared: LocalAddressCounter,
        index: int,
        channel: UdpChannel,
        address: SocketAddress,
        port: DatagramPort,
    ) -> BoundTransport:
        transport = ReceiveTransport(
            index,
            port,
            explicit_control=(
                as_pair(channel.local_control) if channel.has_explicit_control else None
            ),
            control_group=as_pair(channel.remote_control) if channel.is_multicast else None,
        )
        local_text = address_text(port.local_address)
        show_local_address(self._context, prepared.counter_id, prepared.status_id, local_text)
        return BoundTransport(
            transport, channel, address, channel.local_control, local_text, prepared.counter_id
        )


def as_pair(address: SocketAddress) -> Address:
    """Return the form that ports take: a numeric host, with the scope where it has one."""
    host = f"{address.ip}%{address.scope}" if address.scope else str(address.ip)
    return host, address.port
