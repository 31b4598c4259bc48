"""What changes for IPC publications at timer events, and by rejecting an image.

Spec cnc-and-commands 14.3, 15.4, 18. Conductor only; the parts that tell no client anything are
native, in ``ipc_stream``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from aerolog.transport.driver.context import remove_at
from aerolog.transport.driver.counters.system_counters import SystemCounter
from aerolog.transport.driver.ipc.ipc_stream import (
    ACTIVE,
    DRAINING,
    SUBSCRIBER_ACTIVE,
    SUBSCRIBER_LINGER,
    SUBSCRIBER_RESTING,
)
from aerolog.transport.errors import ErrorCode
from aerolog.transport.protocol.responses import ADDRESS_IPV4, OnPublicationError

if TYPE_CHECKING:
    from aerolog.transport.driver.conductor.conductor_agent import ConductorClockwork
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.driver.ipc.ipc_media import IpcMedia
    from aerolog.transport.driver.ipc.ipc_publication import IpcPublication

_NONE = -1
_LOOPBACK = bytes((127, 0, 0, 1))


class IpcTimers:
    """Carries out the changes of state of IPC publications."""

    def __init__(
        self, context: DriverContext, clockwork: ConductorClockwork, media: IpcMedia
    ) -> None:
        self._context = context
        self._clockwork = clockwork
        self._media = media

    def drop_links_of_gone_clients(self) -> None:
        """Drop the publication links of clients that are gone."""
        links = self._media.publication_links
        for index in range(len(links) - 1, -1, -1):
            link = links[index]
            if link.client.gone:
                self._media.drop_reference(link.publication)
                remove_at(links, index)

    def close_subscriptions_of_gone_clients(self) -> None:
        """Close the subscriptions of clients that are gone, without a message."""
        subscriptions = self._media.subscriptions
        for index in range(len(subscriptions) - 1, -1, -1):
            if subscriptions[index].client.gone:
                self._media.close_subscription(subscriptions[index])
                remove_at(subscriptions, index)

    def on_timer(self) -> None:
        """Let every publication have its timer event, the last one first."""
        publications = self._media.publications
        for index in range(len(publications) - 1, -1, -1):
            publication = publications[index]
            state = publication.stream.state
            if state == ACTIVE:
                self._active(publication)
            elif state == DRAINING:
                self._draining(publication)
            elif publication.stream.references == 0:
                self._media.end(publication)
                remove_at(publications, index)

    def reject(self, publication: IpcPublication, reason: str, now_ns: int, rest_ns: int) -> None:
        """Take a publication's images away for a while, and tell the publisher why.

        Args:
            publication: whose image was rejected.
            reason: as the subscriber says.
            now_ns: monotonic time.
            rest_ns: how long nobody may join.
        """
        code = int(ErrorCode.IMAGE_REJECTED)
        text = (
            f"io.aeron.exceptions.AeronEvent: WARN - onPublicationError: "
            f"registrationId={publication.registration_id}, destinationRegistrationId={_NONE}, "
            f"sessionId={publication.session_id}, streamId={publication.stream_id}, "
            f"receiverId={_NONE}, groupId={_NONE}, errorCode={code}, errorMessage={reason}\n"
        )
        self._context.errors.record_event(text, text)
        self._context.tell(
            OnPublicationError(
                publication.registration_id,
                _NONE,
                publication.session_id,
                publication.stream_id,
                _NONE,
                _NONE,
                ADDRESS_IPV4,
                0,
                _LOOPBACK,
                code,
                reason,
            )
        )
        if publication.stream.cooling_down:
            return
        for subscription in self._media.subscriptions:
            if publication in subscription.images:
                self._media.tell_unavailable(subscription, publication)
                self._media.unlink(subscription, publication)
        publication.stream.cool_down_until(now_ns + rest_ns)

    def _active(self, publication: IpcPublication) -> None:
        stream = publication.stream
        now_ns = self._clockwork.now_ns
        if stream.revoked:
            stream.end_stream()
            stream.disconnect()
            self._media.to_linger(publication)
            self._context.counters.get_and_add(SystemCounter.PUBLICATIONS_REVOKED, 1)
            self._context.events.revoked(
                stream.publisher_position,
                publication.session_id,
                publication.stream_id,
                publication.channel,
            )
            return
        if stream.cool_down_is_over(now_ns):
            self._media.link_subscriptions(publication)
        for counter_id in stream.due_subscribers(now_ns):
            self._move_untethered(publication, counter_id)
        stream.on_timer(now_ns)

    def _draining(self, publication: IpcPublication) -> None:
        if publication.stream.drained:
            publication.stream.sample_publisher()
            self._media.to_linger(publication)
        else:
            publication.stream.on_timer(self._clockwork.now_ns)

    def _move_untethered(self, publication: IpcPublication, counter_id: int) -> None:
        """The next state of an untethered subscriber whose time has come."""
        stream = publication.stream
        now_ns = self._clockwork.now_ns
        subscription = next(
            s for s in self._media.subscriptions if s.images.get(publication) == counter_id
        )
        state = stream.subscriber_state(counter_id)
        change = partial(
            self._context.events.untethered,
            subscription.registration_id,
            publication.stream_id,
            publication.session_id,
        )
        if state == SUBSCRIBER_ACTIVE:
            self._media.tell_unavailable(subscription, publication)
            stream.set_subscriber_state(counter_id, SUBSCRIBER_LINGER, now_ns)
            change("ACTIVE", "LINGER")
        elif state == SUBSCRIBER_RESTING:
            self._context.counters.set_value(counter_id, stream.join_position())
            stream.set_subscriber_state(counter_id, SUBSCRIBER_ACTIVE, now_ns)
            self._media.tell_available(subscription, publication)
            change("RESTING", "ACTIVE")
        elif subscription.params.is_rejoin:
            stream.set_subscriber_state(counter_id, SUBSCRIBER_RESTING, now_ns)
            change("LINGER", "RESTING")
        else:
            self._media.drop_position(subscription, publication)
