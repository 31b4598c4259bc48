"""Counters of a channel endpoint: its status and its local addresses (spec counters 3, 4).

Clients wait for the status before they use a channel, and learn wildcard ports from the addresses.
Both counters start as initializing and become active when the endpoint's socket is open.
"""

from __future__ import annotations

import os
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from aerolog.transport.counters.counter_types import ADDRESS_KEY, CHANNEL_KEY, CounterType
from aerolog.transport.driver.conductor.command_error import generic
from aerolog.transport.network.addresses import SocketAddress
from aerolog.transport.protocol.channel_status import ChannelStatus

if TYPE_CHECKING:
    from aerolog.transport.driver.conductor.command_error import CommandError
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.network.port import Address

_AERON_EXCEPTION: Final = "io.aeron.exceptions.AeronException"
_MAX_ADDRESS_LENGTH: Final = 54


def allocate_channel_status(
    context: DriverContext, type_id: CounterType, registration_id: int, channel: str
) -> int:
    """Allocate a counter that describes a channel endpoint.

    Args:
        context: the driver's shared state.
        type_id: the type of a channel status, or of the number of destinations.
        registration_id: of the first subscription or publication on the endpoint.
        channel: as the client wrote it; the key holds as much of it as fits.

    Raises:
        CountersFullError: no counter is free.
    """
    return context.counters.allocate(
        type_id,
        f"{type_id.label}: {channel} ",
        CHANNEL_KEY.pack(text=channel),
        registration_id=registration_id,
    )


def allocate_local_address(
    context: DriverContext, side: str, registration_id: int, status_id: int
) -> int:
    """Allocate the counter of a local address before the endpoint's socket is bound to it.

    Args:
        context: the driver's shared state.
        side: ``snd`` or ``rcv``, with which the label begins.
        registration_id: of the subscription or publication.
        status_id: the id of the endpoint's status counter.

    Raises:
        CountersFullError: no counter is free.
    """
    name = CounterType.LOCAL_SOCKET_ADDRESS.label.format(side=side)
    return context.counters.allocate(
        CounterType.LOCAL_SOCKET_ADDRESS,
        f"{name}: {status_id} ",
        ADDRESS_KEY.pack(status_id, text=""),
        registration_id=registration_id,
    )


def show_local_address(context: DriverContext, counter_id: int, status_id: int, text: str) -> None:
    """Write a bound address to its counter: first the key and the label, last the value."""
    address = text[:_MAX_ADDRESS_LENGTH]
    context.counters.set_key(counter_id, ADDRESS_KEY.pack(status_id, text=address))
    context.counters.append_to_label(counter_id, address)
    context.counters.set_value(counter_id, ChannelStatus.ACTIVE)


def show_active(context: DriverContext, status_id: int, text: str = "") -> None:
    """Mark an endpoint as active, and end its label with the address that it is bound to.

    Args:
        context: the driver's shared state.
        status_id: the id of the endpoint's status counter.
        text: the address; empty for a subscription whose destinations own the sockets.
    """
    if text:
        context.counters.append_to_label(status_id, text)
    context.counters.set_value(status_id, ChannelStatus.ACTIVE)


def address_text(address: Address) -> str:
    """Format ``host:port`` for counters and clients: IPv6 in full, in brackets, without scope."""
    host, port = address
    return SocketAddress(ip_address(host.partition("%")[0]), port).label


def source_text(address: Address) -> str:
    """Format ``host:port`` for the source of an image: IPv6 in full and without brackets."""
    host, _, port = address_text(address).rpartition(":")
    return f"{host.strip('[]')}:{port}"


def channel_error(error: OSError, channel: object) -> CommandError:
    """Return the error that a client receives when a socket of its channel cannot be opened."""
    reason = error.strerror or (os.strerror(error.errno) if error.errno else str(error))
    return generic(_AERON_EXCEPTION, f"ERROR - channel error - {reason}: {channel}")
