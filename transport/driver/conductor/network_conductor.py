"""The conductor's part for UDP: publications, subscriptions, spies and images; conductor only.

One half has publications with their send endpoints, the other subscriptions with their receive
endpoints and images. This class connects the halves, for spies and response channels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.driver.receive.network_subscriptions import NetworkSubscriptions
from aerolog.transport.driver.receive.publication_images import PublicationImages
from aerolog.transport.driver.send.network_publications import NetworkPublications
from aerolog.transport.driver.send.publication_destinations import PublicationDestinations
from aerolog.transport.driver.send.send_channel_endpoint import SendChannelEndpoints
from aerolog.transport.driver.send.sender_reports import SenderReports
from aerolog.transport.uri.keys import IPC_CHANNEL, SPY_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.driver.conductor.conductor_context import ConductorContext
    from aerolog.transport.network.udp_channel import UdpChannel
    from aerolog.transport.protocol.commands import (
        AddDestination,
        AddExclusivePublication,
        AddPublication,
        AddReceiveDestination,
        AddSubscription,
        RemoveDestination,
        RemoveDestinationById,
        RemoveReceiveDestination,
    )

    ChannelCommand = (
        AddDestination
        | AddExclusivePublication
        | AddPublication
        | AddReceiveDestination
        | AddSubscription
        | RemoveDestination
        | RemoveReceiveDestination
    )


class NetworkConductor:
    """All UDP publications, subscriptions, spies and images of a driver.

    Args:
        conductor: the parts of the driver that the halves use.

    Attributes:
        publications: the publications of the sending half.
        spies: the spies of the sending half.
        subscriptions: the subscriptions of the receiving half.
        images: the images of the receiving half.
    """

    def __init__(self, conductor: ConductorContext) -> None:
        self._conductor = conductor
        self._order = conductor.order
        self._endpoints = SendChannelEndpoints(conductor)
        self.subscriptions = NetworkSubscriptions(conductor)
        self.images = PublicationImages(conductor, self.subscriptions)
        self.publications = NetworkPublications(
            conductor, self._endpoints, self.subscriptions, self.images
        )
        self.spies = self.publications.spies
        self._destinations = PublicationDestinations(conductor, self.publications)
        self._reports = SenderReports(
            conductor, self._endpoints, self.subscriptions, self.images, self.publications
        )

    @property
    def is_busy(self) -> bool:
        """Whether the conductor must read no further command for now.

        That is so while a name is being looked up, or an endpoint is being closed whose port the
        next command may ask for. Both end soon, and commands are answered in order of arrival.
        """
        return (
            self._conductor.context.names.is_busy
            or self._endpoints.is_closing
            or self.subscriptions.channels.is_closing
        )

    # ---- publications -----------------------------------------------------------------------

    def add_publication(self, command: AddPublication | AddExclusivePublication) -> None:
        """Share or make a publication, as soon as its channel is resolved."""
        self._with_channel(command, lambda channel: self.publications.publish(command, channel))

    def add_destination(self, command: AddDestination) -> None:
        """Add a destination to a publication."""
        self._destinations.add(command, lambda error: self._order.fail(command, error))

    def remove_destination(self, command: RemoveDestination) -> None:
        """Remove a destination from a publication by its address."""
        self._destinations.remove(command, lambda error: self._order.fail(command, error))

    def remove_destination_by_id(self, command: RemoveDestinationById) -> None:
        """Remove the destination that an earlier command added, by the id of that command."""
        self._destinations.remove_by_id(command)

    # ---- subscriptions ------------------------------------------------------------------------

    def add_subscription(self, command: AddSubscription) -> None:
        """Subscribe to a channel, or spy on it, as soon as it is resolved."""
        owner = self.spies if command.channel.startswith(SPY_PREFIX) else self.subscriptions
        self._with_channel(command, lambda channel: owner.subscribe(command, channel))

    def remove_subscription(self, registration_id: int) -> bool:
        """Remove the UDP subscriptions and spies of an id; return False when there are none."""
        is_spy = self.spies.remove(registration_id)
        return self.subscriptions.remove(registration_id) or is_spy

    def add_receive_destination(self, command: AddReceiveDestination) -> None:
        """Add a channel to a multi-destination subscription.

        A channel that is resolved is so before the subscription is looked up, as in the
        reference, so that of two faults the channel's is answered.
        """
        if command.channel.startswith(IPC_CHANNEL):
            link = self.subscriptions.multi_destination(command.registration_id)
            self._conductor.ipc.add_destination(command, link.client, link.stream_id)
        elif command.channel.startswith(SPY_PREFIX):
            self._with_channel(command, lambda channel: self._add_spy_destination(command, channel))
        else:
            self._with_channel(
                command,
                lambda channel: self.subscriptions.add_destination(command, channel),
                is_destination=True,
            )

    def _add_spy_destination(self, command: AddReceiveDestination, channel: UdpChannel) -> None:
        link = self.subscriptions.multi_destination(command.registration_id)
        self.spies.add_destination(command, channel, link.client, link.stream_id)

    def remove_receive_destination(self, command: RemoveReceiveDestination) -> None:
        """Remove a channel from a multi-destination subscription."""
        if command.channel.startswith(IPC_CHANNEL):
            self._conductor.ipc.remove_destination(command)
        elif command.channel.startswith(SPY_PREFIX):
            self.spies.remove_destination(command)
        else:
            self.subscriptions.check_removable(command.registration_id)
            self._with_channel(
                command,
                lambda channel: self.subscriptions.remove_destination(command, channel),
                is_destination=True,
            )

    # ---- events, ends ---------------------------------------------------------------------------

    def on_events(self) -> int:
        """Handle events of sender and receiver, and hand over commands that had no room before.

        Returns:
            A work count.
        """
        self._conductor.sender.flush()
        self._conductor.receiver.flush()
        return self._reports.take() + self.images.on_receiver_events()

    def allocate_terms(self) -> None:
        """Have terms allocated; record an error for every log that the disk had no space for."""
        self.publications.allocate_terms()
        self.images.report_refused_allocations()

    def free_logs(self) -> None:
        """Close all logs, once the conductor has ended."""
        self.publications.free_logs()
        self.images.close()

    def close_sockets(self) -> None:
        """Close all sockets, once the sender and the receiver have ended."""
        self.subscriptions.close()
        self._endpoints.close()

    def _with_channel(
        self,
        command: ChannelCommand,
        then: Callable[[UdpChannel], None],
        *,
        is_destination: bool = False,
    ) -> None:
        """Resolve a command's channel, then continue the command with it."""
        self._conductor.context.names.resolve(
            command.channel,
            then,
            lambda error: self._order.fail(command, error),
            is_destination=is_destination,
        )
