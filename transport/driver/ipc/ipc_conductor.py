"""The conductor's part for IPC: publications and subscriptions (spec cnc-and-commands 14, 15, 18).

Conductor only. The part of timer events of which clients are told nothing is in ``ipc_stream``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.driver.channels.channel_params import (
    NULL_VALUE,
    PublicationLookups,
    TaggedSession,
    ipc_publication_params,
    ipc_subscription_params,
)
from aerolog.transport.driver.channels.destination_params import check_receive_destination
from aerolog.transport.driver.conductor.command_error import invalid_channel
from aerolog.transport.driver.conductor.driver_publication import PublicationLink
from aerolog.transport.driver.conductor.subscription_links import (
    allocate_position,
    drop_position,
    move_untethered,
    tell_available,
    tell_unavailable,
)
from aerolog.transport.driver.context import remove_at
from aerolog.transport.driver.counters.system_counters import SystemCounter
from aerolog.transport.driver.ipc.ipc_factory import (
    discard_publication,
    free_counters,
    make_publication,
)
from aerolog.transport.driver.ipc.ipc_stream import (
    ACTIVE,
    DONE,
    DRAINING,
    LINGER,
)
from aerolog.transport.driver.ipc.ipc_subscription import IpcSubscriptionLink
from aerolog.transport.errors import ControlProtocolError, ErrorCode
from aerolog.transport.protocol.commands import AddExclusivePublication
from aerolog.transport.protocol.responses import (
    ADDRESS_IPV4,
    ExclusivePublicationReady,
    OnPublicationError,
    OperationSuccess,
    PublicationReady,
    SubscriptionReady,
)
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from aerolog.transport.driver.channels.channel_params import PublicationParams
    from aerolog.transport.driver.conductor.clients import AeronClient, Clients
    from aerolog.transport.driver.conductor.conductor_agent import ConductorAgent
    from aerolog.transport.driver.conductor.session_ids import PublicationSessions
    from aerolog.transport.driver.context import DriverContext
    from aerolog.transport.driver.ipc.ipc_publication import IpcPublication
    from aerolog.transport.protocol.commands import (
        AddPublication,
        AddReceiveDestination,
        AddSubscription,
        RemoveReceiveDestination,
    )

SESSION_MEDIA = "ipc"
NO_CHANNEL_STATUS = -1
_NONE = -1
_LOOPBACK = bytes((127, 0, 0, 1))


class IpcConductor:
    """All IPC publications and subscriptions of a driver.

    Attributes:
        publications: in order of creation, except where a removal has moved the last one.
        publication_links: the clients' references to publications.
        subscriptions: the clients' subscriptions.
    """

    def __init__(
        self,
        context: DriverContext,
        agent: ConductorAgent,
        clients: Clients,
        sessions: PublicationSessions,
    ) -> None:
        self._context = context
        self._agent = agent
        self._clients = clients
        self._sessions = sessions
        self.publications: list[IpcPublication] = []
        self.publication_links: list[PublicationLink[IpcPublication]] = []
        self.subscriptions: list[IpcSubscriptionLink] = []

    # ---- publications -----------------------------------------------------------------------

    def add_publication(self, command: AddPublication | AddExclusivePublication) -> None:
        """Share an existing publication, or make a new one."""
        is_exclusive = isinstance(command, AddExclusivePublication)
        uri = ChannelUri.parse(command.channel)
        lookups = PublicationLookups(
            self._sessions.check_tag_free,
            self._tagged_session,
            lambda: self._sessions.take(command.stream_id, SESSION_MEDIA),
        )
        params = ipc_publication_params(uri, command.stream_id, self._context.settings, lookups)
        shared = None if is_exclusive else self._shareable(command.stream_id, params)
        if shared is not None:
            shared.confirm_match(params, uri, shared.channel)
            publication = shared
        else:
            self._check_session_free(command, params)
            publication = make_publication(
                self._context,
                command,
                params,
                is_exclusive=is_exclusive,
                now_ns=self._agent.now_ns,
            )
        try:
            client = self._clients.get_or_add(command.client_id)
        except BaseException:
            if shared is None:
                discard_publication(self._context, publication)
            raise
        if shared is None:
            self.publications.append(publication)
            self._sessions.add(publication.session_id, publication.stream_id, SESSION_MEDIA)
            self._sessions.take_tag(params.entity_tag, publication.channel)
            self._agent.add_stream(publication.stream)
        publication.stream.references += 1
        self.publication_links.append(PublicationLink(command.correlation_id, client, publication))
        ready = ExclusivePublicationReady if is_exclusive else PublicationReady
        self._context.tell(
            ready(
                command.correlation_id,
                publication.registration_id,
                publication.session_id,
                publication.stream_id,
                publication.pub_lmt_id,
                NO_CHANNEL_STATUS,
                publication.log.path,
            )
        )
        if shared is None:
            self._link_response_subscription(publication)
            self.link_subscriptions(publication)

    def remove_publication(self, registration_id: int, *, revoke: bool) -> bool:
        """Drop one reference to a publication, whoever asks; return False for an unknown id."""
        for index, link in enumerate(self.publication_links):
            if link.registration_id == registration_id:
                if revoke:
                    link.publication.stream.revoke()
                remove_at(self.publication_links, index)
                self.drop_reference(link.publication)
                return True
        return False

    def drop_reference(self, publication: IpcPublication) -> None:
        """Drop one reference; a publication without references drains."""
        stream = publication.stream
        stream.references -= 1
        if stream.references == 0:
            stream.end_stream()
            if stream.state == ACTIVE and not stream.revoked:
                stream.enter(DRAINING)

    def link_subscriptions(self, publication: IpcPublication) -> None:
        """Give every subscription that matches an image of a publication."""
        for subscription in self.subscriptions:
            if publication not in subscription.images and subscription.matches(publication):
                self._link(subscription, publication)

    def to_linger(self, publication: IpcPublication) -> None:
        """Tell every subscription with an image that the stream has ended."""
        publication.stream.enter(LINGER)
        self._sessions.discard(publication.session_id, publication.stream_id, SESSION_MEDIA)
        for subscription in self.subscriptions:
            if publication in subscription.images:
                self.tell_unavailable(subscription, publication)

    def end(self, publication: IpcPublication) -> None:
        """Free everything that belongs to a publication without references."""
        publication.stream.enter(DONE)
        self._sessions.free_tag(publication.params.entity_tag)
        self._agent.remove_stream(publication.stream)
        free_counters(self._context, publication)
        for subscription in self.subscriptions:
            if publication in subscription.images:
                self.unlink(subscription, publication)
        self._context.logs.free(publication.log)
        self._context.events.publication_removed(
            publication.session_id, publication.stream_id, publication.channel
        )

    def find_publication(self, registration_id: int) -> IpcPublication | None:
        """Return the publication with an id, which is also the id of its images."""
        return next((p for p in self.publications if p.registration_id == registration_id), None)

    # ---- subscriptions ------------------------------------------------------------------------

    def add_subscription(self, command: AddSubscription) -> None:
        """Subscribe to a stream, with the publications that exist already."""
        uri = ChannelUri.parse(command.channel)
        params = ipc_subscription_params(uri, self._context.settings)
        client = self._clients.get_or_add(command.client_id)
        subscription = IpcSubscriptionLink(
            command.correlation_id,
            client,
            command.stream_id,
            command.channel,
            params,
            params.session_id,
        )
        self.subscriptions.append(subscription)
        self._context.tell(SubscriptionReady(command.correlation_id, NO_CHANNEL_STATUS))
        self._link_publications(subscription)

    def remove_subscription(self, registration_id: int) -> bool:
        """Remove a subscription, whoever asks; its clients are not told of the ends of its images.

        A multi-destination subscription may have several links. Returns False for an unknown id.
        """
        found = False
        for index in range(len(self.subscriptions) - 1, -1, -1):
            subscription = self.subscriptions[index]
            if subscription.registration_id == registration_id:
                found = True
                remove_at(self.subscriptions, index)
                self.close_subscription(subscription)
        return found

    def add_destination(
        self, command: AddReceiveDestination, client: AeronClient, stream_id: int
    ) -> None:
        """Add an IPC stream to a multi-destination subscription.

        Spec cnc-and-commands 16.
        """
        uri = ChannelUri.parse(command.channel)
        check_receive_destination(uri, command.channel)
        params = ipc_subscription_params(uri, self._context.settings)
        subscription = IpcSubscriptionLink(
            command.registration_id, client, stream_id, command.channel, params, params.session_id
        )
        self.subscriptions.append(subscription)
        self._context.tell(OperationSuccess(command.correlation_id))
        self._link_publications(subscription)

    def remove_destination(self, command: RemoveReceiveDestination) -> None:
        """Remove an IPC stream from a multi-destination subscription; announce its images' ends."""
        ChannelUri.parse(command.channel)
        gone = None
        for index, subscription in enumerate(self.subscriptions):
            if (
                subscription.registration_id == command.registration_id
                and subscription.channel == command.channel
            ):
                gone = subscription
                remove_at(self.subscriptions, index)
                break
        if gone is None:
            raise ControlProtocolError(
                ErrorCode.UNKNOWN_SUBSCRIPTION, f"unknown subscription: {command.registration_id}"
            )
        self._context.tell(OperationSuccess(command.correlation_id))
        for publication in list(gone.images):
            self.tell_unavailable(gone, publication)
            self.unlink(gone, publication)

    def has_subscription(self, registration_id: int) -> bool:
        """Return whether a subscription has that id."""
        return any(s.registration_id == registration_id for s in self.subscriptions)

    def close_subscription(self, subscription: IpcSubscriptionLink) -> None:
        """Drop all images of a subscription."""
        self._context.events.subscription_removed(
            subscription.stream_id, subscription.registration_id, subscription.channel
        )
        for publication in list(subscription.images):
            self.unlink(subscription, publication)

    def unlink(self, subscription: IpcSubscriptionLink, publication: IpcPublication) -> None:
        """Remove one image: its position no longer counts, and its counter is freed."""
        self.drop_position(subscription, publication)
        del subscription.images[publication]

    def drop_position(self, subscription: IpcSubscriptionLink, publication: IpcPublication) -> None:
        """Free an image's position counter; the subscription is told of the image's end later."""
        drop_position(
            self._context, subscription.images, publication, publication.stream.remove_subscriber
        )

    def tell_available(
        self, subscription: IpcSubscriptionLink, publication: IpcPublication
    ) -> None:
        """Announce an image whose position counter is ready."""
        tell_available(self._context, subscription, publication, subscription.images[publication])

    def tell_unavailable(
        self, subscription: IpcSubscriptionLink, publication: IpcPublication
    ) -> None:
        """Announce the end of an image."""
        tell_unavailable(self._context, subscription, publication)

    # ---- linking and checks ---------------------------------------------------------------------

    def _link_publications(self, subscription: IpcSubscriptionLink) -> None:
        for publication in self.publications:
            if subscription.matches(publication) and publication.accepts_subscriptions:
                self._link(subscription, publication)

    def _link(self, subscription: IpcSubscriptionLink, publication: IpcPublication) -> None:
        join_position = publication.stream.join_position()
        counter_id = allocate_position(
            self._context,
            subscription,
            publication.session_id,
            join_position,
            publication.image_id,
        )
        subscription.images[publication] = counter_id
        publication.stream.add_subscriber(
            counter_id, subscription.params.is_tether, self._agent.now_ns
        )
        self.tell_available(subscription, publication)

    def _link_response_subscription(self, publication: IpcPublication) -> None:
        """Give the requester's subscription the session of the publication that answers it.

        Spec cnc-and-commands 15.5.
        """
        request = self.find_publication(publication.params.response_correlation_id)
        if request is None:
            return
        wanted = request.params.response_correlation_id
        for subscription in self.subscriptions:
            if subscription.registration_id == wanted:
                subscription.session_id = publication.session_id

    def _shareable(self, stream_id: int, params: PublicationParams) -> IpcPublication | None:
        for publication in self.publications:
            if (
                publication.stream_id == stream_id
                and not publication.is_exclusive
                and publication.is_active
                and publication.params.response_correlation_id == params.response_correlation_id
            ):
                return publication
        return None

    def _check_session_free(
        self, command: AddPublication | AddExclusivePublication, params: PublicationParams
    ) -> None:
        if self._sessions.is_active(params.session_id, command.stream_id, SESSION_MEDIA):
            raise invalid_channel(
                f"existing publication has clashing sessionId={params.session_id} "
                f"for streamId={command.stream_id} channel={command.channel}"
            )

    def _tagged_session(self, tag: int) -> TaggedSession | None:
        holder = self._with_entity_tag(tag)
        if holder is None:
            return None
        return TaggedSession(holder.session_id, holder.params.mtu_length, holder.params.term_length)

    def _with_entity_tag(self, tag: int) -> IpcPublication | None:
        if tag == NULL_VALUE:
            return None
        return next((p for p in self.publications if p.params.entity_tag == tag), None)

    # ---- timer events, rejections --------------------------------------------------------------

    def drop_links_of_gone_clients(self) -> None:
        """Drop the publication links of clients that are gone."""
        links = self.publication_links
        for index in range(len(links) - 1, -1, -1):
            link = links[index]
            if link.client.gone:
                self.drop_reference(link.publication)
                remove_at(links, index)

    def close_subscriptions_of_gone_clients(self) -> None:
        """Close the subscriptions of clients that are gone, without a message."""
        subscriptions = self.subscriptions
        for index in range(len(subscriptions) - 1, -1, -1):
            if subscriptions[index].client.gone:
                self.close_subscription(subscriptions[index])
                remove_at(subscriptions, index)

    def on_timer(self) -> None:
        """Run the timer event of every publication, the last one first."""
        publications = self.publications
        for index in range(len(publications) - 1, -1, -1):
            publication = publications[index]
            state = publication.stream.state
            if state == ACTIVE:
                self._active(publication)
            elif state == DRAINING:
                self._draining(publication)
            elif publication.stream.references == 0:
                self.end(publication)
                remove_at(publications, index)

    def reject(self, publication: IpcPublication, reason: str, now_ns: int, rest_ns: int) -> None:
        """Remove a publication's images for a while, and tell the publisher the reason.

        Args:
            publication: the publication whose image was rejected.
            reason: the text that the subscriber gave.
            now_ns: the monotonic time.
            rest_ns: how long no subscriber may join.
        """
        code = int(ErrorCode.IMAGE_REJECTED)
        text = (
            f"io.aeron.exceptions.AeronEvent: WARN - onPublicationError: "
            f"registrationId={publication.registration_id}, destinationRegistrationId={_NONE}, "
            f"sessionId={publication.session_id}, streamId={publication.stream_id}, "
            f"receiverId={_NONE}, groupId={_NONE}, errorCode={code}, errorMessage={reason}\n"
        )
        self._context.counters.get_and_add(SystemCounter.IMAGES_REJECTED, 1)
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
        for subscription in self.subscriptions:
            if publication in subscription.images:
                self.tell_unavailable(subscription, publication)
                self.unlink(subscription, publication)
        publication.stream.cool_down_until(now_ns + rest_ns)

    def _active(self, publication: IpcPublication) -> None:
        stream = publication.stream
        now_ns = self._agent.now_ns
        if stream.revoked:
            stream.end_stream()
            stream.disconnect()
            self.to_linger(publication)
            self._context.counters.get_and_add(SystemCounter.PUBLICATIONS_REVOKED, 1)
            self._context.events.revoked(
                stream.publisher_position,
                publication.session_id,
                publication.stream_id,
                publication.channel,
            )
            return
        if stream.cool_down_is_over(now_ns):
            self.link_subscriptions(publication)
        for counter_id in stream.due_subscribers(now_ns):
            self._move_untethered(publication, counter_id)
        stream.on_timer(now_ns)

    def _draining(self, publication: IpcPublication) -> None:
        if publication.stream.drained:
            publication.stream.sample_publisher()
            self.to_linger(publication)
        else:
            publication.stream.on_timer(self._agent.now_ns)

    def _move_untethered(self, publication: IpcPublication, counter_id: int) -> None:
        subscription = next(
            s for s in self.subscriptions if s.images.get(publication) == counter_id
        )
        stream, now_ns = publication.stream, self._agent.now_ns
        if not move_untethered(
            self._context,
            subscription,
            publication,
            counter_id,
            stream.subscriber_state(counter_id),
            lambda state: stream.set_subscriber_state(counter_id, state, now_ns),
        ):
            self.drop_position(subscription, publication)
