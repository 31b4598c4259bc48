"""Subscriptions to logs of this driver's own publications: to IPC streams, and spies.

Spec cnc-and-commands 15, 16; spec wire-protocol 11. Conductor only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

from aerolog.transport.driver.conductor.driver_publication import PublicationT
from aerolog.transport.driver.conductor.subscription_links import (
    SubscriptionLink,
    allocate_position,
    drop_position,
    move_untethered,
    tell_available,
    tell_unavailable,
)
from aerolog.transport.driver.context import remove_at, take_from
from aerolog.transport.errors import ControlProtocolError, ErrorCode
from aerolog.transport.protocol.responses import OperationSuccess

if TYPE_CHECKING:
    from aerolog.transport.driver.conductor.conductor_agent import ConductorAgent
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.protocol.commands import RemoveReceiveDestination
    from aerolog.transport.protocol.responses import Response

#: What a subscription without an endpoint has in place of the counter of a channel's status.
NO_CHANNEL_STATUS = -1


@dataclass(slots=True, eq=False, kw_only=True)
class LocalSubscriptionLink(SubscriptionLink[PublicationT], ABC):
    """A client's subscription to logs of this driver's publications."""

    @abstractmethod
    def matches(self, publication: PublicationT) -> bool:
        """Return whether it subscribes to a publication."""


class LocalSubscriptions(Generic[PublicationT]):
    """The subscriptions to publications of one kind of media.

    Args:
        context: the driver's shared state.
        agent: knows the time.
        publications: all publications of that media; their owner keeps the list.

    Attributes:
        links: the subscriptions, in order of addition except where a removal has moved the last.
    """

    def __init__(
        self, context: DriverContext, agent: ConductorAgent, publications: list[PublicationT]
    ) -> None:
        self._context = context
        self._agent = agent
        self._publications = publications
        self.links: list[LocalSubscriptionLink[PublicationT]] = []

    def add(self, link: LocalSubscriptionLink[PublicationT], answer: Response) -> None:
        """Add a subscription or destination, answer its command, and join what exists already."""
        self.links.append(link)
        self._context.tell(answer)
        for publication in self._publications:
            if link.matches(publication) and publication.accepts_subscribers:
                self._join(link, publication)

    def remove(self, registration_id: int) -> bool:
        """Remove a subscription, whoever asks; its clients are not told of the ends of its images.

        A multi-destination subscription may have several links. Returns False for an unknown id.
        """
        found = False
        for link in take_from(self.links, lambda link: link.registration_id == registration_id):
            found = True
            self._close(link)
        return found

    def remove_destination(self, command: RemoveReceiveDestination) -> None:
        """Remove a destination of a multi-destination subscription; announce its images' ends.

        Raises:
            ControlProtocolError: there is no such destination.
        """
        for index, link in enumerate(self.links):
            if (link.registration_id, link.channel) == (command.registration_id, command.channel):
                remove_at(self.links, index)
                break
        else:
            raise ControlProtocolError(
                ErrorCode.UNKNOWN_SUBSCRIPTION, f"unknown subscription: {command.registration_id}"
            )
        self._context.tell(OperationSuccess(command.correlation_id))
        for publication in list(link.images):
            tell_unavailable(self._context, link, publication)
            self.unlink(link, publication)

    def close_of_gone_clients(self) -> None:
        """Close the subscriptions of clients that are gone, without a message."""
        for link in take_from(self.links, lambda link: link.client.gone):
            self._close(link)

    def join(self, publication: PublicationT) -> None:
        """Give every subscription that matches an image of a publication."""
        for link in self.links:
            if publication not in link.images and link.matches(publication):
                self._join(link, publication)

    def with_image(self, publication: PublicationT) -> list[LocalSubscriptionLink[PublicationT]]:
        """Return the subscriptions that have an image of a publication."""
        return [link for link in self.links if publication in link.images]

    def unlink(self, link: LocalSubscriptionLink[PublicationT], publication: PublicationT) -> None:
        """Remove one image: its position no longer counts, and its counter is freed."""
        self._drop_position(link, publication)
        del link.images[publication]

    def move_untethered(self, publication: PublicationT) -> None:
        """Move a publication's untethered subscribers whose time has come to their next states."""
        stream, now_ns = publication.stream, self._agent.now_ns
        for counter_id in stream.due_subscribers(now_ns):
            link = next(each for each in self.links if each.images.get(publication) == counter_id)
            state = move_untethered(
                self._context, link, publication, stream.subscribers.state(counter_id)
            )
            if state is None:
                self._drop_position(link, publication)
            else:
                stream.set_subscriber_state(counter_id, state, now_ns)

    def _join(self, link: LocalSubscriptionLink[PublicationT], publication: PublicationT) -> None:
        counter_id = allocate_position(
            self._context,
            link,
            publication.session_id,
            publication.stream.join_position(),
            publication.image_id,
        )
        link.images[publication] = counter_id
        publication.stream.add_subscriber(counter_id, link.params.is_tether, self._agent.now_ns)
        tell_available(self._context, link, publication)

    def _close(self, link: LocalSubscriptionLink[PublicationT]) -> None:
        self._context.events.subscription_removed(
            link.stream_id, link.registration_id, link.channel
        )
        for publication in list(link.images):
            self.unlink(link, publication)

    def _drop_position(
        self, link: LocalSubscriptionLink[PublicationT], publication: PublicationT
    ) -> None:
        drop_position(self._context, link, publication, publication.stream.remove_subscriber)
