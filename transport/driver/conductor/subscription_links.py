"""Announces images to subscribers and allocates the counters of subscribers' positions.

All subscriptions share these functions: those to IPC streams, to UDP streams, and spies
(spec counters 3 and 4, spec cnc-and-commands 15). Conductor only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from aerolog.transport.driver.conductor.subscriber_positions import (
    SUBSCRIBER_ACTIVE,
    SUBSCRIBER_LINGER,
    SUBSCRIBER_RESTING,
)
from aerolog.transport.driver.counters.stream_counters import CounterType, stream_key, stream_label
from aerolog.transport.memory.counters import NULL_COUNTER_ID
from aerolog.transport.protocol.responses import AvailableImage, UnavailableImage

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.driver.channels.channel_params import SubscriptionParams
    from aerolog.transport.driver.conductor.clients import AeronClient
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.driver.logs.log_store import LogFile

ImageT = TypeVar("ImageT")


class SubscriptionLink(Protocol):
    """A client's subscription, or a destination of one."""

    @property
    def registration_id(self) -> int:
        """The correlation id of the command that added it."""

    @property
    def client(self) -> AeronClient:
        """The client that owns it."""

    @property
    def stream_id(self) -> int:
        """The stream that it subscribes to."""

    @property
    def channel(self) -> str:
        """The channel as the client wrote it."""

    @property
    def params(self) -> SubscriptionParams:
        """The parameters of its channel."""


class _Stream(Protocol):
    def join_position(self) -> int:
        """Return the position at which a new subscriber starts."""


class Subscribable(Protocol):
    """A log of which subscribers have an image."""

    @property
    def image_id(self) -> int:
        """The id of the image."""

    @property
    def session_id(self) -> int:
        """The session id of the publication."""

    @property
    def stream_id(self) -> int:
        """The stream id of the publication."""

    @property
    def log(self) -> LogFile:
        """The file of the log."""

    @property
    def source_identity(self) -> str:
        """The source identity of the image."""

    @property
    def stream(self) -> _Stream:
        """The native part of the stream."""


def allocate_position(
    context: DriverContext,
    link: SubscriptionLink,
    session_id: int,
    join_position: int,
    image_id: int | None = None,
) -> int:
    """Allocate the counter to which a client writes the position that it has read to.

    Args:
        context: the driver's shared state.
        link: the subscription whose position it is.
        session_id: the session of the publication.
        join_position: the position at which the subscriber starts.
        image_id: the id of the image; None when there is no image yet.

    Raises:
        CountersFullError: no counter is free.
    """
    identity = (link.registration_id, session_id, link.stream_id, link.channel)
    return context.counters.allocate(
        CounterType.SUBSCRIBER_POSITION,
        stream_label("sub-pos", *identity, join_position=join_position),
        stream_key(*identity),
        registration_id=link.registration_id,
        owner_id=link.client.client_id,
        reference_id=image_id,
        value=join_position,
    )


def tell_available(
    context: DriverContext, link: SubscriptionLink, image: Subscribable, counter_id: int
) -> None:
    """Announce an image whose position counter is ready."""
    context.tell(
        AvailableImage(
            image.image_id,
            image.session_id,
            image.stream_id,
            link.registration_id,
            counter_id,
            image.log.path,
            image.source_identity,
        )
    )


def tell_unavailable(context: DriverContext, link: SubscriptionLink, image: Subscribable) -> None:
    """Announce that an image has become unavailable."""
    context.tell(
        UnavailableImage(image.image_id, link.registration_id, image.stream_id, link.channel)
    )


def drop_position(
    context: DriverContext,
    images: dict[ImageT, int],
    image: ImageT,
    remove: Callable[[int], object],
) -> None:
    """Free an image's position counter; the subscription is told of the image's end later.

    Args:
        context: the driver's shared state.
        images: the subscription's images, with the ids of their position counters.
        image: the image to drop.
        remove: removes the position from those of the stream.
    """
    counter_id = images[image]
    if counter_id != NULL_COUNTER_ID:
        remove(counter_id)
        context.free_counter(counter_id)
        images[image] = NULL_COUNTER_ID


def move_untethered(
    context: DriverContext,
    link: SubscriptionLink,
    image: Subscribable,
    counter_id: int,
    state: int,
    enter: Callable[[int], None],
) -> bool:
    """Move an untethered subscriber whose time has come to its next state.

    Args:
        context: the driver's shared state.
        link: the subscription whose position it is.
        image: the image that it reads, or that it had until it fell behind.
        counter_id: the counter of its position.
        state: its state so far.
        enter: makes the stream's subscriber positions take the next state.

    Returns:
        Whether there is a next state; if not, the caller has to drop the position.
    """
    if state == SUBSCRIBER_ACTIVE:
        tell_unavailable(context, link, image)
        enter(SUBSCRIBER_LINGER)
        change = ("ACTIVE", "LINGER")
    elif state == SUBSCRIBER_RESTING:
        context.counters.set_value(counter_id, image.stream.join_position())
        enter(SUBSCRIBER_ACTIVE)
        tell_available(context, link, image, counter_id)
        change = ("RESTING", "ACTIVE")
    elif link.params.is_rejoin:
        enter(SUBSCRIBER_RESTING)
        change = ("LINGER", "RESTING")
    else:
        return False
    context.events.untethered(link.registration_id, image.stream_id, image.session_id, *change)
    return True
