"""Spies: subscriptions that read the logs of this driver's UDP publications.

Spec wire-protocol 11; spec cnc-and-commands 15.1, 15.4, 16. Conductor only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.transport.driver.channels.destination_params import check_receive_destination
from aerolog.transport.driver.channels.network_params import network_subscription_params
from aerolog.transport.driver.conductor.local_subscriptions import (
    NO_CHANNEL_STATUS,
    LocalSubscriptionLink,
    LocalSubscriptions,
)
from aerolog.transport.driver.conductor.subscription_links import tell_unavailable
from aerolog.transport.driver.send.network_publication import NetworkPublication
from aerolog.transport.memory.counters import NULL_COUNTER_ID
from aerolog.transport.protocol.responses import OperationSuccess, SubscriptionReady

if TYPE_CHECKING:
    from aerolog.transport.driver.conductor.clients import AeronClient
    from aerolog.transport.driver.conductor.conductor_context import ConductorContext
    from aerolog.transport.network.udp_channel import UdpChannel
    from aerolog.transport.protocol.commands import AddReceiveDestination, AddSubscription


@dataclass(slots=True, eq=False, kw_only=True)
class Spy(LocalSubscriptionLink[NetworkPublication]):
    """A client's subscription to UDP publications of this driver.

    Attributes:
        udp_channel: the channel, resolved.
    """

    udp_channel: UdpChannel

    def matches(self, publication: NetworkPublication) -> bool:
        """Return whether a publication has its stream, and its tag or its session and channel."""
        if self.stream_id != publication.stream_id:
            return False
        ours, theirs = self.udp_channel, publication.endpoint.channel
        if ours.tag is not None and ours.tag == theirs.tag:
            return True
        return (
            self.matches_session(publication.session_id)
            and ours.canonical_form == theirs.canonical_form
        )


class Spies(LocalSubscriptions[NetworkPublication]):
    """All spies of a driver."""

    def __init__(self, conductor: ConductorContext, publications: list[NetworkPublication]) -> None:
        super().__init__(conductor.context, conductor.agent, publications)
        self._clients = conductor.clients

    def subscribe(self, command: AddSubscription, channel: UdpChannel) -> None:
        """Spy on a channel from now on, and on the publications that exist already."""
        params = network_subscription_params(channel, self._context.settings)
        spy = Spy(
            registration_id=command.correlation_id,
            client=self._clients.get_or_add(command.client_id),
            stream_id=command.stream_id,
            channel=command.channel,
            params=params,
            udp_channel=channel,
        )
        self.add(spy, SubscriptionReady(command.correlation_id, NO_CHANNEL_STATUS))

    def add_destination(
        self,
        command: AddReceiveDestination,
        channel: UdpChannel,
        client: AeronClient,
        stream_id: int,
    ) -> None:
        """Add a spy to a multi-destination subscription."""
        check_receive_destination(channel.uri, channel.original)
        params = network_subscription_params(channel, self._context.settings)
        spy = Spy(
            registration_id=command.registration_id,
            client=client,
            stream_id=stream_id,
            channel=command.channel,
            params=params,
            udp_channel=channel,
        )
        self.add(spy, OperationSuccess(command.correlation_id))

    def leave(self, publication: NetworkPublication) -> None:
        """Tell every spy with an image that a publication has ended, and unlink it.

        The position counters are freed with the publication's own.
        """
        for spy in self.with_image(publication):
            tell_unavailable(self._context, spy, publication)
            counter_id = spy.images.pop(publication)
            if counter_id != NULL_COUNTER_ID:
                publication.stream.remove_subscriber(counter_id)
                publication.counter_ids.append(counter_id)
