"""Images of UDP streams, from the receiver's events to their ends; conductor only.

Spec cnc-and-commands 15.2, 15.4; spec wire-protocol 8.5, 9.7, 11. INIT and ACTIVE images may lose
untethered subscribers for a while; DRAINING images end when all is consumed and the sender has been
told for long enough; LINGER keeps the log for clients.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver import properties
from aerolog.transport.driver.conductor.command_error import ILLEGAL_ARGUMENT, generic
from aerolog.transport.driver.conductor.subscription_links import (
    allocate_position,
    move_untethered,
    tell_unavailable,
)
from aerolog.transport.driver.context import remove_at
from aerolog.transport.driver.counters.endpoint_counters import address_text
from aerolog.transport.driver.receive.image_factory import (
    image_metadata,
    initial_position,
    initial_window,
    make_image,
)
from aerolog.transport.driver.receive.receive_sockets import as_pair
from aerolog.transport.driver.receive.receive_stream import ACTIVE, DONE, LINGER
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
from aerolog.transport.driver.receive.source_limits import SourceLimits, host_of
from aerolog.transport.uri import keys

if TYPE_CHECKING:
    from collections.abc import Hashable

    from aerolog.transport.driver.conductor.conductor_context import ConductorContext
    from aerolog.transport.driver.logs.log_store import LogFile
    from aerolog.transport.driver.receive.network_subscription import NetworkSubscription
    from aerolog.transport.driver.receive.network_subscriptions import NetworkSubscriptions
    from aerolog.transport.driver.receive.publication_image import PublicationImage
    from aerolog.transport.driver.receive.receive_channel_endpoint import ReceiveChannelEndpoint
    from aerolog.transport.driver.receive.receive_stream import ReceiveStream
    from aerolog.transport.driver.receive.receive_transport import ReceiveTransport
    from aerolog.transport.driver.receive.receiver_events import ReceiverEvent
    from aerolog.transport.logbuffer.metadata import LogMetadata
    from aerolog.transport.network.addresses import SocketAddress

#: As many logs of images may be in the making before SETUPs of further sessions are dropped.
MAKINGS_MAX: Final = 64
_EVENT: Final = "io.aeron.exceptions.AeronEvent: WARN - "


def _key(event: CreateImage) -> Hashable:
    """What makes two SETUPs of sessions ask for the same image."""
    return event.endpoint, event.session_id, event.stream_id


class PublicationImages:
    """All images of a driver."""

    def __init__(self, conductor: ConductorContext, subscriptions: NetworkSubscriptions) -> None:
        self._conductor = conductor
        self._context = conductor.context
        self._subscriptions = subscriptions
        self._channels = subscriptions.channels
        self._images = subscriptions.images
        self._agent = conductor.agent
        self._makings: dict[Hashable, CreateImage] = {}
        settings = conductor.context.settings
        self._limits = SourceLimits(
            settings[properties.SOURCE_IMAGES_MAX], settings[properties.SOURCE_IMAGE_RATE]
        )

    # ---- for the other half ------------------------------------------------------------------

    def reject(self, correlation_id: int, reason: str) -> bool:
        """Reject an image and send the reason to its sender; return False when there is none."""
        found = self._find(correlation_id)
        if found is None:
            return False
        found.stream.reject(reason)
        self._context.counters.get_and_add(SystemCounter.IMAGES_REJECTED, 1)
        return True

    def check_response_requested(self, correlation_id: int) -> None:
        """Refuse a response publication whose image is unknown, or wants no response.

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
        """Announce to an image's sender the session that answers it, or stop announcing.

        An image that does not exist any more is no error.
        """
        found = self._find(correlation_id)
        if found is not None:
            found.stream.response_session_id = session_id

    # ---- the receiver ---------------------------------------------------------------------------

    def on_receiver_events(self) -> int:
        """Handle the receiver's events; return a work count."""
        events = self._conductor.receiver.events()
        for event in events:
            self._on_event(event)
        return len(events)

    def report_refused_allocations(self) -> None:
        """Record an error for every image whose log had no space for its next term."""
        for image in self._images:
            self._context.logs.report_refused_term(
                image.log,
                image.correlation_id,
                image.stream.refused_allocation(),
                "receiver window",
            )

    def close(self) -> None:
        """Close all logs, once the receiver has ended."""
        for image in self._images:
            self._context.logs.free(image.log)
        self._images.clear()

    # ---- timer events --------------------------------------------------------------------------

    def on_timer(self) -> None:
        """Run the timer event of every image, the last one first."""
        for index in range(len(self._images) - 1, -1, -1):
            self._on_timer(self._images[index])
            self._end_if_over(index)

    def _end_if_over(self, index: int) -> None:
        """Free everything that belongs to an image which neither clients nor the receiver use."""
        image = self._images[index]
        if image.stream.state != DONE or not image.is_released:
            return
        remove_at(self._images, index)
        self._limits.ended(image.source_host)
        self._agent.remove_stream(image.stream)
        self._context.free_counters(image.counter_ids)
        self._context.logs.free(image.log)
        self._context.events.image_removed(
            image.session_id, image.stream_id, image.correlation_id, image.endpoint.channel.original
        )

    def _on_timer(self, image: PublicationImage) -> None:
        stream = image.stream
        now_ns = self._agent.now_ns
        if stream.state == LINGER:
            if stream.done_is_due(now_ns):
                self._to_done(image, now_ns)
        elif stream.state < LINGER and stream.linger_is_due(now_ns):
            self._to_linger(image, now_ns)
        elif stream.state <= ACTIVE:
            for counter_id in stream.subscribers.due(stream.untethered_limit(), now_ns):
                self._move_untethered(image, counter_id, now_ns)
        stream.on_timer(now_ns)

    def _to_linger(self, image: PublicationImage, now_ns: int) -> None:
        """End an image: tell every client that has it, and have the receiver release it."""
        image.stream.enter(LINGER, now_ns)
        if image.stream.is_revoked:
            self._context.events.image_revoked(
                image.stream.hwm_position,
                image.session_id,
                image.stream_id,
                image.endpoint.channel.original,
            )
        is_rejoin = True
        for link in self._subscriptions.with_image(image):
            tell_unavailable(self._context, link, image)
            is_rejoin = link.params.is_rejoin
        receiver, endpoint = self._conductor.receiver, image.endpoint
        if is_rejoin:
            receiver.remove_cool_down(endpoint.endpoint, image.session_id, image.stream_id)
        receiver.remove_image(image.stream)
        endpoint.image_count -= 1
        self._subscriptions.channels.close_if_unused(endpoint)

    def _to_done(self, image: PublicationImage, now_ns: int) -> None:
        """Free the positions of an image that nobody reads any more, or that lingered too long."""
        image.stream.enter(DONE, now_ns)
        for link in self._subscriptions.with_image(image):
            self._subscriptions.unlink(link, image)

    def _move_untethered(self, image: PublicationImage, counter_id: int, now_ns: int) -> None:
        link = next(
            each
            for each in self._subscriptions.with_image(image)
            if each.images[image] == counter_id
        )
        subscribers = image.stream.subscribers
        state = move_untethered(self._context, link, image, subscribers.state(counter_id))
        if state is None:
            self._subscriptions.drop_position(link, image)
        else:
            subscribers.set_state(counter_id, state, now_ns)

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
        """Record an error that anybody can cause: the address does not make a separate entry."""
        self._context.errors.record_event(f"{_EVENT}{text}\n", identity)

    def _on_create(self, event: CreateImage) -> None:
        """Begin to make the image of a new session, or have the receiver refuse it."""
        endpoint = self._channels.of(event.endpoint)
        if endpoint is None or endpoint.is_closing:
            return  # the receiver is about to release the endpoint, and its sessions with it
        try:
            is_begun = self._begin(endpoint, event)
        except Exception as error:  # noqa: BLE001 -- no command: whatever it is, it is recorded
            self._context.errors.record(error)
            is_begun = False
        if not is_begun:
            self._refuse(event)

    def _begin(self, endpoint: ReceiveChannelEndpoint, event: CreateImage) -> bool:
        """Have the log of an image made; return False for an image that is not wanted."""
        subscriptions = self._subscriptions
        links = subscriptions.of_session(endpoint, event.stream_id, event.session_id)
        if not links or not self._takes_a_datagram(endpoint, event):
            return False
        if len(self._makings) >= MAKINGS_MAX:
            return False  # the sender's next SETUPs ask again
        host = host_of(event.source)
        refusal = self._limits.refusal(host, self._agent.now_ns)
        if refusal is not None:
            self._note(f"refused an image: {host} {refusal}", "images of a source")
            return False
        # A session whose subscription was removed and added meanwhile gets the later log.
        self._makings[_key(event)] = event

        def failed(error: Exception) -> None:
            self._context.errors.record(error)
            self._give_up(endpoint, event)

        try:
            metadata = image_metadata(self._conductor, endpoint, event, links)
        except Exception as error:  # noqa: BLE001 -- no command: whatever it is, it is recorded
            failed(error)
            return True
        self._context.logs.make_image_log(
            metadata.correlation_id,
            metadata,
            lambda log: self._on_log(endpoint, event, metadata, log),
            failed,
        )
        return True

    def _on_log(
        self,
        endpoint: ReceiveChannelEndpoint,
        event: CreateImage,
        metadata: LogMetadata,
        log: LogFile,
    ) -> None:
        """Make the image whose log is made, if somebody still wants it."""
        links = self._subscriptions.of_session(endpoint, event.stream_id, event.session_id)
        is_latest = self._makings.get(_key(event)) is event
        if not links or not is_latest or endpoint.is_closing:
            self._context.logs.free(log)
            self._give_up(endpoint, event)
            return
        try:
            self._make(endpoint, event, links, metadata, log)
        except BaseException:
            self._context.logs.free(log)
            raise
        del self._makings[_key(event)]

    def _give_up(self, endpoint: ReceiveChannelEndpoint, event: CreateImage) -> None:
        """End the making of an image, and have the receiver refuse it unless it is made again."""
        self._limits.ended(host_of(event.source))
        if self._makings.get(_key(event)) is event:
            del self._makings[_key(event)]
            if not endpoint.is_closing:
                self._refuse(event)

    def _refuse(self, event: CreateImage) -> None:
        self._conductor.receiver.refuse_image(event.endpoint, event.session_id, event.stream_id)

    def _make(
        self,
        endpoint: ReceiveChannelEndpoint,
        event: CreateImage,
        links: list[NetworkSubscription],
        metadata: LogMetadata,
        log: LogFile,
    ) -> None:
        position_ids: list[int] = []
        position = initial_position(event)
        try:
            for link in links:
                position_ids.append(  # noqa: PERF401 -- those made so far are freed on failure
                    allocate_position(self._context, link, event.session_id, position)
                )
            image = make_image(self._conductor, endpoint, event, links, metadata, log)
        except BaseException:
            self._context.free_counters(position_ids)
            raise
        self._images.append(image)
        endpoint.image_count += 1
        for link, counter_id in zip(links, position_ids, strict=True):
            self._subscriptions.link_image(link, image, counter_id)
        self._conductor.agent.add_stream(image.stream)
        self._conductor.receiver.add_image(endpoint.endpoint, image.stream)

    def _takes_a_datagram(self, endpoint: ReceiveChannelEndpoint, event: CreateImage) -> bool:
        """Return whether the initial window of images is at least the sender's MTU."""
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

    def _on_image_released(self, stream: ReceiveStream) -> None:
        for index, image in enumerate(self._images):
            if image.stream is stream:
                image.is_released = True
                self._end_if_over(index)
                return

    def _look_up(self, known: ReceiveChannelEndpoint, transport: ReceiveTransport) -> None:
        """Resolve the control address of a silent source again (spec wire-protocol 15.1)."""
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
                self._conductor.receiver.change_address(known.endpoint, transport, as_pair(address))

        self._context.names.re_resolve(keys.CONTROL, control, bound.control, on_change)

    def _find(self, correlation_id: int) -> PublicationImage | None:
        return next((i for i in self._images if i.correlation_id == correlation_id), None)
