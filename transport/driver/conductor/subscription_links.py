"""What the conductor tells of an image, and the counter by which a client says how far it has read.

One form for every subscription: to IPC streams, to UDP streams, as a spy (spec counters 3 and 4,
spec cnc-and-commands 15). Conductor only.
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
        """Correlation id of the command that added it."""

    @property
    def client(self) -> AeronClient:
        """Owner."""

    @property
    def stream_id(self) -> int:
        """Listened to."""

    @property
    def channel(self) -> str:
        """As the client wrote it."""

    @property
    def params(self) -> SubscriptionParams:
        """Of the channel."""


class _Stream(Protocol):
    def join_position(self) -> int:
        """Where a new subscriber starts."""


class Subscribable(Protocol):
    """A log that subscribers have an image of."""

    @property
    def image_id(self) -> int:
        """Names the image."""

    @property
    def session_id(self) -> int:
        """Of the publication."""

    @property
    def stream_id(self) -> int:
        """Of the publication."""

    @property
    def log(self) -> LogFile:
        """The log's file."""

    @property
    def source_identity(self) -> str:
        """Where it comes from."""

    @property
    def stream(self) -> _Stream:
        """Its native part."""


def allocate_position(
    context: DriverContext,
    link: SubscriptionLink,
    session_id: int,
    join_position: int,
    image_id: int | None = None,
) -> int:
    """Make the counter that a client says by how far it has read.

    Args:
        context: of the driver.
        link: whose position it is.
        session_id: of the publication.
        join_position: where it starts.
        image_id: of the image; None while there is none yet.

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
    """Announce the end of an image."""
    context.tell(
        UnavailableImage(image.image_id, link.registration_id, image.stream_id, link.channel)
    )


def drop_position(
    context: DriverContext,
    images: dict[ImageT, int],
    image: ImageT,
    remove: Callable[[int], object],
) -> None:
    """Free the position counter of an image; its subscription hears of the image's end yet.

    Args:
        context: of the driver.
        images: of the subscription, with the ids of their position counters.
        image: that is left.
        remove: takes the position out of the stream's.
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
    """The next state of an untethered subscriber whose time has come.

    Args:
        context: of the driver.
        link: whose position it is.
        image: that it reads, or has been left behind by.
        counter_id: of its position.
        state: that it is in.
        enter: makes the stream's subscriber positions take the next state.

    Returns:
        Whether it has a next state; if not, its position is to be dropped.
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
