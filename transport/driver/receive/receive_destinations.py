"""UDP destinations of multi-destination subscriptions (spec wire-protocol 13), conductor only.

Each destination has a socket and a local address counter of its own. ``aeron:ipc`` and
``aeron-spy:`` destinations are ordinary links of their media with the same registration id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.network.udp_channel import NO_OFFSET

if TYPE_CHECKING:
    from aerolog.transport.driver.conductor.conductor_context import ConductorContext
    from aerolog.transport.driver.receive.receive_channel_endpoint import (
        ReceiveChannelEndpoint,
        ReceiveChannelEndpoints,
    )
    from aerolog.transport.network.udp_channel import UdpChannel


class ReceiveDestinations:
    """Adds and removes the sockets of multi-destination endpoints."""

    def __init__(self, conductor: ConductorContext, channels: ReceiveChannelEndpoints) -> None:
        self._context = conductor.context
        self._receiver = conductor.receiver
        self._channels = channels
        self._sockets = channels.sockets

    def add(self, known: ReceiveChannelEndpoint, registration_id: int, channel: UdpChannel) -> None:
        """Open a socket for a destination; adding it again opens another, where that can bind.

        Args:
            known: the endpoint, whose buffer lengths the socket takes.
            registration_id: the id of the subscription.
            channel: the channel of the destination.

        Raises:
            ControlProtocolError: the socket does not open.
            ConfigurationError: the endpoint has the maximum number of destinations already.
            CountersFullError: no counter is free.
        """
        index = known.endpoint.free_index()
        prepared = self._sockets.prepare(known.status_id, registration_id)
        try:
            bound = self._sockets.open(
                prepared,
                index,
                channel,
                known.rcvbuf_length,
                known.sndbuf_length,
                media_timestamps=known.endpoint.media_timestamp_offset != NO_OFFSET,
            )
        except BaseException:
            self._context.free_counter(prepared.counter_id)
            raise
        known.transports.append(bound)
        self._receiver.add_destination(known.endpoint, bound.transport)

    def remove(self, known: ReceiveChannelEndpoint, channel: UdpChannel) -> None:
        """Remove the first destination with the channel's canonical form, if there is one.

        Raises:
            ControlProtocolError: no destination may have such a channel.
        """
        for bound in known.transports:
            if not bound.is_leaving and bound.channel.canonical_form == channel.canonical_form:
                self._channels.remove_transport(known, bound)
                return
