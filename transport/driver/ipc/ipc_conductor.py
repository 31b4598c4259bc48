"""The conductor's part for IPC: publications and subscriptions (spec cnc-and-commands 14, 15, 18).

Conductor only. The part of timer events of which clients are told nothing is in ``ipc_stream``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver.channels.channel_params import (
    ipc_publication_params,
    ipc_subscription_params,
)
from aerolog.transport.driver.channels.destination_params import check_receive_destination
from aerolog.transport.driver.conductor.driver_publication import rejection_text
from aerolog.transport.driver.conductor.driver_publications import DriverPublications
from aerolog.transport.driver.conductor.driver_stream import ACTIVE, DONE, DRAINING, LINGER
from aerolog.transport.driver.conductor.local_subscriptions import (
    NO_CHANNEL_STATUS,
    LocalSubscriptions,
)
from aerolog.transport.driver.conductor.subscription_links import tell_unavailable
from aerolog.transport.driver.context import remove_at
from aerolog.transport.driver.ipc.ipc_factory import plan_publication
from aerolog.transport.driver.ipc.ipc_publication import SESSION_MEDIA
from aerolog.transport.driver.ipc.ipc_subscription import IpcSubscriptionLink
from aerolog.transport.errors import ErrorCode
from aerolog.transport.protocol.commands import AddExclusivePublication
from aerolog.transport.protocol.responses import (
    ADDRESS_IPV4,
    OnPublicationError,
    OperationSuccess,
    SubscriptionReady,
)
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from aerolog.transport.driver.conductor.clients import AeronClient, Clients
    from aerolog.transport.driver.conductor.command_order import CommandOrder
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

_NONE = -1
_LOOPBACK = bytes((127, 0, 0, 1))


class IpcConductor:
    """All IPC publications and subscriptions of a driver.

    Attributes:
        publications: the publications, with the clients' references to them.
        subscriptions: the clients' subscriptions.
    """

    def __init__(
        self,
        context: DriverContext,
        agent: ConductorAgent,
        clients: Clients,
        order: CommandOrder,
        sessions: PublicationSessions,
    ) -> None:
        self._context = context
        self._agent = agent
        self._clients = clients
        self._sessions = sessions
        self.publications: DriverPublications[IpcPublication] = DriverPublications(
            context, agent, clients, order, sessions
        )
        self.subscriptions: LocalSubscriptions[IpcPublication] = LocalSubscriptions(
            context, agent, self.publications.items
        )

    # ---- commands ---------------------------------------------------------------------------

    def add_publication(self, command: AddPublication | AddExclusivePublication) -> None:
        """Share an existing publication, or make a new one.

        Raises:
            PublicationAwaitedError: the log of a publication to which the command refers is being
                made.
        """
        is_exclusive = isinstance(command, AddExclusivePublication)
        uri = ChannelUri.parse(command.channel)
        publications = self.publications
        lookups = publications.lookups(command.stream_id, SESSION_MEDIA)
        params = ipc_publication_params(uri, command.stream_id, self._context.settings, lookups)
        found = [] if is_exclusive else publications.shareable(command.stream_id, params)
        if found:
            shared = found[0]
            shared.confirm_match(params, uri, shared.channel)
            publications.link(command, self._clients.get_or_add(command.client_id), shared)
            return
        if not is_exclusive:
            publications.await_shareable(command.stream_id, params, SESSION_MEDIA)
        publications.check_session_free(command, params, SESSION_MEDIA)
        plan = plan_publication(
            self._context, self._agent, command, params, is_exclusive=is_exclusive
        )
        publications.make(command, params, SESSION_MEDIA, plan, self._on_added)

    def add_subscription(self, command: AddSubscription) -> None:
        """Subscribe to a stream, with the publications that exist already."""
        params = ipc_subscription_params(ChannelUri.parse(command.channel), self._context.settings)
        self.subscriptions.add(
            IpcSubscriptionLink(
                registration_id=command.correlation_id,
                client=self._clients.get_or_add(command.client_id),
                stream_id=command.stream_id,
                channel=command.channel,
                params=params,
            ),
            SubscriptionReady(command.correlation_id, NO_CHANNEL_STATUS),
        )

    def add_destination(
        self, command: AddReceiveDestination, client: AeronClient, stream_id: int
    ) -> None:
        """Add an IPC stream to a multi-destination subscription.

        Spec cnc-and-commands 16.
        """
        uri = ChannelUri.parse(command.channel)
        check_receive_destination(uri, command.channel)
        params = ipc_subscription_params(uri, self._context.settings)
        self.subscriptions.add(
            IpcSubscriptionLink(
                registration_id=command.registration_id,
                client=client,
                stream_id=stream_id,
                channel=command.channel,
                params=params,
            ),
            OperationSuccess(command.correlation_id),
        )

    def remove_destination(self, command: RemoveReceiveDestination) -> None:
        """Remove an IPC stream from a multi-destination subscription; announce its images' ends."""
        ChannelUri.parse(command.channel)
        self.subscriptions.remove_destination(command)

    def reject(self, publication: IpcPublication, reason: str, rest_ns: int) -> None:
        """Remove a publication's images for a while, and tell the publisher the reason.

        Args:
            publication: the publication whose image was rejected.
            reason: the text that the subscriber gave.
            rest_ns: how long no subscriber may join from now on.
        """
        rejection = OnPublicationError(
            publication.registration_id,
            _NONE,
            publication.session_id,
            publication.stream_id,
            _NONE,
            _NONE,
            ADDRESS_IPV4,
            0,
            _LOOPBACK,
            int(ErrorCode.IMAGE_REJECTED),
            reason,
        )
        text = rejection_text(rejection)
        self._context.counters.get_and_add(SystemCounter.IMAGES_REJECTED, 1)
        self._context.errors.record_event(text, text)
        self._context.tell(rejection)
        if not publication.stream.cooling_down:
            for link in self.subscriptions.with_image(publication):
                tell_unavailable(self._context, link, publication)
                self.subscriptions.unlink(link, publication)
        # The cycle may have begun long ago under load, and each rejection counts from itself on.
        publication.stream.cool_down_until(self._context.clock.now_ns() + rest_ns)

    def _on_added(self, publication: IpcPublication) -> None:
        self._link_response_subscription(publication)
        self.subscriptions.join(publication)

    def _link_response_subscription(self, publication: IpcPublication) -> None:
        """Give the requester's subscription the session of the publication that answers it.

        Spec cnc-and-commands 15.5.
        """
        request = self.publications.find(publication.params.response_correlation_id)
        if request is None:
            return
        wanted = request.params.response_correlation_id
        for link in self.subscriptions.links:
            if link.registration_id == wanted:
                link.session_id = publication.session_id

    # ---- timer events -----------------------------------------------------------------------

    def on_timer(self) -> None:
        """Run the timer event of every publication, the last one first."""
        publications = self.publications.items
        for index in range(len(publications) - 1, -1, -1):
            publication = publications[index]
            state = publication.stream.state
            if state == ACTIVE:
                self._active(publication)
            elif state == DRAINING:
                self._draining(publication)
            elif publication.stream.references == 0:
                self._end(publication)
                remove_at(publications, index)

    def _active(self, publication: IpcPublication) -> None:
        stream = publication.stream
        if stream.revoked:
            stream.end_stream()
            stream.disconnect()
            self._to_linger(publication)
            self.publications.note_revoked(publication)
            return
        if stream.cool_down_is_over(self._agent.now_ns):
            self.subscriptions.join(publication)
        self.subscriptions.move_untethered(publication)
        stream.on_timer(self._agent.now_ns)

    def _draining(self, publication: IpcPublication) -> None:
        if publication.stream.subscribers_drained:
            publication.stream.sample_publisher()
            self._to_linger(publication)
        else:
            publication.stream.on_timer(self._agent.now_ns)

    def _to_linger(self, publication: IpcPublication) -> None:
        """Tell every subscription with an image that the stream has ended."""
        publication.stream.enter(LINGER)
        self._sessions.discard(publication.session_id, publication.stream_id, SESSION_MEDIA)
        for link in self.subscriptions.with_image(publication):
            tell_unavailable(self._context, link, publication)

    def _end(self, publication: IpcPublication) -> None:
        """Free everything that belongs to a publication without references."""
        publication.stream.enter(DONE)
        self._agent.remove_stream(publication.stream)
        self.publications.free(publication)
        for link in self.subscriptions.with_image(publication):
            self.subscriptions.unlink(link, publication)
