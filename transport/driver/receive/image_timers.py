"""What timer events change for images.

Spec cnc-and-commands 15.2, 15.4; spec wire-protocol 9.7, 11.

Conductor only. INIT and ACTIVE images may lose untethered subscribers for a while; DRAINING ones
end when all is consumed and the sender has been told long enough; LINGER keeps the log for clients.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from aerolog.transport.driver.conductor.subscriber_positions import (
    SUBSCRIBER_ACTIVE,
    SUBSCRIBER_LINGER,
    SUBSCRIBER_RESTING,
)
from aerolog.transport.driver.context import remove_at
from aerolog.transport.driver.receive.receive_stream import ACTIVE, DONE, LINGER

if TYPE_CHECKING:
    from aerolog.transport.driver.conductor.network_context import NetworkParts
    from aerolog.transport.driver.receive.network_subscriptions import Subscriptions
    from aerolog.transport.driver.receive.publication_image import PublicationImage


class ImageTimers:
    """Carries out the changes of state of images."""

    def __init__(self, parts: NetworkParts, subscriptions: Subscriptions) -> None:
        self._parts = parts
        self._context = parts.context
        self._clockwork = parts.clockwork
        self._subscriptions = subscriptions
        self._images = subscriptions.images

    def on_timer(self) -> None:
        """Let every image have its timer event, the last one first."""
        for index in range(len(self._images) - 1, -1, -1):
            self._on_timer(self._images[index])
            self.end_if_over(index)

    def end_if_over(self, index: int) -> None:
        """Free everything of an image that neither clients nor the receiver have any more."""
        image = self._images[index]
        if image.stream.state != DONE or not image.is_released:
            return
        remove_at(self._images, index)
        self._clockwork.remove_stream(image.stream)
        for counter_id in image.counter_ids:
            self._context.free_counter(counter_id)
        self._context.logs.free(image.log)
        self._context.events.image_removed(
            image.session_id, image.stream_id, image.correlation_id, image.endpoint.channel.original
        )

    def _on_timer(self, image: PublicationImage) -> None:
        stream = image.stream
        now_ns = self._clockwork.now_ns
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
        """The image has ended: tell everybody who has it, and have the receiver let go of it."""
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
            self._subscriptions.tell_unavailable(link, image)
            is_rejoin = link.params.is_rejoin
        receiver, endpoint = self._parts.receiver, image.endpoint
        if is_rejoin:
            receiver.remove_cool_down(endpoint.endpoint, image.session_id, image.stream_id)
        receiver.remove_image(image.stream)
        endpoint.image_count -= 1
        self._subscriptions.channels.close_if_unused(endpoint)

    def _to_done(self, image: PublicationImage, now_ns: int) -> None:
        """Nobody reads it any more, or for too long: positions go."""
        image.stream.enter(DONE, now_ns)
        for link in self._subscriptions.with_image(image):
            self._subscriptions.unlink(link, image)

    def _move_untethered(self, image: PublicationImage, counter_id: int, now_ns: int) -> None:
        """The next state of an untethered subscriber whose time has come."""
        subscribers = image.stream.subscribers
        link = next(
            each
            for each in self._subscriptions.with_image(image)
            if each.images[image] == counter_id
        )
        state = subscribers.state(counter_id)
        change = partial(
            self._context.events.untethered, link.registration_id, image.stream_id, image.session_id
        )
        if state == SUBSCRIBER_ACTIVE:
            self._subscriptions.tell_unavailable(link, image)
            subscribers.set_state(counter_id, SUBSCRIBER_LINGER, now_ns)
            change("ACTIVE", "LINGER")
        elif state == SUBSCRIBER_RESTING:
            self._context.counters.set_value(counter_id, image.stream.join_position())
            subscribers.set_state(counter_id, SUBSCRIBER_ACTIVE, now_ns)
            self._subscriptions.tell_available(link, image)
            change("RESTING", "ACTIVE")
        elif link.params.is_rejoin:
            subscribers.set_state(counter_id, SUBSCRIBER_RESTING, now_ns)
            change("LINGER", "RESTING")
        else:
            self._subscriptions.drop_position(link, image)
