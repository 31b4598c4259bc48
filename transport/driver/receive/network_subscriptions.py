"""Adds UDP subscriptions, links them to images and removes them (spec cnc-and-commands 15).

Conductor only. ``publication_images`` creates and ends images; ``receive_destinations`` handles
destinations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.driver.channels.destination_params import check_receive_destination
from aerolog.transport.driver.channels.endpoint_match import (
    check_receive_timestamps,
    check_subscription,
)
from aerolog.transport.driver.channels.network_params import network_subscription_params
from aerolog.transport.driver.conductor.command_error import ManualControlError
from aerolog.transport.driver.conductor.subscription_links import (
    allocate_position,
    drop_position,
    tell_available,
)
from aerolog.transport.driver.context import take_from
from aerolog.transport.driver.receive.network_subscription import NetworkSubscription
from aerolog.transport.driver.receive.receive_channel_endpoint import ReceiveChannelEndpoints
from aerolog.transport.driver.receive.receive_destinations import ReceiveDestinations
from aerolog.transport.errors import ControlProtocolError, ErrorCode
from aerolog.transport.protocol.responses import OperationSuccess, SubscriptionReady

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.network_params import NetworkSubscriptionParams
    from aerolog.transport.driver.conductor.conductor_context import ConductorContext
    from aerolog.transport.driver.receive.publication_image import PublicationImage
    from aerolog.transport.driver.receive.receive_channel_endpoint import ReceiveChannelEndpoint
    from aerolog.transport.network.udp_channel import UdpChannel
    from aerolog.transport.protocol.commands import (
        AddReceiveDestination,
        AddSubscription,
        RemoveReceiveDestination,
    )


class NetworkSubscriptions:
    """All UDP subscriptions of a driver.

    Attributes:
        channels: the endpoints that receive for them.
        links: the subscriptions, in order of addition except where a removal has moved the last.
        images: those that a new subscription may join; ``PublicationImages`` keeps the list.
    """

    def __init__(self, conductor: ConductorContext) -> None:
        self._conductor = conductor
        self._context = conductor.context
        self.channels = ReceiveChannelEndpoints(conductor)
        self._destinations = ReceiveDestinations(conductor, self.channels)
        self.links: list[NetworkSubscription] = []
        self.images: list[PublicationImage] = []

    # ---- commands -------------------------------------------------------------------------------

    def subscribe(self, command: AddSubscription, channel: UdpChannel) -> None:
        """Subscribe to a stream, and join the images that exist already.

        Raises:
            ControlProtocolError: with code and text of the first check that fails.
            ConfigurationError: a number, size or duration that does not parse.
            CountersFullError: no counter is free.
        """
        params = network_subscription_params(channel, self._context.settings)
        shared = self.channels.find(channel)
        if shared is not None:
            self._check_clash(shared, command.stream_id, channel, params)
        endpoint = self.channels.get_or_open(channel, params, command.correlation_id)
        try:
            client = self._conductor.clients.get_or_add(command.client_id)
        except BaseException:
            self.channels.close_if_unused(endpoint)
            raise
        link = NetworkSubscription(
            registration_id=command.correlation_id,
            client=client,
            stream_id=command.stream_id,
            channel=command.channel,
            params=params,
            udp_channel=(
                endpoint.channel if channel.original == endpoint.channel.original else channel
            ),
            endpoint=endpoint,
        )
        self.links.append(link)
        self.channels.add_reference(
            endpoint, link.stream_id, link.session_id, is_waiting=link.is_waiting
        )
        self._context.tell(SubscriptionReady(command.correlation_id, endpoint.status_id))
        for image in self.images:
            if (
                link.matches(image.endpoint, image.stream_id, image.session_id)
                and len(image.stream.subscribers) > 0
                and image.stream.accepts_subscribers()
            ):
                self._join(link, image)

    def remove(self, registration_id: int) -> bool:
        """Remove a subscription, whoever asks; its clients are not told of the ends of its images.

        Returns False when no subscription has that id.
        """
        found = False
        for link in take_from(self.links, lambda link: link.registration_id == registration_id):
            found = True
            self._close_link(link)
        return found

    def has(self, registration_id: int) -> bool:
        """Return whether a subscription has that id."""
        return any(link.registration_id == registration_id for link in self.links)

    def multi_destination(self, registration_id: int) -> NetworkSubscription:
        """Return the multi-destination subscription of an id.

        Raises:
            ControlProtocolError: no such subscription exists.
        """
        for link in self.links:
            if link.registration_id == registration_id and link.is_multi_destination:
                return link
        raise ControlProtocolError(
            ErrorCode.UNKNOWN_SUBSCRIPTION, f"unknown MDS subscription: {registration_id}"
        )

    def check_removable(self, registration_id: int) -> None:
        """Refuse to remove a destination when the subscription takes no destinations.

        Raises:
            ControlProtocolError: with the reference's text.
        """
        for link in self.links:
            if link.registration_id == registration_id:
                if link.is_multi_destination:
                    return
                raise ManualControlError
        raise ControlProtocolError(
            ErrorCode.UNKNOWN_SUBSCRIPTION, f"unknown subscription: {registration_id}"
        )

    def add_destination(self, command: AddReceiveDestination, channel: UdpChannel) -> None:
        """Add a channel to a multi-destination subscription.

        Raises:
            ControlProtocolError: no destination may have such a channel, the subscription does not
                exist any more, or a socket does not open.
        """
        check_receive_destination(channel.uri, channel.original)
        link = self.multi_destination(command.registration_id)
        self._destinations.add(link.endpoint, link.registration_id, channel)
        self._context.tell(OperationSuccess(command.correlation_id))

    def remove_destination(self, command: RemoveReceiveDestination, channel: UdpChannel) -> None:
        """Remove a destination's channel; it is no error when it was never added."""
        self.check_removable(command.registration_id)
        link = self.multi_destination(command.registration_id)
        self._destinations.remove(link.endpoint, channel)
        self._context.tell(OperationSuccess(command.correlation_id))

    def on_response_setup(self, registration_id: int, session_id: int) -> None:
        """Set the session that answers a response subscription (spec cnc-and-commands 15.5)."""
        for link in self.links:
            if link.registration_id != registration_id:
                continue
            if link.is_waiting:
                self.channels.drop_reference(link.endpoint, link.stream_id, None, is_waiting=True)
                link.session_id = session_id
                self.channels.add_reference(
                    link.endpoint, link.stream_id, session_id, is_waiting=False
                )
            else:
                self._conductor.receiver.request_setup(
                    link.endpoint.endpoint, link.stream_id, session_id
                )
            return

    def close_of_gone_clients(self) -> None:
        """Close the subscriptions of clients that are gone, without a message."""
        for link in take_from(self.links, lambda link: link.client.gone):
            self._close_link(link)

    def close(self) -> None:
        """Close all sockets, once the receiver has ended."""
        self.channels.close()

    # ---- images -----------------------------------------------------------------------------

    def of_session(
        self, endpoint: ReceiveChannelEndpoint, stream_id: int, session_id: int
    ) -> list[NetworkSubscription]:
        """Return the subscriptions to a session."""
        return [link for link in self.links if link.matches(endpoint, stream_id, session_id)]

    def with_image(self, image: PublicationImage) -> list[NetworkSubscription]:
        """Return the subscriptions that have an image."""
        return [link for link in self.links if image in link.images]

    def link_image(
        self, link: NetworkSubscription, image: PublicationImage, counter_id: int
    ) -> None:
        """Add a subscriber's position to the image, and tell its client of the image."""
        self._context.counters.set_reference_id(counter_id, image.correlation_id)
        link.images[image] = counter_id
        image.stream.subscribers.add(
            counter_id, link.params.is_tether, self._conductor.agent.now_ns
        )
        tell_available(self._context, link, image)

    def unlink(self, link: NetworkSubscription, image: PublicationImage) -> None:
        """Remove one image: its position no longer counts, and its counter is freed."""
        self.drop_position(link, image)
        del link.images[image]

    def drop_position(self, link: NetworkSubscription, image: PublicationImage) -> None:
        """Free an image's position counter; the subscription is told of the image's end later."""
        drop_position(self._context, link, image, image.stream.subscribers.remove)

    # ---- inside -----------------------------------------------------------------------------

    def _join(self, link: NetworkSubscription, image: PublicationImage) -> None:
        """Link a subscription to an image that other subscribers have read already."""
        counter_id = allocate_position(
            self._context, link, image.session_id, image.stream.join_position()
        )
        self.link_image(link, image, counter_id)

    def _close_link(self, link: NetworkSubscription) -> None:
        """Drop all images of a subscription, and its reference to the endpoint."""
        self._context.events.subscription_removed(
            link.stream_id, link.registration_id, link.channel
        )
        for image in list(link.images):
            self.unlink(link, image)
        self.channels.drop_reference(
            link.endpoint, link.stream_id, link.session_id, is_waiting=link.is_waiting
        )
        self.channels.close_if_unused(link.endpoint)

    def _check_clash(
        self,
        endpoint: ReceiveChannelEndpoint,
        stream_id: int,
        channel: UdpChannel,
        params: NetworkSubscriptionParams,
    ) -> None:
        """Refuse a subscription whose options differ from those of another one to its stream."""
        check_receive_timestamps(channel, endpoint.channel)
        for link in self.links:
            if (
                link.endpoint is endpoint
                and link.stream_id == stream_id
                and link.params.session_id == params.session_id
            ):
                check_subscription(channel, params, link.udp_channel, link.params)
