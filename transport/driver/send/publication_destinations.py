"""Destinations of UDP publications. Conductor only.

Spec cnc-and-commands 16, spec wire-protocol 12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.driver.channels.destination_params import (
    check_send_destination,
    send_destination_endpoint,
)
from aerolog.transport.driver.conductor.command_error import ManualControlError
from aerolog.transport.driver.names.driver_names import names_a_host
from aerolog.transport.driver.receive.receive_sockets import as_pair
from aerolog.transport.driver.send.send_channel_endpoint import SendDestination
from aerolog.transport.errors import ChannelUriError, ControlProtocolError, ErrorCode
from aerolog.transport.network.host_names import UNKNOWN_HOST, resolve_endpoint
from aerolog.transport.network.resolvers import DefaultNameResolver
from aerolog.transport.protocol.responses import OperationSuccess
from aerolog.transport.uri import ChannelUri, keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.driver.conductor.conductor_context import ConductorContext
    from aerolog.transport.driver.send.network_publications import NetworkPublications
    from aerolog.transport.driver.send.send_channel_endpoint import SendChannelEndpoint
    from aerolog.transport.network.addresses import SocketAddress
    from aerolog.transport.protocol.commands import (
        AddDestination,
        RemoveDestination,
        RemoveDestinationById,
    )

    Refuse = Callable[[Exception], None]


class PublicationDestinations:
    """Adds and removes the destinations of publications with manual control."""

    def __init__(self, conductor: ConductorContext, publications: NetworkPublications) -> None:
        self._conductor = conductor
        self._publications = publications
        self._numbers = DefaultNameResolver()

    def add(self, command: AddDestination, refuse: Refuse) -> None:
        """Add a destination to a publication, as soon as its name is resolved.

        An unknown host is no error: the driver resolves it again later.

        Raises:
            ControlProtocolError: the publication does not exist or takes no destinations, or no
                destination may have such a channel.
            PublicationAwaitedError: the log of the publication is being made.
            ChannelUriError: the channel does not parse.
        """
        uri = ChannelUri.parse(command.channel)
        check_send_destination(uri, command.channel)
        endpoint = self._endpoint(command.registration_id)
        text = send_destination_endpoint(uri)

        def add(address: SocketAddress | None) -> None:
            if not endpoint.is_closing:
                endpoint.destinations[command.correlation_id] = SendDestination(text, address)
                self._conductor.sender.add_destination(
                    endpoint.endpoint,
                    command.correlation_id,
                    None if address is None else as_pair(address),
                )
            self._succeed(command.correlation_id)

        self._with_address(text, add, refuse)

    def remove(self, command: RemoveDestination, refuse: Refuse) -> None:
        """Remove a destination by its address; an address that is not there is no error.

        Raises:
            ControlProtocolError: the publication does not exist or takes no destinations.
            ChannelUriError: the channel does not parse.
        """
        uri = ChannelUri.parse(command.channel)
        endpoint = self._endpoint(command.registration_id)
        text = send_destination_endpoint(uri)

        def remove(address: SocketAddress | None) -> None:
            for registration_id, known in endpoint.destinations.items():
                is_same = known.endpoint == text if address is None else known.address == address
                if is_same:
                    self._remove(endpoint, registration_id)
                    break
            self._succeed(command.correlation_id)

        self._with_address(text, remove, refuse)

    def remove_by_id(self, command: RemoveDestinationById) -> None:
        """Remove the destination that a command added; an unknown id is no error.

        Raises:
            ControlProtocolError: the publication does not exist or takes no destinations.
        """
        endpoint = self._endpoint(command.registration_id)
        if command.destination_registration_id in endpoint.destinations:
            self._remove(endpoint, command.destination_registration_id)
        self._succeed(command.correlation_id)

    def _endpoint(self, registration_id: int) -> SendChannelEndpoint:
        publication = self._publications.find_made(registration_id)
        if publication is None:
            raise ControlProtocolError(
                ErrorCode.UNKNOWN_PUBLICATION, f"unknown publication: {registration_id}"
            )
        if not publication.endpoint.takes_destinations:
            raise ManualControlError
        return publication.endpoint

    def _remove(self, endpoint: SendChannelEndpoint, registration_id: int) -> None:
        del endpoint.destinations[registration_id]
        if not endpoint.is_closing:
            self._conductor.sender.remove_destination(endpoint.endpoint, registration_id)

    def _with_address(
        self, text: str, then: Callable[[SocketAddress | None], None], refuse: Refuse
    ) -> None:
        """Resolve an endpoint, then continue; a numeric address is resolved at once."""
        if not names_a_host(text):
            then(resolve_endpoint(text, keys.ENDPOINT, self._numbers))
            return

        def failed(error: Exception) -> None:
            if isinstance(error, ChannelUriError) and error.reference_type == UNKNOWN_HOST:
                then(None)
            else:
                refuse(error)

        self._conductor.context.names.resolve(
            f"aeron:udp?{keys.ENDPOINT}={text}",
            lambda channel: then(channel.remote_data),
            failed,
            is_destination=True,
        )

    def _succeed(self, correlation_id: int) -> None:
        self._conductor.context.tell(OperationSuccess(correlation_id))
