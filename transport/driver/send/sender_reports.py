"""The conductor's reactions to events of the sender (spec wire-protocol 5.6, 12, 14, 15.1)."""

from __future__ import annotations

import os
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from aerolog.transport.driver.conductor.driver_publication import rejection_text
from aerolog.transport.driver.counters.endpoint_counters import address_text
from aerolog.transport.driver.receive.receive_sockets import as_pair
from aerolog.transport.driver.send.sender_events import (
    EndpointReleased,
    PublicationError,
    PublicationReleased,
    ResponseConnected,
    ResponseSetup,
    SendFailed,
    Unresolved,
)
from aerolog.transport.network.addresses import WILDCARD_IPV4
from aerolog.transport.protocol.responses import ADDRESS_IPV4, ADDRESS_IPV6, OnPublicationError
from aerolog.transport.uri import keys

if TYPE_CHECKING:
    from aerolog.transport.driver.conductor.conductor_context import ConductorContext
    from aerolog.transport.driver.receive.network_subscriptions import NetworkSubscriptions
    from aerolog.transport.driver.receive.publication_images import PublicationImages
    from aerolog.transport.driver.send.network_publication import NetworkPublication
    from aerolog.transport.driver.send.network_publications import NetworkPublications
    from aerolog.transport.driver.send.send_channel_endpoint import (
        SendChannelEndpoint,
        SendChannelEndpoints,
    )
    from aerolog.transport.driver.send.send_stream import SendStream
    from aerolog.transport.driver.send.sender_events import SenderEvent
    from aerolog.transport.network.addresses import SocketAddress

# The number of reasons for rejections of one publication that the error log keeps apart.
_REJECTIONS_LIMIT: Final = 16


class SenderReports:
    """Handles the events of the sender."""

    def __init__(
        self,
        conductor: ConductorContext,
        endpoints: SendChannelEndpoints,
        subscriptions: NetworkSubscriptions,
        images: PublicationImages,
        publications: NetworkPublications,
    ) -> None:
        self._conductor = conductor
        self._context = conductor.context
        self._endpoints = endpoints
        self._subscriptions = subscriptions
        self._images = images
        self._publications = publications

    def take(self) -> int:
        """Handle all events that are waiting; return their number."""
        events = self._conductor.sender.events()
        for event in events:
            try:
                self._on(event)
            except Exception as error:  # noqa: BLE001 -- the events behind it count as well
                self._context.errors.record(error)
        return len(events)

    def _on(self, event: SenderEvent) -> None:
        match event:
            case PublicationReleased(stream):
                publication = self._of(stream)
                if publication is not None:
                    self._publications.items.remove(publication)
                    self._publications.free(publication)
            case EndpointReleased(endpoint):
                self._endpoints.on_released(endpoint)
            case PublicationError():
                self._on_rejection(event)
            case ResponseSetup(stream, session_id):
                publication = self._of(stream)
                if publication is not None:
                    self._subscriptions.on_response_setup(
                        publication.params.response_correlation_id, session_id
                    )
            case ResponseConnected(stream):
                publication = self._of(stream)
                if publication is not None and publication.params.is_response:
                    self._images.set_response_session(
                        publication.params.response_correlation_id, None
                    )
            case Unresolved(endpoint, registration_id):
                known = self._endpoints.of(endpoint)
                if known is None or known.is_closing:
                    return
                if registration_id is None:
                    self._look_up_peer(known)
                else:
                    self._look_up_destination(known, registration_id)
            case SendFailed():
                self._on_send_failed(event)

    def _on_rejection(self, event: PublicationError) -> None:
        publication = self._of(event.publication)
        if publication is None:
            return
        host, port = event.address
        ip = ip_address(host.partition("%")[0])
        rejection = OnPublicationError(
            publication.registration_id,
            event.destination_registration_id,
            publication.session_id,
            publication.stream_id,
            event.receiver_id,
            event.group_tag,
            ADDRESS_IPV4 if ip.version == 4 else ADDRESS_IPV6,
            port,
            ip.packed,
            event.code,
            event.text,
        )
        text = rejection_text(rejection)
        known = publication.rejections
        if len(known) < _REJECTIONS_LIMIT:
            known.add(text)
        # Forged receivers and reasons must not fill the error log.
        identity = text if text in known else ("rejections", publication.registration_id)
        self._context.errors.record_event(text, identity)
        self._context.tell(rejection)

    def _on_send_failed(self, event: SendFailed) -> None:
        known = self._endpoints.of(event.endpoint)
        if known is None:
            return
        peer = as_pair(known.remote_data) if event.address is None else event.address
        self._context.errors.record_event(
            f"io.aeron.exceptions.AeronEvent: WARN - failed to send to {address_text(peer)}: "
            f"{os.strerror(event.errno)}, channel={known.channel.original}\n",
            ("failed to send", known.channel.original, event.errno),
        )

    def _of(self, stream: SendStream) -> NetworkPublication | None:
        return next((p for p in self._publications.items if p.stream is stream), None)

    def _look_up_peer(self, known: SendChannelEndpoint) -> None:
        def moved(address: SocketAddress) -> None:
            known.remote_data = address
            if not known.is_closing:
                self._conductor.sender.change_destination(known.endpoint, None, as_pair(address))

        self._context.names.re_resolve(
            keys.ENDPOINT, known.channel.uri[keys.ENDPOINT], known.remote_data, moved
        )

    def _look_up_destination(self, known: SendChannelEndpoint, registration_id: int) -> None:
        destination = known.destinations.get(registration_id)
        if destination is None:
            return

        def moved(address: SocketAddress) -> None:
            destination.address = address
            if not known.is_closing and registration_id in known.destinations:
                self._conductor.sender.change_destination(
                    known.endpoint, registration_id, as_pair(address)
                )

        self._context.names.re_resolve(
            keys.ENDPOINT, destination.endpoint, destination.address or WILDCARD_IPV4, moved
        )
