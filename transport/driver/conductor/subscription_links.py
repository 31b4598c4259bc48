"""What the conductor tells of an image, and the counter by which a client says how far it has read.

One form for every subscription: to IPC streams, to UDP streams, as a spy (spec counters 3 and 4,
spec cnc-and-commands 15). Conductor only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from aerolog.transport.driver.counters.stream_counters import CounterType, stream_key, stream_label
from aerolog.transport.protocol.responses import AvailableImage, UnavailableImage

if TYPE_CHECKING:
    from aerolog.transport.driver.conductor.clients import AeronClient
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.driver.logs.log_store import LogFile

#: Where images come from that are a publication's own log.
LOCAL_SOURCE: Final = "aeron:ipc"


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


def allocate_position(
    context: DriverContext,
    subscriber: SubscriptionLink,
    session_id: int,
    join_position: int,
    image_id: int | None = None,
) -> int:
    """Make the counter that a client says by how far it has read.

    Args:
        context: of the driver.
        subscriber: whose position it is.
        session_id: of the publication.
        join_position: where it starts.
        image_id: of the image; None while there is none yet.

    Raises:
        CountersFullError: no counter is free.
    """
    identity = (subscriber.registration_id, session_id, subscriber.stream_id, subscriber.channel)
    return context.counters.allocate(
        CounterType.SUBSCRIBER_POSITION,
        stream_label("sub-pos", *identity, join_position=join_position),
        stream_key(*identity),
        registration_id=subscriber.registration_id,
        owner_id=subscriber.client.client_id,
        reference_id=image_id,
        value=join_position,
    )


def tell_available(
    context: DriverContext, subscriber: SubscriptionLink, image: Subscribable, counter_id: int
) -> None:
    """Announce an image whose position counter is ready."""
    context.tell(
        AvailableImage(
            image.image_id,
            image.session_id,
            image.stream_id,
            subscriber.registration_id,
            counter_id,
            image.log.path,
            image.source_identity,
        )
    )


def tell_unavailable(context: DriverContext, subscriber: SubscriptionLink, image: Subscribable) -> None:
    """Announce the end of an image."""
    context.tell(
        UnavailableImage(
            image.image_id, subscriber.registration_id, image.stream_id, subscriber.channel
        )
    )
