"""The client's handling of each message from the driver (spec client 5 and 7)."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from aerolog.transport.client.client_events import (
    CounterAvailable,
    CounterUnavailable,
    ImageAvailable,
    ImageUnavailable,
    PublicationErrorFrame,
)
from aerolog.transport.client.image import Image
from aerolog.transport.client.options import log_change
from aerolog.transport.client.registration import Pending, ResourceKind
from aerolog.transport.errors import (
    AerologError,
    ChannelEndpointError,
    ClientTimeoutError,
    ErrorCode,
    RegistrationError,
)
from aerolog.transport.protocol import commands, responses

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client.client_conductor import ClientConductor
    from aerolog.transport.client.subscription import Subscription

_NONE = -1

# What takes back what a command of each kind has made; a destination or static counter stays.
_REMOVE: dict[ResourceKind, Callable[[int, int, int], commands.Command]] = {
    ResourceKind.PUBLICATION: commands.RemovePublication,
    ResourceKind.EXCLUSIVE_PUBLICATION: commands.RemovePublication,
    ResourceKind.SUBSCRIPTION: commands.RemoveSubscription,
    ResourceKind.COUNTER: commands.RemoveCounter,
}


class DriverListener:
    """Acts on the driver's messages; only the conductor calls it, with its lock held."""

    def __init__(self, conductor: ClientConductor) -> None:
        self._conductor = conductor
        self._actions: dict[type[responses.Response], Callable[[Any], None]] = {
            responses.OnError: self._on_error,
            responses.PublicationReady: self._on_ready,
            responses.ExclusivePublicationReady: self._on_ready,
            responses.SubscriptionReady: self._on_ready,
            responses.StaticCounter: self._on_ready,
            responses.NextAvailableSessionId: self._on_ready,
            responses.OperationSuccess: self._on_ready,
            responses.CounterReady: self._on_counter_ready,
            responses.UnavailableCounter: self._on_unavailable_counter,
            responses.AvailableImage: self._on_available_image,
            responses.UnavailableImage: self._on_unavailable_image,
            responses.ClientTimeout: self._on_client_timeout,
            responses.OnPublicationError: self._on_publication_error,
        }

    def take(self, type_id: int, data: bytes) -> None:
        """Act on one message; a malformed one is reported and passed over."""
        try:
            message = responses.decode_response(type_id, data)
            if message is not None:
                self._actions[type(message)](message)
        except Exception as error:  # noqa: BLE001 - a message that is not ours must not stop others
            self._conductor.report(error)

    # -- answers ---------------------------------------------------------------------------------

    def _on_ready(self, message: Any) -> None:
        pending = self._conductor.pending.pop(message.correlation_id, None)
        if pending is None:
            return
        if pending.abandoned:
            self._take_back(pending)
            return
        pending.settle(message)
        if pending.future.exception(0) is not None:
            self._take_back(pending)

    def _on_error(self, message: responses.OnError) -> None:
        if message.code == ErrorCode.CHANNEL_ENDPOINT_ERROR:
            self._on_channel_error(message)
            return
        pending = self._conductor.pending.pop(message.correlation_id, None)
        if pending is None or pending.abandoned:
            return
        pending.fail(RegistrationError(message.correlation_id, message.code, message.message))

    def _on_channel_error(self, message: responses.OnError) -> None:
        """Report the error of a channel; its id is that of a status counter (spec client 7)."""
        status_id = message.correlation_id
        conductor = self._conductor
        ids = [p.channel_status_id for p in conductor.publications.values()]
        ids += [s.channel_status_id for s in conductor.subscriptions.values()]
        for _ in range(ids.count(status_id)):
            conductor.report(ChannelEndpointError(status_id, message.message))

    def _take_back(self, pending: Pending) -> None:
        """Remove a resource that the driver made for a command that was cancelled."""
        remove = _REMOVE.get(pending.kind)
        if remove is not None:
            client_id, registration_id = self._conductor.client_id, pending.correlation_id
            self._conductor.remove(lambda i: remove(client_id, i, registration_id))

    # -- counters --------------------------------------------------------------------------------

    def _on_counter_ready(self, message: responses.CounterReady) -> None:
        self._on_ready(message)
        conductor = self._conductor
        conductor.publish(CounterAvailable(message.correlation_id, message.counter_id))
        for handler in list(conductor.counter_handlers):
            conductor.run_handler(
                handler, conductor.counters, message.correlation_id, message.counter_id
            )

    def _on_unavailable_counter(self, message: responses.UnavailableCounter) -> None:
        self.counter_gone(message.registration_id, message.counter_id)

    def counter_gone(self, registration_id: int, counter_id: int) -> None:
        """Tell the handlers that a counter is gone."""
        conductor = self._conductor
        conductor.publish(CounterUnavailable(registration_id, counter_id))
        for handler in list(conductor.counter_gone_handlers):
            conductor.run_handler(handler, conductor.counters, registration_id, counter_id)

    # -- images ----------------------------------------------------------------------------------

    def _on_available_image(self, message: responses.AvailableImage) -> None:
        conductor = self._conductor
        subscription = conductor.subscriptions.get(message.subscription_registration_id)
        if subscription is None:
            return
        try:
            logs = conductor.logs.acquire(message.correlation_id, message.log_file)
        except (AerologError, OSError) as cause:
            # The log may be deleted already when a slow client gets here (spec client 7).
            error = AerologError(
                f"[clientId={conductor.client_id}, clientName={conductor.options.name}] "
                f"Failed to map log buffer with registrationId={message.correlation_id}, "
                f"channel={subscription.channel}: {cause}"
            )
            error.__cause__ = cause
            conductor.report(error)
            return
        try:
            image = Image(subscription, message, logs, conductor.counters)
        except AerologError:
            conductor.logs.release(message.correlation_id)
            raise
        subscription.add_image(image)
        log_change(conductor.client_id, "connected", image)
        conductor.publish(ImageAvailable(subscription, image))
        if subscription.on_image is not None:
            conductor.run_handler(subscription.on_image, image)

    def _on_unavailable_image(self, message: responses.UnavailableImage) -> None:
        conductor = self._conductor
        subscription = conductor.subscriptions.get(message.subscription_registration_id)
        if subscription is None:
            return
        image = subscription.remove_image(message.correlation_id)
        if image is not None:
            conductor.logs.release(image.correlation_id)
            self.image_gone(subscription, image)

    def image_gone(self, subscription: Subscription, image: Image) -> None:
        """Tell the subscription's handler; the image is closed and out of the list already."""
        log_change(self._conductor.client_id, "gone", image)
        self._conductor.publish(ImageUnavailable(subscription, image))
        if subscription.on_image_gone is not None:
            self._conductor.run_handler(subscription.on_image_gone, image)

    # -- the rest --------------------------------------------------------------------------------

    def _on_client_timeout(self, message: responses.ClientTimeout) -> None:
        if message.client_id == self._conductor.client_id:
            self._conductor.terminate(ClientTimeoutError("FATAL - client timeout from driver"))

    def _on_publication_error(self, message: responses.OnPublicationError) -> None:
        conductor = self._conductor
        for publication in list(conductor.publications.values()):
            if publication.original_registration_id != message.registration_id:
                continue
            event = PublicationErrorFrame(
                registration_id=publication.registration_id,
                session_id=message.session_id,
                stream_id=message.stream_id,
                receiver_id=message.receiver_id,
                group_tag=None if message.group_tag == _NONE else message.group_tag,
                destination_registration_id=None
                if message.destination_registration_id == _NONE
                else message.destination_registration_id,
                error_code=message.code,
                error_message=message.message,
                source_address=_address(message),
            )
            conductor.publish(event)
            if conductor.options.on_publication_error is not None:
                conductor.run_handler(conductor.options.on_publication_error, event)


def _address(message: responses.OnPublicationError) -> str:
    if message.address_type == responses.ADDRESS_IPV6:
        return f"[{socket.inet_ntop(socket.AF_INET6, message.address)}]:{message.port}"
    return f"{socket.inet_ntop(socket.AF_INET, message.address[:4])}:{message.port}"
