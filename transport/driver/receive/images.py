"""Images of UDP streams: what the receiver reports of them, and their ends. Conductor only.

Spec cnc-and-commands 15.2, spec wire-protocol 8.5, 9.7. ``image_timers`` has what timer events
change.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from aerolog.transport.driver.conductor.command_error import ILLEGAL_ARGUMENT, generic
from aerolog.transport.driver.counters.endpoint_counters import address_text
from aerolog.transport.driver.counters.system_counters import SystemCounter
from aerolog.transport.driver.receive.image_factory import (
    initial_position,
    initial_window,
    make_image,
)
from aerolog.transport.driver.receive.image_timers import ImageTimers
from aerolog.transport.driver.receive.receive_sockets import as_pair
from aerolog.transport.driver.receive.receiver_events import (
    AnswerFailed,
    CreateImage,
    EndpointReleased,
    ImageReleased,
    ReceiveFailed,
    SessionLimitExceeded,
    TransportReleased,
    Unresolved,
)
from aerolog.transport.errors import StorageSpaceError
from aerolog.transport.uri import keys

if TYPE_CHECKING:
    from collections.abc import Hashable

    from aerolog.transport.driver.conductor.network_context import NetworkParts
    from aerolog.transport.driver.receive.network_subscriptions import Subscriptions
    from aerolog.transport.driver.receive.publication_image import PublicationImage
    from aerolog.transport.driver.receive.receive_channel_endpoint import ReceiveChannel
    from aerolog.transport.driver.receive.receive_stream import NetworkImage
    from aerolog.transport.driver.receive.receive_transport import ReceiveTransport
    from aerolog.transport.driver.receive.receiver_events import ReceiverEvent
    from aerolog.transport.network.addresses import SocketAddress

_EVENT: Final = "io.aeron.exceptions.AeronEvent: WARN - "


class Images:
    """All images of a driver."""

    def __init__(self, parts: NetworkParts, subscriptions: Subscriptions) -> None:
        self._parts = parts
        self._context = parts.context
        self._subscriptions = subscriptions
        self._channels = subscriptions.channels
        self._images = subscriptions.images
        self._timers = ImageTimers(parts, subscriptions)

    # ---- for the other half ------------------------------------------------------------------

    def find(self, correlation_id: int) -> NetworkImage | None:
        """The image of that id."""
        found = self._find(correlation_id)
        return None if found is None else found.stream

    def reject(self, correlation_id: int, reason: str) -> bool:
        """Have an image tell its sender why it is not wanted; False when there is none."""
        found = self._find(correlation_id)
        if found is None:
            return False
        found.stream.reject(reason)
        self._context.counters.get_and_add(SystemCounter.IMAGES_REJECTED, 1)
        return True

    def check_response_requested(self, correlation_id: int) -> None:
        """Refuse a response publication whose image is unknown, or asked for no response.

        Raises:
            CommandError: with the reference's text.
        """
        found = self._find(correlation_id)
        if found is None:
            raise generic(ILLEGAL_ARGUMENT, f"image.correlationId={correlation_id} not found")
        if not found.is_response_wanted:
            raise generic(
                ILLEGAL_ARGUMENT,
                f"image.correlationId={correlation_id} did not request a response channel",
            )

    def set_response_session(self, correlation_id: int, session_id: int | None) -> None:
        """Have an image tell its sender the session of the answer, or stop telling it.

        An image that is gone is no error.
        """
        found = self._find(correlation_id)
        if found is not None:
            found.stream.response_session_id = session_id

    # ---- timer events and the receiver ---------------------------------------------------------

    def on_timer(self) -> None:
        """Let every image have its timer event, the last one first."""
        self._timers.on_timer()

    def on_receiver_events(self) -> int:
        """Take what the receiver reports; returns a work count."""
        events = self._parts.receiver.events()
        for event in events:
            self._on_event(event)
        return len(events)

    def report_refused_room(self) -> None:
        """Record every image whose log did not get room for its next term."""
        for image in self._images:
            code = image.stream.refused_allocation()
            if code:
                self._context.errors.record_event(
                    f"{StorageSpaceError.__module__}.{StorageSpaceError.__qualname__}: no room for "
                    f"the next term of {image.log.path} ({os.strerror(code)}): "
                    f"its receiver window is withheld until there is\n",
                    ("no room for a term", image.correlation_id),
                )

    def close(self) -> None:
        """Let go of all logs; the receiver has ended."""
        for image in self._images:
            self._context.logs.free(image.log)
        self._images.clear()

    # ---- events -----------------------------------------------------------------------------

    def _on_event(self, event: ReceiverEvent) -> None:
        match event:
            case CreateImage():
                self._on_create(event)
            case ImageReleased(stream):
                self._on_image_released(stream)
            case EndpointReleased(endpoint):
                self._channels.on_endpoint_released(endpoint)
            case TransportReleased(endpoint, transport):
                self._channels.on_transport_released(endpoint, transport)
            case SessionLimitExceeded(_, stream_id, source):
                self._note(
                    f"exceeded session limit, streamId={stream_id} "
                    f"sourceAddress=/{address_text(source)}",
                    ("exceeded session limit", stream_id),
                )
            case Unresolved(endpoint, transport):
                known = self._channels.of(endpoint)
                if known is not None:
                    self._look_up(known, transport)
            case ReceiveFailed(transport, code):
                local = address_text(transport.port.local_address)
                self._note(
                    f"failed to receive datagrams on {local}, cause: {os.strerror(code)}",
                    ("failed to receive", local, code),
                )
            case AnswerFailed(transport, destination, code):
                self._note(
                    f"failed to send datagram to /{address_text(destination)}, "
                    f"cause: {os.strerror(code)}",
                    ("failed to answer", transport.port.local_address, code),
                )

    def _note(self, text: str, identity: Hashable) -> None:
        """Record what a stranger may cause: his address tells no two entries apart."""
        self._context.errors.record_event(f"{_EVENT}{text}\n", identity)

    def _on_create(self, event: CreateImage) -> None:
        """A session begins: make its image, or say that there is none."""
        endpoint = self._channels.of(event.endpoint)
        if endpoint is None or endpoint.is_closing:
            return  # the receiver is about to give the endpoint back, and its sessions with it
        is_made = False
        try:
            is_made = self._create(endpoint, event)
        except Exception as error:  # noqa: BLE001 -- no command: whatever it is, it is recorded
            self._context.errors.record(error)
        if not is_made:
            self._parts.receiver.refuse_image(event.endpoint, event.session_id, event.stream_id)

    def _create(self, endpoint: ReceiveChannel, event: CreateImage) -> bool:
        subscriptions = self._subscriptions
        links = subscriptions.of_session(endpoint, event.stream_id, event.session_id)
        if not links or not self._takes_a_datagram(endpoint, event):
            return False
        position_ids: list[int] = []
        try:
            for link in links:
                position_ids.append(  # noqa: PERF401 -- those made so far are freed on failure
                    subscriptions.allocate_position(link, event.session_id, initial_position(event))
                )
            image = make_image(self._parts, endpoint, event, links)
        except BaseException:
            for counter_id in position_ids:
                self._context.free_counter(counter_id)
            raise
        self._images.append(image)
        endpoint.image_count += 1
        for link, counter_id in zip(links, position_ids, strict=True):
            subscriptions.link_image(link, image, counter_id)
        self._parts.clockwork.add_stream(image.stream)
        self._parts.receiver.add_image(endpoint.endpoint, image.stream)
        return True

    def _takes_a_datagram(self, endpoint: ReceiveChannel, event: CreateImage) -> bool:
        """Whether the window that images begin with is not shorter than the sender's MTU."""
        window = initial_window(endpoint, self._context.settings)
        if event.mtu <= window:
            return True
        self._context.errors.record_event(
            "io.aeron.exceptions.ConfigurationException: ERROR - "
            f"mtuLength={event.mtu} > initialWindowLength={window}: "
            f"channel={endpoint.channel.original}\n",
            ("window too short", endpoint.status_id),
        )
        return False

    def _on_image_released(self, stream: NetworkImage) -> None:
        for index, image in enumerate(self._images):
            if image.stream is stream:
                image.is_released = True
                self._timers.end_if_over(index)
                return

    def _look_up(self, known: ReceiveChannel, transport: ReceiveTransport) -> None:
        """Look the control address of a silent source up again (spec wire-protocol 15.1)."""
        for bound in known.transports:
            if bound.transport is transport and not bound.is_leaving:
                break
        else:
            return
        control = bound.channel.uri.get(keys.CONTROL)
        if control is None:
            return

        def on_change(address: SocketAddress) -> None:
            if not bound.is_leaving and not known.is_closing:
                bound.control = address
                self._parts.receiver.change_address(known.endpoint, transport, as_pair(address))

        self._context.names.re_resolve(keys.CONTROL, control, bound.control, on_change)

    def _find(self, correlation_id: int) -> PublicationImage | None:
        return next((i for i in self._images if i.correlation_id == correlation_id), None)
