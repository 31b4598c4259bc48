"""Clients' subscriptions with their images, and what they are told of them.

All subscriptions share this: those to IPC streams, to UDP streams, and spies (spec counters 3 and
4, spec cnc-and-commands 15). Conductor only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.driver.conductor.subscriber_positions import (
    SUBSCRIBER_ACTIVE,
    SUBSCRIBER_LINGER,
    SUBSCRIBER_RESTING,
)
from aerolog.transport.driver.counters.stream_counters import stream_key, stream_label
from aerolog.transport.memory.counters import NULL_COUNTER_ID
from aerolog.transport.protocol.responses import AvailableImage, UnavailableImage

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.driver.channels.channel_params import SubscriptionParams
    from aerolog.transport.driver.conductor.clients import AeronClient
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.driver.logs.log_store import LogFile


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


ImageT = TypeVar("ImageT", bound=Subscribable)


@dataclass(slots=True, eq=False, kw_only=True)
class SubscriptionLink(Generic[ImageT]):
    """A client's subscription, or a destination of one.

    Attributes:
        registration_id: the correlation id of the command that added it; of a destination, that
            of the multi-destination subscription.
        client: the client that owns it.
        stream_id: the stream that it subscribes to.
        channel: as the client wrote it.
        params: the parameters of the channel.
        session_id: the only session to match, at first that of the channel; None for any. A
            response subscription gets it when the other side has answered.
        images: maps images to the ids of position counters; -1 for an image that is gone for good
            because its untethered subscriber fell behind.
    """

    registration_id: int
    client: AeronClient
    stream_id: int
    channel: str
    params: SubscriptionParams
    session_id: int | None = field(init=False)
    images: dict[ImageT, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.session_id = self.params.session_id

    def matches_session(self, session_id: int) -> bool:
        """Return whether it subscribes to a session of its stream."""
        if self.session_id is None:
            return not self.params.is_response
        return self.session_id == session_id


def allocate_position(
    context: DriverContext,
    link: SubscriptionLink[ImageT],
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
        stream_label(CounterType.SUBSCRIBER_POSITION.label, *identity, join_position=join_position),
        stream_key(*identity),
        registration_id=link.registration_id,
        owner_id=link.client.client_id,
        reference_id=image_id,
        value=join_position,
    )


def tell_available(context: DriverContext, link: SubscriptionLink[ImageT], image: ImageT) -> None:
    """Announce an image whose position counter is ready."""
    context.tell(
        AvailableImage(
            image.image_id,
            image.session_id,
            image.stream_id,
            link.registration_id,
            link.images[image],
            image.log.path,
            image.source_identity,
        )
    )


def tell_unavailable(context: DriverContext, link: SubscriptionLink[ImageT], image: ImageT) -> None:
    """Announce that an image has become unavailable."""
    context.tell(
        UnavailableImage(image.image_id, link.registration_id, image.stream_id, link.channel)
    )


def drop_position(
    context: DriverContext,
    link: SubscriptionLink[ImageT],
    image: ImageT,
    remove: Callable[[int], object],
) -> None:
    """Free an image's position counter; the subscription is told of the image's end later.

    Args:
        context: the driver's shared state.
        link: the subscription that has the image.
        image: the image to drop.
        remove: removes the position from those of the stream.
    """
    counter_id = link.images[image]
    if counter_id != NULL_COUNTER_ID:
        remove(counter_id)
        context.free_counter(counter_id)
        link.images[image] = NULL_COUNTER_ID


def move_untethered(
    context: DriverContext,
    link: SubscriptionLink[ImageT],
    image: ImageT,
    state: int,
) -> int | None:
    """Tell of an untethered subscriber whose time has come, and return its next state.

    Args:
        context: the driver's shared state.
        link: the subscription whose position it is.
        image: the image that it reads, or that it had until it fell behind.
        state: its state so far.

    Returns:
        The state that the stream's subscriber positions have to take; None when there is no next
        one, so that the caller has to drop the position.
    """
    if state == SUBSCRIBER_ACTIVE:
        tell_unavailable(context, link, image)
        following, change = SUBSCRIBER_LINGER, ("ACTIVE", "LINGER")
    elif state == SUBSCRIBER_RESTING:
        context.counters.set_value(link.images[image], image.stream.join_position())
        tell_available(context, link, image)
        following, change = SUBSCRIBER_ACTIVE, ("RESTING", "ACTIVE")
    elif link.params.is_rejoin:
        following, change = SUBSCRIBER_RESTING, ("LINGER", "RESTING")
    else:
        return None
    context.events.untethered(link.registration_id, image.stream_id, image.session_id, *change)
    return following
